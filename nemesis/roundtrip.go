package nemesis

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/lockchaos/lockchaos/internal/netfault"
)

// roundTripLimit is how long the round trip of a link that no fault of ours makes late is waited
// for.
const roundTripLimit = 100 * time.Millisecond

// roundTripMeter measures the round trip on one link, before a fault makes it late and
// during that. Nil measures nothing.
type roundTripMeter struct {
	a, b   string
	at     *netfault.Filter
	to     netip.Addr
	before string // the round trip, in words
	begun  time.Time
	cancel context.CancelFunc
	during chan string
}

// measureRoundTrip measures the link as it is, if the fault is one that makes packets
// late. A link that another fault has cut has no round trip.
func (n *Net) measureRoundTrip(on netfault.Cut, s Spec) (*roundTripMeter, error) {
	if s.Delay == 0 && s.BytesPerSecond == 0 {
		return nil, nil
	}
	at, to, err := n.link(on)
	if err != nil {
		return nil, err
	}
	g := &roundTripMeter{a: on.From, b: on.To, at: at, to: to, during: make(chan string, 1)}
	ctx, cancel := context.WithTimeout(context.Background(), roundTripLimit)
	defer cancel()
	g.before = g.measure(ctx)
	return g, nil
}

func (g *roundTripMeter) measure(ctx context.Context) string {
	took, err := g.at.RoundTrip(ctx, g.to)
	if err != nil {
		return "none"
	}
	return milliseconds(took)
}

// start measures the link as it has become.
func (g *roundTripMeter) start() {
	if g == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel, g.begun = cancel, time.Now()
	go func() { g.during <- g.measure(ctx) }()
}

// stop tells what was measured. It is called before the link becomes good
// again. Without start there is nothing to tell.
func (g *roundTripMeter) stop() string {
	if g == nil || g.cancel == nil {
		return ""
	}
	during := ""
	select {
	case during = <-g.during:
	default: // it is longer than the fault
		during = "no answer for " + milliseconds(time.Since(g.begun))
		g.cancel()
		<-g.during
	}
	return fmt.Sprintf("round trip between %s and %s: %s before, %s during", g.a, g.b, g.before, during)
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
