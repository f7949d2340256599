// # false-loss
//
// Violated if a client was told that its grant is lost, by an answer "not held" to a
// renewal, a release or "held?", or by a lost-event, although the grant certainly stood.
// It was inside its promise, with a quarter of the TTL left where the promise has an end;
// no release of it had been tried; nobody else had been granted the key. No injected
// fault had touched the service, the links of the client, or a clock, and of a session
// nothing had touched its client. A finding that a stall explains, too, is inconclusive.
//
//	A.acquire [0,1], A.renew [100,101] not held
//
// "A definite no to a holder is a defect" accuses a library that sends a release
// again whose reply was lost. So a release counts only if the lock declares that
// releases confirm, and if the answer came within a tenth of the TTL.
package checker

import (
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// FalseLoss names the property false-loss: no client is told of the loss of a grant that stands.
const FalseLoss = "false-loss"

// falseLoss reads, beside rules and findings: book, explanations, faults, figures.
var falseLoss = Property{
	Name:  FalseLoss,
	About: "A client is told that its grant is lost only if it may be.",
	needs: []string{history.FactAnswers, history.FactHolds, history.FactService, history.FactClients},
	exempt: func(h *history.Header) string {
		switch {
		case h.Translated:
			return "Nobody watched the clients of this history, so a grant may have been lost."
		case h.Claims.Validity == "":
			return "This lock promises nothing that could be denied too early."
		case h.Claims.Reentrant:
			return "What an answer says of the nested grants of one owner is not defined."
		}
		return noLock(h)
	},
	unmet: func(s *Sweep) string {
		return noneOf(s.figures.judged.losses, "No client was told that its grant is lost.")
	},
	stalled: func(n int) string {
		return fmt.Sprintf("%s that its grant is lost, which a stall of this machine alone explains, not an injected fault.", count(n, "client was told", "clients were told"))
	},
	Words: Words{
		Violation: "false loss",
		Demands:   "A client is told that its grant is lost only if it may be.",
		Once:      "A client was told that its grant was lost while it stood",
		More:      "Clients were told that their grants were lost while they stood",
		Lead:      "Look for an answer that no comparison of owners gave.",
		Advice: "The lock denied a grant that it had promised, and nothing had touched client or service. Look for a " +
			"comparison with the wrong value, a key that was freed by something else, or an error that is taken for a no.",
		Weight: 4,
	},
}

// judgeDenied judges an op that was answered "not held". It is called before the answer
// takes the promise back. A lock whose releases do not confirm may have freed the key
// by a first request, whose reply was lost; so may a release that takes for longer than
// an answer takes. The answer to a set says only that some key of it is lost.
func (s *Sweep) judgeDenied(asked []*op, e *history.Event) {
	var grants []*grant
	tried, end := false, stamp(e.End, e.Time)
	for _, o := range asked {
		if o.grant == nil {
			return
		}
		tried = tried || o.grant.releasing != 0 && o.grant.releasing != o.inv
		grants = append(grants, o.grant)
	}
	if len(asked) == 0 {
		return
	}
	o := asked[0]
	if o.kind == history.Release {
		tried = tried || !s.rules.confirms[history.Release] || end-o.start > s.rules.TTL/10
	}
	s.judgeLoss(o.id, end, tried, grants...)
}

// judgeLoss judges news of a loss at t, by the answer to an op, or by a
// lost-event (op 0). Where a release has been tried, the grant may be gone. Near
// the end of a lease a lock may be careful, so a quarter of the TTL must be left.
func (s *Sweep) judgeLoss(op, t int64, tried bool, grants ...*grant) {
	closed := func(g *grant) bool { return g.closed }
	if !s.rules.asks(&falseLoss) || slices.ContainsFunc(grants, closed) {
		return
	}
	s.figures.judged.losses++
	doubtful := func(g *grant) bool { return min(g.promise, g.withdrawn)-t < s.rules.TTL/4 }
	if tried || slices.ContainsFunc(grants, doubtful) {
		return
	}
	g := grants[0]
	s.findings.putOff(s.rules.restsSince(g), func() {
		gone := func(g *grant) bool { return !s.explanations.certainlyStood(g, t) }
		if slices.ContainsFunc(grants, gone) {
			return
		}
		since := s.rules.restsSince(g)
		j := judgement{violated: true, stallOnly: s.faults.starved(g, t) ||
			s.faults.disturbed(g.client, since, t, uninjectedOnly)}
		s.findings.record(&falseLoss, s.book.keyOf(g), j, j, func(judgement) *Violation { return s.tellLoss(g, op, t) })
	}, grants...)
}

// certainlyStood reports whether a grant that was promised at t stood then for
// certain, stalls aside: no other client had, or had been granted, the key, no
// late release may have freed it, and no fault had touched the service, or what
// the grant rests on. Only a lease outlives a client that was stopped.
func (ex *explanations) certainlyStood(g *grant, t int64) bool {
	since := ex.rules.restsSince(g)
	skewed := ex.faults.skewedBy(g.client, t) || ex.faults.serviceSkewed != 0 && ex.faults.serviceSkewed <= t
	taken := g.next != 0 && g.next < t || g.beside || ex.book.lateBeside(g, t)
	if taken || skewed || ex.book.garbled() || touched(ex.faults.service, since, t, injectedOnly) {
		return false
	}
	session := ex.rules.Claims.Validity == validitySession
	return !slices.ContainsFunc(ex.faults.clientSpans(g.client), func(sp span) bool {
		return sp.injected && sp.from <= t && sp.to >= since && (session || !stops(sp))
	})
}

// lateBeside reports whether a release of an older grant, which came too late, may
// have freed g's key by t: one of g's own client, too, because a lock may know its
// clients by one name each. Its release of unknown fate may come at any time.
func (bk *book) lateBeside(g *grant, t int64) bool {
	k := bk.keyOf(g)
	if slices.Contains(k.unsure, g.client) {
		return true
	}
	return slices.ContainsFunc(k.late, func(r lateRelease) bool { return r.end >= g.earliest && r.start <= t })
}

func (s *Sweep) tellLoss(g *grant, op, t int64) *Violation {
	v := &Violation{Property: FalseLoss, Key: s.book.nameOf(g), At: t, From: g.end, To: t, A: g.ref(),
		Faults: s.faults.faultsOf(t, g)}
	var proof evidence
	proof.add(g.id, g.start)
	told := "by a lost-event"
	if op != 0 {
		proof.add(op, t)
		told = `by the answer "not held"`
	}
	v.Ops = proof.ops()
	until := "until it gave the lock up"
	if g.promise != forever {
		until = "until " + seconds(g.promise)
	}
	v.Text = fmt.Sprintf("%s was told at %s, %s, that its grant of %s is lost, although the lock had promised it %s, nobody had released it, and nobody else had been granted it.",
		clientName(g), seconds(t), told, v.Key, until)
	return v
}
