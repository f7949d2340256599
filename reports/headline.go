package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// The most of a reason that a headline has room for.
const headlineText = 200

// headline says in a sentence what came out.
func headline(s Scenario, t *story) prose {
	switch s.Result() {
	case Failed:
		return prose{}.t("The scenario did not run to its end: " + clip(firstLine(s.Failed), headlineText))
	case Skipped:
		return prose{}.t("Not run: " + clip(firstLine(s.Skipped), headlineText))
	case Inconclusive:
		return prose{}.t("This run proves nothing either way")
	case Pass:
		return passHeadline(s)
	}
	n := s.count(checker.MutualExclusion)
	if all := s.defects(); len(all) > 0 && (n > 0 || s.Result() == Corrupted) {
		p := prose{}.t(tellDefects(all) + s.besideDefects())
		if s.Result() == Violated {
			return p
		}
		return p.t("; " + s.harm())
	}
	switch {
	case s.Result() == Contained:
		return held(s, t).t(", and " + s.harm())
	case s.Result() == Corrupted && n == 0:
		return prose{}.t(strings.TrimSuffix(sentence(s.harm()), "."))
	case s.Result() == Corrupted:
		return held(s, t).t(", and " + s.harm())
	case n > 0:
		return held(s, t).t(s.harmless())
	case t != nil && alone(s, t.v) != "":
		return prose{}.t(alone(s, t.v))
	case t != nil && t.v.Text != "":
		return prose{}.t(strings.TrimSuffix(sentence(clip(t.v.Text, 240)), "."))
	}
	return prose{}.t(sentence(list(s.violatedNames()) + " violated"))
}

// harmless ends the headline of double-holds without a stale write, saying only what the verdict says.
func (s Scenario) harmless() string {
	if s.History != nil && s.History.Header.Claims.Permits > 1 {
		return ", so that more than " + grouped(s.History.Header.Claims.Permits) + " held it at once"
	}
	if s.Verdict.Severity == checker.Untested && s.knowsWrites() {
		return "; nothing stale reached the store"
	}
	var rest []string
	for _, name := range s.violatedNames() {
		if name != checker.MutualExclusion {
			rest = append(rest, name)
		}
	}
	if len(rest) > 0 {
		return "; " + list(rest) + " violated too"
	}
	return ""
}

// knowsWrites tells whether the history says what reached the store: a log without writes does not.
func (s Scenario) knowsWrites() bool {
	return s.History == nil || s.History.Header.Untold[history.FactWrites] == ""
}

// staleWrites counts the stale writes that the store took. Only a store that checks tokens could have refused them.
func (s Scenario) staleWrites() string {
	out := plural(s.Verdict.Stats.Stale, "stale write")
	if s.History == nil || !s.History.Header.Store.Fenced || s.History.Header.Claims.Token != "fencing" {
		return out
	}
	return out + " that it should have refused"
}

// held begins a headline about double-holds that are no certain defect: with its length when there was one, with the number of holders
// that went on past their lease where that is what they are, else with how many had a later holder beside them.
func held(s Scenario, t *story) prose {
	p := prose{}.t("Two clients held ")
	key := ""
	if manyKeys(s) {
		t = nil
	}
	if t != nil {
		key = t.key
		if t.v.Property == checker.MutualExclusion && !bothActed(t.v) {
			p = prose{}.t("Two clients were given ")
		}
	}
	if t != nil && s.count(checker.MutualExclusion) == 1 {
		if from, to, ok := overlap(t.v); ok {
			return p.code(key).t(" for " + span(to-from))
		}
	}
	if s.overran() {
		return overrunHeld(s.overruns(), key)
	}
	if key == "" {
		p = p.t("the same key")
	} else {
		p = p.code(key)
	}
	return p.t(" at once, " + s.causes(checker.MutualExclusion).times())
}

// overrunHeld begins a headline about holders that went on past their lease; without a key they are of several.
func overrunHeld(over amount, key string) prose {
	number, their := plural(over.n, "holder"), "their"
	switch {
	case over.least:
		number = "At least " + number
	case over.n == 1:
		number, their = "A holder", "its"
	}
	p := prose{}.t(number)
	if key != "" {
		p = p.t(" of ").code(key)
	}
	return p.t(" went on past " + their + " lease")
}

// manyKeys tells whether the double-holds kept are of more than one key.
func manyKeys(s Scenario) bool {
	p := s.property(checker.MutualExclusion)
	return p != nil && slices.ContainsFunc(p.Violations, func(v checker.Violation) bool { return v.Key != p.Violations[0].Key })
}

