package story

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// The most of a reason that a headline has room for.
const headlineText = 200

// Headline says in a sentence what came out.
func Headline(s reports.Scenario, t *Story) Prose {
	switch s.Result() {
	case reports.Failed:
		return Prose{}.t("The scenario did not run to its end: " +
			phrase.Clip(phrase.FirstLine(s.Failed), headlineText))
	case reports.Skipped:
		return Prose{}.t("Not run: " + phrase.Clip(phrase.FirstLine(s.Skipped), headlineText))
	case reports.Inconclusive:
		what := "run"
		if s.History != nil && s.History.Header.Translated {
			what = "log"
		}
		return Prose{}.t("This " + what + " proves nothing either way")
	case reports.Pass:
		return passHeadline(s)
	}
	return violatedHeadline(s, t)
}

// violatedHeadline tells of the defects first, then of two holders and what they did to the data,
// then of anything else.
func violatedHeadline(s reports.Scenario, t *Story) Prose {
	violated, two := s.Result() == reports.Violated, s.Count(checker.MutualExclusion) > 0
	if all := s.Defects(); len(all) > 0 && (two || s.Result() == reports.Corrupted) {
		p := Prose{}.t(tellDefects(all) + besideDefects(s))
		if violated {
			return p
		}
		return p.t("; " + harmWords(s))
	}
	switch {
	case !violated && (two || s.Result() == reports.Contained):
		return doubleHoldHeadline(s, t).t(", and " + harmWords(s))
	case !violated:
		return Prose{}.t(strings.TrimSuffix(phrase.Sentence(harmWords(s)), "."))
	case two:
		return doubleHoldHeadline(s, t).t(withoutHarm(s))
	case t != nil && noOverlapHeadline(s, t.Violation) != "":
		return Prose{}.t(noOverlapHeadline(s, t.Violation))
	case t != nil && t.Violation.Text != "":
		return Prose{}.t(strings.TrimSuffix(phrase.Sentence(phrase.Clip(t.Violation.Text, 240)), "."))
	}
	return Prose{}.t(phrase.Sentence(phrase.List(s.ViolatedNames()) + " violated"))
}

// withoutHarm ends the headline of double-holds without a stale write, saying
// only what the verdict says.
func withoutHarm(s reports.Scenario) string {
	if s.History != nil && s.History.Header.Claims.Permits > 1 {
		return ", so that more than " + phrase.Grouped(s.History.Header.Claims.Permits) + " held it at once"
	}
	if s.Verdict.Severity == checker.Untested && knowsWrites(s) {
		return "; nothing stale reached the store"
	}
	var rest []string
	for _, name := range s.ViolatedNames() {
		if name != checker.MutualExclusion {
			rest = append(rest, name)
		}
	}
	if len(rest) > 0 {
		return "; " + phrase.List(rest) + " violated too"
	}
	return ""
}

// knowsWrites reports whether the history says what reached the store: a log
// without writes does not.
func knowsWrites(s reports.Scenario) bool {
	return s.History == nil || s.History.Header.Untold[history.FactWrites] == ""
}

// staleWrites counts the stale writes that the store took. Only a store that
// checks tokens could have refused them.
func staleWrites(s reports.Scenario) string {
	out := phrase.Plural(s.Verdict.Stats.Stale, "stale write")
	if s.History == nil || !s.History.Header.Store.Fenced || s.History.Header.Claims.Token != "fencing" {
		return out
	}
	return out + " that it should have refused"
}

// doubleHoldHeadline begins a headline about double-holds that are no certain defect: with its
// length when there was one, with the number of holders that went on past their lease
// where that is what they are, else with how many had a later holder beside them.
func doubleHoldHeadline(s reports.Scenario, t *Story) Prose {
	p := Prose{}.t("Two clients held ")
	key := ""
	if manyKeys(s) {
		t = nil
	}
	if t != nil {
		key = t.Key
		if t.Violation.Property == checker.MutualExclusion && !reports.BothActed(t.Violation) {
			p = Prose{}.t("Two clients were given ")
		}
	}
	if t != nil && s.Count(checker.MutualExclusion) == 1 {
		if from, to, ok := reports.Overlap(t.Violation); ok {
			return p.code(key).t(" for " + phrase.Span(to-from))
		}
	}
	if s.Overran() {
		return overrunHeld(s.Overruns(), key)
	}
	if key == "" {
		p = p.t("the same key")
	} else {
		p = p.code(key)
	}
	return p.t(" at once, " + s.Causes(checker.MutualExclusion).Times())
}

