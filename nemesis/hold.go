package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// KindHold is the fault that makes one request, or its reply, late.
const KindHold = "hold"

// hold is its entry in the catalogue.
var hold = Kind{Name: KindHold, Needs: NeedsQueue, alone: true, single: true, Ours: true,
	Touch: history.Touch{Words: history.FaultWords{Did: "held up", Links: "are held back",
		Over: "gets what was held back", Doc: "hold"}},
	takes: []string{"peers", "way", "request", "in_turn"}, check: checkHold,
	About: "holds the next request of a client to the lock service or to the store, or the reply to it, and then delivers it: a packet that comes too late",
	draws: []Draw{{Weight: 4, of: func(d Dice) Part {
		p := aimed(Holder, pick(d, AfterGrant, BeforeWrite), d.share(0.5, 2.5, 1))
		p.Request = RequestWrite
		if d.IntN(3) == 0 {
			p.When, p.Request, p.Way = Acquiring, RequestAcquire, WayIn
		}
		return p
	}}},
	inject: func(_ context.Context, s *Site) (InEffect, error) {
		return s.Net.Hold(s.Tag, s.Spec, s.Names()[0], s.CurrentRequest(s.Clients[0].Number), s.Rand)
	}}

// checkHold reports whether there is such a request to hold.
func checkHold(s Spec, at Setting) error {
	if s.Way == WayBoth {
		return fmt.Errorf("a hold of both ways: way out (not given) holds the request, way in the reply to it")
	}
	return checkRequest(s, at)
}

// Hold lays a trap on each link between the client and its peers: the next request
// there (way out), or the reply to it (way in), is held until the healing. Of acquires
// on Redis, whose waiters ask again and again, a reply is meant that grants the lock.
func (n *Net) Hold(tag string, s Spec, victim string, asked CurrentRequest, rng *rand.Rand) (*Trap, error) {
	peers, err := s.peers([]string{victim}, n.all(), rng)
	if err != nil {
		return nil, fmt.Errorf("hold: %w", err)
	}
	t, err := n.lay(tag, s, victim, asked, peers)
	if err != nil {
		return nil, err
	}
	t.triggered = func(n netfault.Stats) bool { return n.Held > 0 }
	t.bit = func(n netfault.Stats) bool { return n.Held > 0 && n.Released == n.Held }
	t.proof = func(p *linkTrap, lasted time.Duration) string {
		from, to, what := p.client, p.peer, s.Requested()
		if s.Way == WayIn {
			from, to, what = to, from, "the reply to "+what
		}
		text := fmt.Sprintf("%s, %s → %s, %d bytes: held for %s, then delivered", what, from, to, sizeOf(p.caught),
			milliseconds(lasted))
		if p.stats.Released != p.stats.Held || p.stats.Repeated+p.stats.Errors+p.stats.Overruns > 0 {
			text += fmt.Sprintf(" (%s)", p.stats)
		}
		return text
	}
	return t, nil
}

// reply is what a reply must be to be meant.
func (s Spec) reply() netfault.Reply {
	if s.Request == RequestAcquire && s.Nth == 0 {
		return netfault.RedisYes
	}
	return nil
}

func sizeOf(packets []netfault.Packet) (bytes int) {
	for _, p := range packets {
		bytes += p.Size
	}
	return bytes
}
