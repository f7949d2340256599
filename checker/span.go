package checker

import (
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// Spans: when a fault was in effect, what it does, and how long several lasted together.

// span is the effect of one fault on one client, or on the service.
//
// An injected fault may disturb from before it is injected until its healing is
// finished: those are the times of its two events. What was measured, From to
// To, lies within, and is the time in which it was certainly in effect.
type span struct {
	from, to int64
	// bit and healed are the measured effect; healed 0: not measured
	bit, healed int64
	id          int
	kind        string
	touch       *history.Touch
	injected    bool
	links       bool // processes and clocks are not touched
	store       bool // it lies between a client and the store
	kept        bool // servers died or failed over, and those after them had all that they had answered for
	target      string
	hosts       []string // those that it struck
}

// length is for how long the fault was in effect, as measured where it was.
func (sp span) length() int64 { return stamp(sp.healed-sp.bit, sp.to-sp.from) }

// calmAt is when nothing that it held back comes any more: what was lost is
// sent again later and later, for as long again at the most.
func (sp span) calmAt() int64 {
	if sp.to == forever {
		return forever
	}
	return sp.to + (sp.to - sp.from)
}

// faultFilter chooses which faults count.
type faultFilter uint8

const (
	anyFault faultFilter = iota
	injectedOnly
	uninjectedOnly
	hindering // injected, into a process or a clock
)

func (f faultFilter) takes(sp span) bool {
	if f == hindering {
		return sp.injected && !sp.links
	}
	return f == anyFault || (f == injectedOnly) == sp.injected
}

// spanOf is the effect of a fault between two instants.
func spanOf(f *history.FaultInfo, from, to int64) span {
	return span{from: from, to: to, id: f.ID, kind: f.Kind, touch: f.Touches(), injected: f.Injected, links: f.Links,
		store: f.Store && len(f.Clients) == 0, target: f.Target,
		hosts: f.Hosts, kept: f.Kept}
}

func touched(spans []span, from, to int64, which faultFilter) bool {
	for _, sp := range spans {
		if sp.from <= to && sp.to >= from && which.takes(sp) {
			return true
		}
	}
	return false
}

// timeIn is for how long faults lasted between two instants, all added up, each
// taken for longer by slack.
func timeIn(spans []span, from, to int64, which faultFilter, slack int64) int64 {
	sum := int64(0)
	for _, sp := range spans {
		if sp.from <= to && sp.to >= from && which.takes(sp) {
			sum += min(sp.to, to) - max(sp.from, from) + slack
		}
	}
	return sum
}

// earlier is the earlier of two stamps, of which either may be unknown.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// stallsIn adds those of the spans that nobody injected, as far as they lie between two instants.
func stallsIn(stalls, spans []span, from, to int64) []span {
	for _, sp := range spans {
		if sp.from <= to && sp.to >= from && uninjectedOnly.takes(sp) {
			stalls = append(stalls, span{from: max(sp.from, from), to: min(sp.to, to)})
		}
	}
	return stalls
}

// firstTouch is when the first fault of a sort touched at or after since; forever if none did.
func firstTouch(spans []span, since int64, which faultFilter) int64 {
	first := int64(forever)
	for _, sp := range spans {
		if sp.to >= since && which.takes(sp) {
			first = min(first, sp.from)
		}
	}
	return first
}

// isClock reports whether a fault makes a clock wrong.
func isClock(sp span) bool { return sp.touch.Clock != "" }

// stops reports whether a fault keeps the application from going on, and nothing else.
func stops(sp span) bool {
	return !sp.links && !sp.store && sp.touch.Stops != "" && !starves(sp)
}

// ends reports whether a fault ends a session by itself.
func ends(sp span) bool {
	return sp.touch.Ends == history.EndsSession || sp.touch.Ends == history.EndsConnection
}

// endsAfter reports whether a fault ends by itself what a grant rests on. A connection
// that was reset within the acquire was followed by the one that brought the grant.
func endsAfter(sp span, g *grant) bool {
	return ends(sp) && (sp.to > g.end || sp.touch.Ends == history.EndsSession)
}

// crashes reports whether a fault kills servers and starts them again.
func crashes(sp span) bool { return sp.touch.Ends == history.EndsServer }

// cutsOff reports whether a fault lies on the client's links to the lock service.
func cutsOff(sp span) bool { return sp.links && !sp.store && !ends(sp) }

// heldBack reports whether what a fault on a client's links held back may have come between two
// instants.
func heldBack(spans []span, from, to int64) bool {
	return slices.ContainsFunc(spans, func(sp span) bool { return cutsOff(sp) && sp.from <= to && sp.calmAt() >= from })
}

// starves reports whether a fault keeps renewals from being made.
func starves(sp span) bool { return sp.touch.Stops == history.StopsRenewals }

// cutsOffStore reports whether a fault keeps the store out of reach.
func cutsOffStore(sp span) bool { return sp.store }

// deposes reports whether a fault has another server take over from the primary by t, which may not
// know all that that had answered for.
// A primary that is frozen or cut off grants nothing: who did was promoted meanwhile.
func deposes(sp span, t int64) bool {
	return sp.touch.Ends == history.EndsPrimary && !sp.kept || sp.target == targetPrimary && !degrades(sp) && sp.from < t &&
		t < sp.to
}

// degrades reports whether a server goes on working, though badly, under a fault.
func degrades(sp span) bool { return sp.touch.Stops != history.StopsProcesses && !sp.touch.Severs }

// quorumBears reports whether a quorum of the others does without the nodes that a fault struck.
// It does not if they come back and have forgotten what they answered, or misjudge the time,
// or if they are not known. What the machine does to one node it is about to do to the others.
func quorumBears(sp span) bool {
	lost := sp.touch.Ends == history.EndsPrimary || crashes(sp) && !sp.kept
	return sp.injected && len(sp.hosts) > 0 && !lost && !isClock(sp)
}