// overrunHeld begins a headline about holders that went on past their lease;
// without a key they are of several.
func overrunHeld(over reports.Amount, key string) Prose {
	number, their := phrase.Plural(over.N, "holder"), "their"
	switch {
	case over.Least:
		number = "At least " + number
	case over.N == 1:
		number, their = "A holder", "its"
	}
	p := Prose{}.t(number)
	if key != "" {
		p = p.t(" of ").code(key)
	}
	return p.t(" went on past " + their + " lease")
}

// manyKeys reports whether the double-holds kept are of more than one key.
func manyKeys(s reports.Scenario) bool {
	p := s.Property(checker.MutualExclusion)
	return p != nil && slices.ContainsFunc(p.Violations,
		func(v checker.Violation) bool { return v.Key != p.Violations[0].Key })
}

func passHeadline(s reports.Scenario) Prose {
	st := s.Verdict.Stats
	p := Prose{}.t("Never two holders in " + phrase.Plural(st.Grants, "grant"))
	switch {
	case s.History != nil && s.History.Header.Claims.Job != "":
		p = Prose{}.t("The scheduler kept what it claims in " + phrase.Plural(st.Grants, "execution"))
	case s.History != nil && unlocked(&s.History.Header):
		p = Prose{}.t("No lock, and no update lost in " + phrase.Plural(st.Accepted, "accepted write"))
	case s.History != nil && s.History.Header.Claims.ReadWrite:
		p = Prose{}.t("Never a writer beside another holder in " + phrase.Plural(st.Grants, "grant"))
	case s.History != nil && s.History.Header.Claims.Permits > 1:
		p = Prose{}.t("Never more than " + phrase.Plural(s.History.Header.Claims.Permits, "holder") + " in " +
			phrase.Plural(st.Grants, "grant"))
	}
	if c := s.Noted().Counters; len(c) > 0 {
		p = p.t(", and " + reports.Damage(c))
		if n := reports.Bites(st.Faults); n > 0 {
			p = p.t(", though " + phrase.Plural(n, "injected fault") + " took effect")
		}
		return p
	}
	if n := reports.Bites(st.Faults); n > 0 {
		return p.t(", though " + phrase.Plural(n, "injected fault") + " took effect")
	}
	if st.Handovers > 0 {
		return p.t(" and " + phrase.Plural(st.Handovers, "contended hand-over"))
	}
	return p
}

// toldLede tells who did what and why, what it did to the data, and whether it was expected.
func toldLede(r *reports.Record, s reports.Scenario, t *Story) (p Prose, why string) {
	told := tellPair(r, t)
	var more Prose
	room := ledeSentences - told.sentences()
	if s.Unexpected() {
		room--
	}
	// the tiles have it too
	if c := s.Noted().Counters; len(c) > 0 && s.Result() == reports.Corrupted && room > 0 {
		more = Prose{}.t(" ").b(phrase.Sentence(reports.Damage(c)))
	}
	return expected(told, more, s)
}

// tellPair tells who did what and why; nil where there is no story.
func tellPair(r *reports.Record, t *Story) Prose {
	switch {
	case t == nil:
		return nil
	case t.A != nil && t.B != nil && pairwise(t.Violation.Property) && !t.Violation.Unordered:
		return pairLede(r, t)
	case t.Violation.Text != "":
		return Prose{}.t(phrase.Sentence(phrase.Clip(t.Violation.Text, phrase.MostText)))
	}
	return nil
}

// pairwise reports whether a violation of the property is told best by what two
// holders did to each other.
func pairwise(property string) bool {
	return property == checker.MutualExclusion || property == checker.UnfencedWrite || property == checker.LostUpdate
}

// had says what the earlier client did with the key during a fault: one that
// was over before the grant met a waiter.
func (t *Story) had(f *history.FaultSpan) string {
	if f.To <= t.A.End {
		return "waited for"
	}
	return "held"
}

