package nemesis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// KindKillAtReply is the fault that ends a client's process between two of its requests.
const KindKillAtReply = "kill-at-reply"

var killAtReply = Kind{Name: KindKillAtReply, Needs: NeedsQueue, alone: true, single: true, Ours: true,
	Touch: history.Touch{Ends: history.EndsProcess,
		Words: history.FaultWords{Did: "killed", Client: "is killed", Doc: "kill"}},
	takes: []string{"request", "in_turn"}, check: checkRequest,
	About: "kills a client's process group when the reply to its next request to the lock service or to the store comes: the request took effect, " +
		"and its client sends no other one; a fresh process takes its place",
	inject: func(_ context.Context, s *Site) (InEffect, error) {
		return s.Net.killAtReply(s)
	}}

// killAtReply lays a trap on each link between the client and its peers. The reply is lost, and
// so is all that the client still sends on that connection, until it is dead. Its end of the
// connection is reset then: the server learns of the end as it does of any client that dies.
func (n *Net) killAtReply(s *Site) (*Trap, error) {
	client := s.Clients[0]
	peers, err := s.peers(s.Names(), n.all(), s.Rand)
	if err != nil {
		return nil, fmt.Errorf("kill at reply: %w", err)
	}
	t, err := n.lay(s.Tag, s.Spec, client.name(), s.CurrentRequest(client.Number), peers)
	if err != nil {
		return nil, err
	}
	t.victim, t.ending = client.Proc, endSilence
	t.triggered = func(n netfault.Stats) bool { return n.First != 0 }
	t.bit = func(n netfault.Stats) bool { return n.Dropped > 0 }
	t.proof = func(p *linkTrap, _ time.Duration) string {
		return fmt.Sprintf("reply to %s, %s → %s: lost (%s)", s.Requested(), p.peer, p.client, p.stats)
	}
	return t, nil
}

// Kill ends the process at whose packet the trap has sprung, and takes the trap away.
func (t *Trap) Kill(ctx context.Context) (Effect, error) {
	killed, err := Kill(ctx, t.victim)
	caught, healing := t.Heal()
	killed.From, killed.Proof = caught.From, caught.Proof+"; "+killed.Proof
	return killed, errors.Join(err, healing)
}
