package nemesis

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// KindCut is the fault that cuts a connection in the middle of one request.
const KindCut = "cut"

// Point is a point of a request, as its server sees it.
type Point string

// AfterReply is the point at which a client has its answer.
const AfterReply Point = "after-reply"

// points are where a cut can strike.
var points = map[Point]netfault.Moment{
	"before-request": netfault.BeforeRequest, // it never arrives
	"after-request":  netfault.AfterRequest,  // it took effect, and the reply is lost
	AfterReply:       netfault.AfterReply,    // it took effect, and its client knows
}

// cut is its entry in the catalogue.
var cut = Kind{Name: KindCut, Needs: NeedsQueue, endsSessions: true, alone: true, single: true, Ours: true,
	Touch: history.Touch{Ends: history.EndsConnection, Words: history.FaultWords{Did: "cut short",
		Links: "are cut at one request", Doc: "cut"}},
	takes: []string{"peers", "request", "in_turn", "point", "silent"},
	check: checkCut,
	About: "cuts the connection of a client's next request to the lock service or to the store: before it arrives, after it took effect (the reply is lost) or " +
		"after the reply; with a reset that both ends notice, or silently",
	draws: []Draw{{Weight: 2, of: func(d Dice) Part {
		p := aimed(Holder, BeforeWrite, 0)
		p.Request, p.Point = RequestWrite, pick[Point](d, "before-request", "after-request", "after-reply")
		return p
	}}},
	inject: func(_ context.Context, s *Site) (InEffect, error) {
		return s.Net.CutRequest(s.Tag, s.Spec, s.Names()[0], s.CurrentRequest(s.Clients[0].Number), s.Rand)
	}}

// checkCut reports whether there is such a request, and such a point of it.
func checkCut(s Spec, at Setting) error {
	if _, known := points[s.Point]; !known {
		return fmt.Errorf("a cut needs a point: one of %s; not %q", strings.Join(pointNames(), ", "), s.Point)
	}
	return checkRequest(s, at)
}

func pointNames() (names []string) {
	for _, p := range slices.Sorted(maps.Keys(points)) {
		names = append(names, string(p))
	}
	return names
}

// resetLimit is how long the kernel may take to reset a connection.
const resetLimit = time.Second

// CutRequest lays a trap on each link between the client and its peers: the connection of the next
// request there is cut, at the point of it that is meant. Of acquires on Redis, whose waiters ask
// again and again, one is meant that is granted. What was cut silently stays cut: at the healing,
// the client's end of the connection is reset, or TCP would send again what was lost.
func (n *Net) CutRequest(tag string, s Spec, victim string, asked CurrentRequest, rng *rand.Rand) (*Trap, error) {
	peers, err := s.peers([]string{victim}, n.all(), rng)
	if err != nil {
		return nil, fmt.Errorf("cut: %w", err)
	}
	t, err := n.lay(tag, s, victim, asked, peers)
	if err != nil {
		return nil, err
	}
	t.triggered = func(n netfault.Stats) bool { return n.First != 0 }
	t.bit = func(n netfault.Stats) bool { return n.Dropped+n.Reset > 0 }
	t.ending = awaitReset
	how := "reset"
	if s.Silent {
		t.ending = endSilence
		how = "silenced"
	}
	t.proof = func(p *linkTrap, _ time.Duration) string {
		where := ""
		if c := p.finder.found.Load(); c != nil {
			where = fmt.Sprintf(" (%s–%s)", c.Local, c.Peer)
		}
		return fmt.Sprintf("connection %s – %s%s %s %s of %s: %s", p.client, p.peer, where, how, s.Point, s.Requested(),
			p.stats)
	}
	return t, nil
}

// awaitReset waits until the connection has been reset, or has turned out to have ended by itself.
func awaitReset(p *linkTrap) error {
	ctx, cancel := context.WithTimeout(context.Background(), resetLimit)
	defer cancel()
	s, err := p.by.Await(ctx, func(s netfault.Stats) bool { return s.Reset+s.Gone+s.Errors > 0 })
	if err == nil && s.Errors > 0 {
		err = fmt.Errorf("the connection between %s and %s could not be reset: %s", p.client, p.peer, s)
	}
	return err
}

// endSilence resets the client's end of the connection, while nothing passes
// yet: the server's learns of it when it next sends something.
func endSilence(p *linkTrap) error {
	c := p.finder.found.Load()
	if c == nil {
		return nil
	}
	_, err := p.at.Reset(netfault.Match{Peer: c.Peer.Addr(), Port: c.Local.Port(), PeerPort: c.Peer.Port()})
	return err
}