// pairLede tells of two clients' grants.
func pairLede(r *reports.Record, t *Story) Prose {
	a, b := r.Subject(t.A.Client), r.Client(t.B.Client)
	var p Prose
	switch f := t.Fault; {
	case t.Violation.Kind == "in-flight" && len(t.Stale) > 0 && t.Stale[0].Late():
		p = p.t(fmt.Sprintf("%s sent a write as the holder of %s; it was %s under way and arrived when %s had been granted the lock. ", a, t.Key,
			phrase.Span(t.Stale[0].Decided-t.Stale[0].Start), b))
	case t.Violation.Kind == checker.KindReleasedBeforeCommit:
		p = p.t(fmt.Sprintf("%s released %s before its transaction was committed. %s was granted it, and read what was there before. ",
			a, t.Key, r.Subject(t.B.Client)))
	case t.Violation.Kind == checker.KindSameIdentity, t.Violation.Kind == checker.KindConfiguredIdentity,
		t.Violation.Kind == "granted-while-valid":
		p = p.t(fmt.Sprintf("%s was granted %s while the lock still promised it to %s%s. ", r.Subject(t.B.Client),
			t.Key, r.Client(t.A.Client), keyGivenAway(r, t.Violation.Pattern)))
	case t.Violation.Pattern == checker.PatternStoreAway:
		p = p.t(fmt.Sprintf("%s waited for the store while it held %s, and acted again only at %s, when its lease was over. ", a, t.Key, r.At(t.ActsAgain())))
		return aftermath(r, p.t(gaveAway(r, t)).t(a+" went on as if it still held the lock"), t)
	case t.Violation.Pattern == checker.PatternWorkedPast:
		p = p.t(fmt.Sprintf("%s held %s for longer than its lease%s, and no fault is to blame for that. ", a, t.Key,
			ofTTL(r)))
		return aftermath(r, p.t(gaveAway(r, t)).t(a+" went on as if it still held the lock"), t)
	case f != nil && f.Disturbs(t.A.Client):
		if f.Sudden() {
			p = p.t(fmt.Sprintf("%s was %s while it %s %s. ", a, Did(f), t.had(f), t.Key))
		} else {
			p = p.t(fmt.Sprintf("%s was %s for %s while it %s %s%s. ", a, Did(f), phrase.Span(f.To-f.From), t.had(f),
				t.Key,
				ofLease(r, f.To-f.From)))
		}
		p = p.t(gaveAway(r, t))
		if t.A.LastAct > f.To {
			p = p.t(a + " went on as if it still held the lock")
			return aftermath(r, p, t)
		}
	default:
		p = p.t(fmt.Sprintf("%s held %s under %s while %s held it under %s. ", a, t.Key,
			reports.NameOf(t.A), b,
			reports.NameOf(t.B)))
	}
	switch {
	case tookStale(r, t):
		p = p.t("The store took the stale write.")
	case len(t.Stale) > 0:
		p = p.t("An update was lost.")
	case len(t.Refused) > 0:
		p = p.t("The store refused the stale write.")
	}
	return p
}

