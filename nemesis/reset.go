package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// KindReset is the fault that breaks connections and leaves the links alone.
const KindReset = "reset"

// reset is its entry in the catalogue.
var reset = Kind{Name: KindReset, Nodes: true, Needs: NeedsReset, endsSessions: true, mayMiss: true,
	takes: []string{"peers"},
	check: Spec.checkLinks, Touch: history.Touch{Ends: history.EndsConnection, Sudden: true,
		Words: history.FaultWords{Did: "reset", Links: "are cut short: their connections are reset",
			Plight: "lost its connection", Doc: "reset"}},
	About: "resets every TCP connection between a client or nodes and their peers, so that both ends notice; new ones can be made at once",
	draws: []Draw{{Weight: 2, of: func(d Dice) Part {
		p := aimed(Holder, BetweenReadAndWrite, 0)
		p.Peers = pick(d, PeersAll, PeersStore)
		return p
	}}},
	inject: func(_ context.Context, s *Site) (InEffect, error) { return s.Net.Reset(s.Spec, s.Names(), s.Rand) }}

// Reset breaks every connection between the victims and their peers. It is over when it returns.
// Where there was none, as of a client that is connecting again, its error is ErrMissed.
func (n *Net) Reset(s Spec, victims []string, rng *rand.Rand) (*Instantaneous, error) {
	s.Way = WayOut // each connection once, from the victim's end
	cuts, err := s.Cuts(victims, n.all(), rng)
	if err != nil {
		return nil, fmt.Errorf("reset: %w", err)
	}
	e := Effect{From: monotime.Now()}
	total := 0
	var each []string
	for _, c := range cuts {
		at, to, err := n.link(c)
		if err != nil {
			return nil, fmt.Errorf("reset: %w", err)
		}
		hit, err := at.Reset(netfault.Match{Peer: to})
		if err != nil {
			return nil, fmt.Errorf("reset: %w", err)
		}
		if total += len(hit); len(hit) > 0 {
			each = append(each, fmt.Sprintf("%s – %s %d", c.From, c.To, len(hit)))
		}
	}
	if total == 0 {
		return nil, fmt.Errorf("reset: no connection: %w", ErrMissed)
	}
	e.To = monotime.Now()
	e.Bit = true
	e.Proof = fmt.Sprintf("connections reset: %d (%s)", total, firstOf(each))
	return &Instantaneous{e}, nil
}
