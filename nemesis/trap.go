package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// Trap is a fault that waits for the packets that it is aimed at, one on each
// link: it is in effect from the first of them on.
type Trap struct {
	kind  string
	parts []*linkTrap
	// victim is whom it kills when it has sprung; nil: nobody.
	victim *hosts.Process
	// choosy: some requests are not meant, as their replies tell.
	choosy    bool
	triggered func(netfault.Stats) bool
	// ending is done to each part that has struck, right before it is taken
	// away; proof tells what it did.
	ending func(*linkTrap) error
	proof  func(s *linkTrap, lasted time.Duration) string
	// bit tells from what became of the packets whether a part did what it was to do.
	bit    func(netfault.Stats) bool
	effect Effect // once healed
	healed bool
}

// Decides returns how a fault that waits for a request (Waits) treats the
// packets of each link of its client.
func (s Spec) Decides(asked CurrentRequest) (link func() netfault.Decide) {
	count := &requestCounter{}
	return func() netfault.Decide { return s.decide(s.requestFinder(asked, count).is) }
}

// requestFinder finds the request on one link. count is that of all links of the client.
func (s Spec) requestFinder(asked CurrentRequest, count *requestCounter) *requestFinder {
	return &requestFinder{request: s.Request, asked: asked, nth: s.Nth, count: count}
}

func (s Spec) decide(request netfault.Is) netfault.Decide {
	switch {
	case s.Kind == KindKillAtReply:
		return netfault.CutAt(netfault.AfterRequest, request, s.reply(), netfault.Mute)
	case s.Point != "" && s.Silent:
		return netfault.CutAt(points[s.Point], request, s.reply(), netfault.Silence)
	case s.Point != "":
		return netfault.CutAt(points[s.Point], request, s.reply(), netfault.Reset)
	case s.Way == WayIn:
		return netfault.HoldReply(request, s.reply(), 0)
	}
	return netfault.Hold(request, 0)
}

// linkTrap is a trap's part on one link of the client.
type linkTrap struct {
	client, peer string
	at           *netfault.Filter
	finder       *requestFinder
	by           *netfault.Diversion
	caught       []netfault.Packet // held when the fault ended
	stats        netfault.Stats    // once removed
}

// lay puts a trap on the links of the client.
func (n *Net) lay(tag string, s Spec, victim string, asked CurrentRequest, peers []string) (*Trap, error) {
	t := &Trap{kind: s.Kind, choosy: s.reply() != nil}
	count := &requestCounter{}
	for _, name := range peers {
		part := &linkTrap{client: victim, peer: name, finder: s.requestFinder(asked, count)}
		at, to, err := n.link(netfault.Cut{From: victim, To: name})
		if err == nil {
			part.at = at
			part.by, err = at.Divert(tag, s.decide(part.finder.is), netfault.Both(to)...)
		}
		if err != nil {
			_, healing := t.Heal()
			return nil, errors.Join(fmt.Errorf("%s: %w", s.Kind, err), healing)
		}
		t.parts = append(t.parts, part)
	}
	return t, nil
}

// Watch has done called when the trap has sprung, or when the waiting has ended before.
func (t *Trap) Watch(ctx context.Context, done func(sprung bool)) (giveUp func()) {
	waiting, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		done(t.Await(waiting) == nil)
	}()
	return cancel
}

// Await waits until the trap has sprung. Its error says that it has not when ctx ended.
func (t *Trap) Await(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ends := make(chan error, len(t.parts))
	for _, p := range t.parts {
		go func() {
			_, err := p.by.Await(ctx, t.triggered)
			ends <- err
		}()
	}
	var errs []error
	for range t.parts {
		err := <-ends
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("%s: no packet came that it is aimed at: %w", t.kind, errors.Join(errs...))
}

// Met reports whether the request that the trap is aimed at has been sent. What strikes at a later
// packet of it may strike when the client has its answer: TCP may put the acknowledgement off.
func (t *Trap) Met() bool {
	return !t.choosy && slices.ContainsFunc(t.parts, func(p *linkTrap) bool { return p.finder.found.Load() != nil })
}

// From is when the first packet was caught; 0: none has been.
func (t *Trap) From() (from int64) {
	for _, p := range t.parts {
		s := p.stats
		if !t.healed {
			s = p.by.Stats()
		}
		if s.First != 0 && (from == 0 || s.First < from) {
			from = s.First
		}
	}
	return from
}

// Heal takes the trap away; what it holds is delivered. A second call returns the same again.
func (t *Trap) Heal() (Effect, error) {
	if t.healed {
		return t.effect, nil
	}
	e := Effect{From: t.From(), To: monotime.Now()}
	var errs []error
	for _, p := range t.parts {
		p.caught = p.by.Held()
		if t.ending != nil && p.by.Stats().First != 0 {
			errs = append(errs, t.ending(p))
		}
		var err error
		p.stats, err = p.by.Remove()
		errs = append(errs, err)
		if p.stats.First == 0 {
			continue
		}
		if e.Proof != "" {
			e.Proof += "; "
		}
		e.Proof += t.proof(p, time.Duration(e.To-p.stats.First))
		e.Bit = e.Bit || t.bit(p.stats)
	}
	t.effect, t.healed = e, true
	if err := errors.Join(errs...); err != nil {
		return e, fmt.Errorf("%s: %w", t.kind, err)
	}
	return e, nil
}