// keyGivenAway goes on after the sentence that a key was granted inside a
// promise. A log of others says nothing about its lock service.
func keyGivenAway(r *reports.Record, pattern string) string {
	if pattern == checker.PatternGrantedTwice && reports.OfOthers(&r.History.Header) {
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
	checker.PatternSameIdentity: ": the lock took clients of one identity for one",
}

// ActsAgain is when the earlier holder first acted beside the later one.
func (t *Story) ActsAgain() int64 {
	for _, o := range t.A.Ops {
		if o.Start > t.B.End && o.Kind != history.Release {
			return o.Start
		}
	}
	return t.A.LastAct
}

// ofTTL is the lock's TTL in words; empty where it is not told.
func ofTTL(r *reports.Record) string {
	if r.History.Header.TTL <= 0 {
		return ""
	}
	return " of " + phrase.Span(r.History.Header.TTL)
}

// aftermath says what the client did once it went on.
func aftermath(r *reports.Record, p Prose, t *Story) Prose {
	switch {
	case len(t.Stale) > 0 && t.lostUpdate && overwrote(r, t):
		return p.t(", and overwrote the work of " + r.Client(t.B.Client) + counterLoss(r, t) + ".")
	case tookStale(r, t):
		return p.t(", and the store took its stale write" + counterLoss(r, t) + ".")
	case len(t.Stale) > 0:
		return p.t(", and an update was lost.")
	case len(t.Refused) > 0 && r.FenceBefore(t.Refused[0]) != nil:
		top := r.FenceBefore(t.Refused[0])
		return p.t(fmt.Sprintf(", but the store had seen %s by then, and refused the write under %s.",
			reports.NameOf(top), reports.NameOf(t.A)))
	case len(t.Refused) > 0:
		return p.t(", but the store refused its write.")
	}
	return p.t(".")
}

// tookStale reports whether the store took a stale write, by the verdict: a lost
// update alone is none.
func tookStale(r *reports.Record, t *Story) bool {
	return slices.ContainsFunc(t.Stale, func(o *history.Op) bool { return r.Stale[o.ID] })
}

// overwrote reports whether a stale write of the earlier holder replaced one of the later. (The
// other way round the later one overwrote what it had not seen, which is a lost update too.)
func overwrote(r *reports.Record, t *Story) bool {
	return slices.ContainsFunc(t.Stale, func(o *history.Op) bool {
		replaced := r.ReplacedBy(o)
		return replaced != nil && replaced.Client == t.B.Client
	})
}

// counterLoss says what the stale write did to the counter, where that is known.
func counterLoss(r *reports.Record, t *Story) string {
	for _, o := range t.Stale {
		if text := r.Fall(o, r.ReplacedBy(o)); text != "" && r.Stale[o.ID] {
			return ": " + text
		}
	}
	return ""
}

// gaveAway says whom the service gave the key to while its holder was disturbed.
func gaveAway(r *reports.Record, t *Story) string {
	n := 0
	for _, g := range r.Grants {
		if g.Key == t.A.Key && g.End > t.A.End && g.End < t.B.End {
			n++
		}
	}
	if n == 0 {
		return fmt.Sprintf("The lock service gave %s to %s. ", t.Key, r.Client(t.B.Client))
	}
	return fmt.Sprintf("The lock service gave %s away, and at last, after %s, to %s. ", t.Key,
		phrase.Plural(n, "other grant"), r.Client(t.B.Client))
}

// ofLease compares a disturbance with the lock's TTL.
func ofLease(r *reports.Record, d int64) string {
	ttl := r.History.Header.TTL
	if ttl <= 0 || d <= ttl {
		return ""
	}
	what := "lease"
	if r.History.Header.Claims.Validity == "session" {
		what = "session's TTL"
	}
	return fmt.Sprintf(", %.1f times its %s of %s", float64(d)/float64(ttl), what, phrase.Span(ttl))
}

// MetaLine is the line of facts under the lede.
func MetaLine(hist *history.History) []string {
	h := hist.Header
	out := []string{"lock " + phrase.Clip(h.Lock, phrase.MostName)}
	if h.TTL > 0 {
		out = append(out, "TTL "+phrase.Span(h.TTL))
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
	store := "store " + phrase.Clip(h.Store.Engine, phrase.MostName) + ", " + kind
	if h.Translated {
		store = "store: what the log tells of it" // whether it has a fence is its owner's business
	}
	out = append(out, store)
	if h.Workload != "" {
		w := "workload " + phrase.Clip(h.Workload, phrase.MostName)
		if h.Guard == "check" {
			w += ", asks the lock before each write"
		}
		out = append(out, w)
	}
	out = append(out, phrase.Plural(h.Clients, "client"), phrase.Plural(len(hist.Keys), "key"))
	if n := len(hist.Events); h.Duration > 0 && n > 0 {
		lasted, planned := hist.Events[n-1].Time, phrase.Span(h.Duration)
		if lasted < h.Duration { // it had shown enough, or was cut
			planned = phrase.Span(int64(time.Duration(lasted).Round(100*time.Millisecond))) + " of " + planned
		}
		out = append(out, planned)
	}
	return append(out, fmt.Sprintf("seed %d", h.Seed))
}

// tellDefects tells all defects as the beginning of a headline: "2 defects: … and …".
func tellDefects(all []reports.Defect) string {
	var words []string
	for _, d := range all {
		words = append(words, d.String())
	}
	return phrase.Plural(len(all), "defect") + ": " + phrase.List(words)
}

// besideDefects tells what else there was of two holders, after the defects.
func besideDefects(s reports.Scenario) string {
	text := besideOverruns(s.Overruns())
	if n := s.OfKind(checker.KindUnexplained); n.N > 0 {
		text += "; and " + n.Of("double-hold") + " that the history does not explain"
	}
	return text
}

// besideOverruns tells of overruns after defects; "" where there are none.
func besideOverruns(over reports.Amount) string {
	if over.N == 0 {
		return ""
	}
	return "; and " + over.Of("overrun") + ", which no lease prevents"
}

// harmWords says what became of the data, in the words of a headline: what was
// corrupted, or what a fence refused.
func harmWords(s reports.Scenario) string {
	st, counters := s.Verdict.Stats, s.Noted().Counters
	switch {
	case s.Result() == reports.Contained && len(counters) > 0:
		return "the fence refused " + phrase.Plural(st.Refused, "stale write") + ": " + reports.Damage(counters)
	case s.Result() == reports.Contained:
		return "the fence refused " + phrase.Plural(st.Refused, "stale write") + ": the data is whole"
	case reports.TimesRepeated(s) != "":
		return reports.TimesRepeated(s)
	case st.Stale > 0:
		return "the store took " + staleWrites(s)
	case reports.LostIncrements(counters) > 0:
		return reports.Damage(counters)
	}
	return reports.Were(int64(s.Causes(checker.LostUpdate).N), "update") + " lost"
}

// noOverlapHeadline is the headline of a run in which nobody held a key at the same time as
// another, by the violation that is told.
func noOverlapHeadline(s reports.Scenario, v *checker.Violation) string {
	words := checker.Named(v.Property).Words
	if v.Kind == checker.KindEffectLost { // no tick was executed twice
		words.Once, words.More = "The effect of a tick never came", "Effects of ticks never came"
	}
	if s.Count(v.Property) == 1 {
		return words.Once
	}
	return words.More
}

// unlocked reports whether there is no lock: nothing claims that clients exclude each other.
func unlocked(h *history.Header) bool { return h != nil && h.Claims.Permits == 0 }
