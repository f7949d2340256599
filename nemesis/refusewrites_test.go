package nemesis

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// stubborn is a server that refuses writes as it is told, unless it does as it likes.
type stubborn struct {
	Server
	refuses bool
	// deaf: it changes nothing. awful is the error of what it is told.
	deaf  bool
	awful error
}

func (s *stubborn) RefuseWrites(_ context.Context, on bool) error {
	if !s.deaf {
		s.refuses = on
	}
	return s.awful
}

func (s *stubborn) TryWrite(context.Context) (string, error) {
	if s.refuses {
		return "NOREPLICAS", nil
	}
	return "", nil
}

func TestRefuseWrites(t *testing.T) {
	a, b := &stubborn{}, &stubborn{}
	r, err := RefuseWrites(t.Context(), Place{Name: "n1", Server: a}, Place{Name: "n2", Server: b})
	if err != nil || !a.refuses || !b.refuses {
		t.Fatal(a, b, err)
	}
	e, err := r.Heal()
	if err != nil || !e.Bit || a.refuses || b.refuses || e.From != r.From() || e.To < e.From {
		t.Errorf("%+v, %v: %v %v", e, err, a, b)
	}
	for _, n := range []string{"n1", "n2"} {
		if !strings.Contains(e.Proof, n+" refused the first write and the last (NOREPLICAS)") {
			t.Errorf("the proof tells nothing of %s: %s", n, e.Proof)
		}
	}
	if again, err := r.Heal(); again != e || err != nil {
		t.Errorf("healed twice: %+v, %v", again, err)
	}
}

// A node that takes writes before the fault is over shows that it did not bite.
func TestRefusalThatEndsEarly(t *testing.T) {
	s := &stubborn{}
	r, err := RefuseWrites(t.Context(), Place{Name: "n1", Server: s})
	if err != nil {
		t.Fatal(err)
	}
	s.refuses = false
	if e, err := r.Heal(); err != nil || e.Bit || !strings.Contains(e.Proof, "but took the last one") {
		t.Errorf("%+v, %v", e, err)
	}
}

// A refusal that fails on one node leaves none that refuses writes.
func TestRefusalsThatFail(t *testing.T) {
	good, awful := &stubborn{}, &stubborn{awful: errors.New("no such setting")}
	_, err := RefuseWrites(t.Context(), Place{Name: "n1", Server: good}, Place{Name: "n2", Server: awful})
	if err == nil || !strings.Contains(err.Error(), "no such setting") || good.refuses || awful.refuses {
		t.Errorf("%v; %v %v", err, good, awful)
	}
	for want, nodes := range map[string][]Place{
		"of no node":                        nil,
		"n1 can't be made to refuse writes": {{Name: "n1"}},
	} {
		if _, err := RefuseWrites(t.Context(), nodes...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	deaf := &stubborn{deaf: true}
	if _, err := RefuseWrites(ctx, Place{Name: "n1", Server: deaf}); err == nil || !strings.Contains(err.Error(), "n1 still takes writes") {
		t.Errorf("a server that does not obey: %v", err)
	}
}

func TestRefuseWritesNeedsNodesThatCan(t *testing.T) {
	at := Setting{Service: "zookeeper", Nodes: []string{"n1"}}
	one := Spec{Kind: KindRefuseWrites, Aim: Aim{Target: "n1", When: Random}}
	if err := Check(one, at); err == nil || !strings.Contains(err.Error(), "nodes that can be made to refuse writes") {
		t.Error(err)
	}
	at.Has = []Trait{Refuses}
	if err := Check(one, at); err != nil {
		t.Error(err)
	}
	one.Target = Holder
	if err := Check(one, at); err == nil || !strings.Contains(err.Error(), "strikes nodes") {
		t.Error(err)
	}
}
