package clienttest

import (
	"slices"
	"testing"

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
