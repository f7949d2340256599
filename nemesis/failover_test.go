package nemesis

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
)

// pair is a primary and a replica, both of which tick, and sentinels that
// promote the replica when they are asked the second time after the kill.
type pair struct {
	at      map[string]*ticker
	primary string
	asked   int
}

func (p *pair) Replicas() []string { return []string{"n1", "n2"} }

func (p *pair) Primary(context.Context) (string, error) {
	if p.at[p.primary].now.Err() != nil {
		if p.asked++; p.asked < 2 {
			return p.primary, nil
		}
		p.primary = map[string]string{"n1": "n2", "n2": "n1"}[p.primary]
	}
	return p.primary, nil
}

func (p *pair) Role(_ context.Context, node string) (string, error) {
	if node == p.primary {
		return rolePrimary, nil
	}
	return roleReplica, nil
}

func startPair(t *testing.T) (*pair, *Net, []Place) {
	t.Helper()
	_, made := hoststest.Network(t, "n1", "n2", "store")
	p := &pair{at: map[string]*ticker{}, primary: "n1"}
	var nodes []Place
	for _, h := range made[:2] {
		s := &ticker{host: h}
		if err := s.run(); err != nil {
			t.Fatal(err)
		}
		p.at[h.Name] = s
		nodes = append(nodes, Place{Name: h.Name, Host: h, Server: s})
	}
	n := NewNet(nodes, nil, Place{Name: "store", Host: made[2]})
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, n, nodes
}

// A failover kills the primary after a grant that the replica has not heard of,
// and ends when the old primary is a replica.
func TestFailoverOrder(t *testing.T) {
	p, n, nodes := startPair(t)
	was := p.at["n1"].now
	f, err := n.Failover(t.Context(), "fault-1", p, nodes, func(context.Context) int64 {
		if was.Err() != nil {
			t.Error("the primary was killed before the grant")
		}
		return 7
	})
	if err != nil {
		t.Fatal(err)
	}
	if was.Err() == nil || f.Holding() != 7 {
		t.Errorf("the primary lives; met grant %d", f.Holding())
	}
	e, err := f.Heal()
	if err != nil || !e.Bit || e.From != f.From() || e.To <= was.Gone() || p.primary != "n2" ||
		p.at["n1"].now.Err() != nil || len(p.at["n1"].kept) != 1 {
		t.Errorf("%+v, %v; the primary is %s", e, err, p.primary)
	}
	for _, word := range []string{"before: n1 primary, n2 replica in sync", "0 packets dropped", "grant 7",
		"signal: killed", "n2 was promoted", "after: n1 replica in sync, n2 primary"} {
		if !strings.Contains(e.Proof, word) {
			t.Errorf("the proof does not tell %q: %s", word, e.Proof)
		}
	}
	// With nobody to strike, all is as before.
	if _, err := n.Failover(t.Context(), "fault-2", p, nodes, func(context.Context) int64 { return 0 }); !errors.Is(err,
		ErrMissed) || p.at["n2"].now.Err() != nil {
		t.Errorf("nobody was granted anything: %v", err)
	}
	run, end := context.WithCancel(t.Context())
	if f, err = n.Failover(run, "fault-3", p, nodes, func(context.Context) int64 { return 8 }); err != nil {
		t.Fatal(err)
	}
	end()
	if e, err := f.Heal(); !errors.Is(err, context.Canceled) || e.Bit || !strings.Contains(e.Proof, "not started again") {
		t.Errorf("the run has ended: %+v, %v", e, err)
	}
}

func TestCheckFailover(t *testing.T) {
	for _, c := range []struct {
		aim  Aim
		want string
	}{
		{Aim{Target: Service, When: Random}, ""}, {Aim{Target: "redis-1", When: Random}, "of the service as a whole"},
		{Aim{Target: Holder, When: Random}, "of the service as a whole"},
		{Aim{Target: Service, When: Acquiring}, "when random"},
	} {
		err := Check(Spec{Kind: KindFailover, Aim: c.aim}, Setting{Nodes: []string{"redis-1", "redis-2"}, Has: []Trait{Promotes}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.aim, err, c.want)
		}
	}
}
