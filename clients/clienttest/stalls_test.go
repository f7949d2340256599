package clienttest

import (
	"slices"
	"testing"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/decided"
)

// TestComplaints: what a run complains of is known when it is over, what it cleans
// up included; a run that lacks something says so unless it complained before.
func TestComplaints(t *testing.T) {
	for _, c := range []struct {
		name  string
		run   func(testing.TB)
		said  []string
		lacks bool
	}{
		{"nothing", func(testing.TB) {}, nil, false},
		{"a complaint that ends it", func(s testing.TB) { s.Error("one"); s.Fatalf("two %d", 2); s.Error("three") },
			[]string{"one", "two 2"}, false},
		{"a complaint of the cleaning", func(s testing.TB) { s.Cleanup(func() { s.Error("close") }); s.Error("one") },
			[]string{"one", "close"}, false},
		{"it lacks something", func(testing.TB) { decided.Lacks("time") }, nil, true},
		{"it complains, and lacks something", func(s testing.TB) { s.Error("one"); decided.Lacks("time") }, []string{"one"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				if e := recover(); decided.Lacking(e) != c.lacks {
					t.Errorf("panicked with %v", e)
				}
			}()
			if said, _ := complaints(t, c.run); !slices.Equal(said, c.said) {
				t.Errorf("said %q, want %q", said, c.said)
			}
		})
	}
}

// TestLossDecidesNothing: a second grant says nothing of a lock whose holder tells by itself that
// it has lost the first one, and counts for any other.
func TestLossDecidesNothing(t *testing.T) {
	session := clients.Claims{Validity: "session", Notices: "alone"}
	asked := session
	asked.Notices = "asked"
	for _, c := range []struct {
		name        string
		claims      clients.Claims
		told, lacks bool
	}{
		{"told", session, true, true},
		{"not told", session, false, false},
		{"of a lock that tells only when it is asked", asked, true, false},
	} {
		s := &suite{TB: t, kind: clients.Kind{Claims: c.claims}, losses: &losses{}, Service: Service{Slack: 3 * beat}}
		s.losses.watch(func() bool { return false })
		s.losses.watch(func() bool { return c.told })
		func() {
			defer func() {
				if got := decided.Lacking(recover()); got != c.lacks {
					t.Errorf("%s: decides nothing: %t", c.name, got)
				}
			}()
			s.overtaken(0)
		}()
	}
}
