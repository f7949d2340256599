package nemesis

import (
	"errors"
	"strings"
	"testing"
)

// A word that the service is asked about is accepted where there is such a
// node, and stands for what the service answers.
func TestAskedTargets(t *testing.T) {
	of := func(target Target, peers Peers) Spec { return partitionOf(target, peers, "", "") }
	for _, c := range []struct {
		spec Spec
		has  []Trait
		want string // of the error; "": none
	}{
		{of(Leader, ""), []Trait{HasLeader}, ""},
		{of(Leader, PeersService), []Trait{Sessions, HasLeader}, ""},
		{of(Holder, Peers(Leader)), []Trait{HasLeader}, ""},
		{of(Primary, ""), []Trait{HasPrimary}, ""},
		{of(Primary, ""), []Trait{HasLeader}, "no primary"},
		{of(Leader, ""), nil, "no leader"},
		{of(Holder, Peers(Leader)), nil, "no leader"},
		{Spec{Kind: KindKill, Aim: Aim{Leader, Random}}, []Trait{HasLeader}, "strikes clients only"},
		{Spec{Kind: KindPause, Aim: Aim{Leader, BeforeWrite}}, []Trait{HasLeader}, ""},
	} {
		err := Check(c.spec, Setting{Nodes: five, Has: c.has})
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s from %q, service with %q: %v, want %q", c.spec.Kind, c.spec.Target, c.spec.Peers, c.has, err, c.want)
		}
	}
	asked := 0
	answer := func() (string, error) { asked++; return "n3", nil }
	if s, err := of(Leader, PeersService).Answer(answer); err != nil || s.Target != "n3" || s.Peers != PeersService {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := of(Holder, Peers(Leader)).Answer(answer); err != nil || s.Target != Holder || s.Peers != "n3" {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := of(Holder, PeersStore).Answer(answer); err != nil || s != of(Holder, PeersStore) || asked != 2 {
		t.Errorf("%+v, %v, asked %d times", s, err, asked)
	}
	broken := errors.New("nobody knows")
	if _, err := of(Leader, "").Answer(func() (string, error) { return "", broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