func passHeadline(s Scenario) prose {
	st := s.Verdict.Stats
	p := prose{}.t("Never two holders in " + plural(st.Grants, "grant"))
	switch {
	case s.History != nil && unlocked(&s.History.Header):
		p = prose{}.t("No lock, and no update lost in " + plural(st.Accepted, "accepted write"))
	case s.History != nil && s.History.Header.Claims.ReadWrite:
		p = prose{}.t("Never a writer beside another holder in " + plural(st.Grants, "grant"))
	case s.History != nil && s.History.Header.Claims.Permits > 1:
		p = prose{}.t("Never more than " + plural(s.History.Header.Claims.Permits, "holder") + " in " + plural(st.Grants, "grant"))
	}
	if c := s.noted().counters; len(c) > 0 {
		p = p.t(", and " + damage(c))
		if n := bites(st.Faults); n > 0 {
			p = p.t(", though " + plural(n, "injected fault") + " took effect")
		}
		return p
	}
	if n := bites(st.Faults); n > 0 {
		return p.t(", though " + plural(n, "injected fault") + " took effect")
	}
	if st.Handovers > 0 {
		return p.t(" and " + plural(st.Handovers, "contended hand-over"))
	}
	return p
}

// lede tells who did what and why, what it did to the data, and whether it was expected.
func (r *record) lede(s Scenario, t *story) (p prose, why string) {
	told := r.tellPair(t)
	var more prose
	room := ledeSentences - told.sentences()
	if s.unexpected() {
		room--
	}
	if c := s.noted().counters; len(c) > 0 && s.Result() == Corrupted && room > 0 { // the tiles have it too
		more = prose{}.t(" ").b(sentence(damage(c)))
	}
	return expected(told, more, s)
}

// lowered makes a sentence go on after a comma.
func lowered(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// tellPair tells who did what and why; nil where there is no story.
func (r *record) tellPair(t *story) prose {
	switch {
	case t == nil:
		return nil
	case t.a != nil && t.b != nil && pairwise(t.v.Property) && !t.v.Unordered:
		return r.pairLede(t)
	case t.v.Text != "":
		return prose{}.t(sentence(clip(t.v.Text, clipText)))
	}
	return nil
}

// pairwise tells whether a violation of the property is told best by what two holders did to each other.
func pairwise(property string) bool {
	return property == checker.MutualExclusion || property == checker.UnfencedWrite || property == checker.LostUpdate
}

// had says what the earlier client did with the key during a fault: one that was over before the grant met a waiter.
func (t *story) had(f *fault) string {
	if f.To <= t.a.end {
		return "waited for"
	}
	return "held"
}

// pairLede tells of two clients' grants.
func (r *record) pairLede(t *story) prose {
	a, b := r.subject(t.a.client), r.client(t.b.client)
	var p prose
	switch f := t.fault; {
	case t.v.Kind == "in-flight" && len(t.stale) > 0 && t.stale[0].late():
		p = p.t(fmt.Sprintf("%s sent a write as the holder of %s; it was %s under way and arrived when %s had been granted the lock. ", a, t.key,
			span(t.stale[0].decided-t.stale[0].start), b))
	case t.v.Kind == "granted-while-valid":
		p = p.t(fmt.Sprintf("%s was granted %s while the lock still promised it to %s%s. ", r.subject(t.b.client), t.key, r.client(t.a.client), r.givenAway(t.v.Pattern)))
	case t.v.Pattern == checker.PatternStoreAway:
		p = p.t(fmt.Sprintf("%s waited for the store while it held %s, and acted again only at %s, when its lease was over. ", a, t.key, r.at(t.actsAgain())))
		return r.aftermath(p.t(r.gaveAway(t)).t(a+" went on as if it still held the lock"), t)
	case t.v.Pattern == checker.PatternWorkedPast:
		p = p.t(fmt.Sprintf("%s held %s for longer than its lease%s, and no fault is to blame for that. ", a, t.key, r.ofTTL()))
		return r.aftermath(p.t(r.gaveAway(t)).t(a+" went on as if it still held the lock"), t)
	case f != nil && f.touches(t.a.client):
		if f.sudden() {
			p = p.t(fmt.Sprintf("%s was %s while it %s %s. ", a, f.did(), t.had(f), t.key))
		} else {
			p = p.t(fmt.Sprintf("%s was %s for %s while it %s %s%s. ", a, f.did(), span(f.To-f.From), t.had(f), t.key,
				r.ofLease(f.To-f.From)))
		}
		p = p.t(r.gaveAway(t))
		if t.a.last > f.To {
			p = p.t(a + " went on as if it still held the lock")
			return r.aftermath(p, t)
		}
	default:
		p = p.t(fmt.Sprintf("%s held %s under %s while %s held it under %s. ", a, t.key, grantName(t.a.id, t.a.token), b,
			grantName(t.b.id, t.b.token)))
	}
	switch {
	case r.tookStale(t):
		p = p.t("The store took the stale write.")
	case len(t.stale) > 0:
		p = p.t("An update was lost.")
	case len(t.refused) > 0:
		p = p.t("The store refused the stale write.")
	}
	return p
}

// givenAway goes on after the sentence that a key was granted inside a promise. A log of others says nothing about its lock service.
func (r *record) givenAway(pattern string) string {
	if pattern == checker.PatternGrantedTwice && ofOthers(&r.h.Header) {
		return ""
	}
	return givenAway[pattern]
}

// givenAway goes on after the sentence that a key was granted inside a promise.
var givenAway = map[string]string{
	checker.PatternFailover:     ": a replica had taken over that had not heard of that grant",
	checker.PatternRestart:      ": what it had granted was lost when a server died",
	checker.PatternClockJumped:  ": a clock by which the lease was measured was wrong",
	checker.PatternQuorum:       ": too few servers were left to know of it",
	checker.PatternService:      ", with a fault on the lock service",
	checker.PatternStolen:       ": a former holder's late release had freed it",
	checker.PatternGrantedTwice: ", and nothing had disturbed the lock service",
}

// actsAgain is when the earlier holder first acted beside the later one.
func (t *story) actsAgain() int64 {
	for _, o := range t.a.ops {
		if o.start > t.b.end && o.kind != history.Release {
			return o.start
		}
	}
	return t.a.last
}

// ofTTL is the lock's TTL in words; empty where it is not told.
func (r *record) ofTTL() string {
	if r.h.Header.TTL <= 0 {
		return ""
	}
	return " of " + span(r.h.Header.TTL)
}

// aftermath says what the client did once it went on.
func (r *record) aftermath(p prose, t *story) prose {
	switch {
	case len(t.stale) > 0 && t.lostUpdate && r.overwrote(t):
		return p.t(", and overwrote the work of " + r.client(t.b.client) + r.fallen(t) + ".")
	case r.tookStale(t):
		return p.t(", and the store took its stale write" + r.fallen(t) + ".")
	case len(t.stale) > 0:
		return p.t(", and an update was lost.")
	case len(t.refused) > 0 && r.fenceBefore(t.refused[0]) != nil:
		top := r.fenceBefore(t.refused[0])
		return p.t(fmt.Sprintf(", but the store had seen %s by then, and refused the write under %s.", grantName(top.id, top.token), grantName(t.a.id, t.a.token)))
	case len(t.refused) > 0:
		return p.t(", but the store refused its write.")
	}
	return p.t(".")
}

// tookStale tells whether the store took a stale write, by the verdict: a lost update alone is none.
func (r *record) tookStale(t *story) bool {
	return slices.ContainsFunc(t.stale, func(o *op) bool { return r.stale[o.id] })
}

// overwrote tells whether a stale write of the earlier holder replaced one of the later. (The other way round the later one overwrote what it had
// not seen, which is a lost update too.)
func (r *record) overwrote(t *story) bool {
	return slices.ContainsFunc(t.stale, func(o *op) bool {
		replaced := r.replacedBy(o)
		return replaced != nil && replaced.client == t.b.client
	})
}

// fallen says what the stale write did to the counter, where that is known.
func (r *record) fallen(t *story) string {
	for _, o := range t.stale {
		if text := r.fall(o, r.replacedBy(o)); text != "" && r.stale[o.id] {
			return ": " + text
		}
	}
	return ""
}

// gaveAway says whom the service gave the key to while its holder was disturbed.
func (r *record) gaveAway(t *story) string {
	n := 0
	for _, g := range r.grants {
		if g.key == t.a.key && g.end > t.a.end && g.end < t.b.end {
			n++
		}
	}
	if n == 0 {
		return fmt.Sprintf("The lock service gave %s to %s. ", t.key, r.client(t.b.client))
	}
	return fmt.Sprintf("The lock service gave %s away, and at last, after %s, to %s. ", t.key, plural(n, "other grant"), r.client(t.b.client))
}

// ofLease compares a disturbance with the lock's TTL.
func (r *record) ofLease(d int64) string {
	ttl := r.h.Header.TTL
	if ttl <= 0 || d <= ttl {
		return ""
	}
	what := "lease"
	if r.h.Header.Claims.Validity == "session" {
		what = "session's TTL"
	}
	return fmt.Sprintf(", %.1f times its %s of %s", float64(d)/float64(ttl), what, span(ttl))
}

// metaLine is the line of facts under the lede.
func metaLine(hist *history.History) []string {
	h := hist.Header
	out := []string{"lock " + clip(h.Lock, clipName)}
	if h.TTL > 0 {
		out = append(out, "TTL "+span(h.TTL))
	}
	kind := "unfenced"
	switch {
	case h.Store.Guarded:
		kind = "each write guarded by the lock's key"
	case h.Store.AcceptsEqual:
		kind = "with a fence that accepts an equal token of another grant"
	case h.Store.Fenced && h.Store.FenceReads:
		kind = "fenced"
	case h.Store.Fenced:
		kind = "fenced on writes only"
	}
	store := "store " + clip(h.Store.Engine, clipName) + ", " + kind
	if h.Translated {
		store = "store: what the log tells of it" // whether it has a fence is its owner's business
	}
	out = append(out, store)
	if h.Workload != "" {
		w := "workload " + clip(h.Workload, clipName)
		if h.Guard == "check" {
			w += ", asks the lock before each write"
		}
		out = append(out, w)
	}
	out = append(out, plural(h.Clients, "client"), plural(len(hist.Keys), "key"))
	if h.Duration > 0 {
		out = append(out, span(h.Duration))
	}
	return append(out, fmt.Sprintf("seed %d", h.Seed))
}
