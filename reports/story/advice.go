package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Advice says what to do about a verdict, or how far it reaches. It follows
// from the pattern, the verdict, the lock's claims and the store. Without a
// header (nothing was recorded) only what needs none is said.
func Advice(s reports.Scenario, h *history.Header, t *Story) []Remedy {
	var told *checker.Violation
	if t != nil {
		told = t.Violation
	}
	switch result := s.Result(); {
	case result == reports.Failed:
		out := failedAdvice(s)
		if s.ViolatedThough() {
			recorded := s
			recorded.Failed = "" // what to do about it follows from what was recorded
			out = append(out, Advice(recorded, h, t)...)
		}
		return unfold(out)
	case result == reports.Skipped:
		return unfold(skippedAdvice(s))
	case result == reports.Inconclusive:
		return unfold(inconclusiveAdvice(s, h))
	case h == nil:
		return unfold(causes(s, told))
	case result == reports.Corrupted:
		return unfold(append(corruptedAdvice(s, h, told), lacks(s, h)...))
	case result == reports.Contained:
		return unfold(slices.Concat(containedAdvice(s, h), causes(s, told), lacks(s, h)))
	case result == reports.Pass:
		return unfold(passAdvice(s, h))
	}
	return unfold(append(violatedAdvice(s, h, told), lacks(s, h)...))
}

func corruptedAdvice(s reports.Scenario, h *history.Header, told *checker.Violation) []Remedy {
	out := causes(s, told)
	if unlocked(h) {
		return append(out, do("Let the store decide in one step.",
			"A write on condition of the version that was read, or one that the store computes itself, loses no update, "+
				"with or without a lock.", "no-lock"))
	}
	out = append(out, fenceRemedy(s, h))
	switch {
	case h.Guard == "check":
		out = append(out, do("Checking first does not close the gap.",
			"This application asked the lock before each write. The freeze came between the answer and the write.",
			"check-before-the-write"))
	case told != nil && told.Kind == checker.KindLeaseOverrun:
		out = append(out, do("Do not rely on a check before the write.",
			"It narrows the gap but cannot close it: a freeze fits between the check and the write. A longer lease makes "+
				"this rarer, and every recovery slower.", "check-before-the-write"))
	}
	if told != nil && told.Property == checker.MutualExclusion && !expiresOnly(s) {
		out = append(out, do("Look at other locks.",
			"Under this fault another one may keep its promise: consensus services stand crashes, partitions and clocks that jump. "+
				"None stops a frozen client.", "another-lock"))
	}
	return append(out, do("Perhaps no lock is needed.",
		"The work may be repeated without harm, or the store can update on condition of the version that was read. Then the lock only saves "+
			"work, and two holders do no damage.", "no-lock"))
}

// fenceRemedy says what the store and the lock lack to refuse what comes too late.
func fenceRemedy(s reports.Scenario, h *history.Header) Remedy {
	switch {
	case h.Store.Fenced && !h.Store.FenceReads:
		return do("Let reads raise the fence too.",
			"This store checks tokens on writes only. It still takes a stale read-modify-write that arrives before the newer holder's first write.",
			"reads-and-the-fence")
	case h.Store.Fenced:
		return do("Look at the tokens.",
			"The store checks them, and still took a stale write. Either a later grant carried a smaller token, or the fence has a hole.", "fencing-tokens")
	case h.Claims.Token == "fencing":
		return sameRun(do("Let the store check the fencing token.",
			"This lock gives every grant a number that only rises, and the writes carry it; this store does not look at it. "+
				"It should remember the greatest that it has seen, and refuse smaller ones", "fencing-tokens"), s)
	}
	return do("Use a lock that issues a fencing token, and a store that checks it.",
		"This lock's grants cannot be told apart by age, so no store could know that a write is stale.",
		"fencing-tokens")
}

// sameRun ends a remedy with the same scenario on the other kind of store.
func sameRun(r Remedy, s reports.Scenario) Remedy {
	if s.Twin == nil {
		r.Text = r.Text.t(".")
		return r
	}
	r.Text = r.Text.t(fmt.Sprintf(". The same scenario on the %s store: ",
		s.Twin.Store)).b(s.Twin.Result.String()).t(".")
	return r
}

func containedAdvice(s reports.Scenario, h *history.Header) []Remedy {
	out := []Remedy{
		do("Handle refusals.", "A client whose write is refused has lost the lock. It must drop what it computed, acquire again and start over from a fresh read. "+
			"A fence does not undo effects outside the store (a mail, a payment).", "refused-writes"),
		sameRun(do("Keep the fence: it saved the data, not the lock.",
			"Two clients did act as holders. The store compared the token of every request with the greatest that it had seen, and refused "+
				phrase.Plural(s.Verdict.Stats.Refused, "late write"), "fencing-tokens"), s),
	}
	if h.Store.FenceReads {
		out = append(out, do("Keep reads fenced.",
			"Here a read raises the fence as a write does. A store that fences only writes still loses updates: a stale write can overtake the "+
				"newer holder's first one.", "reads-and-the-fence"))
	}
	return out
}

func passAdvice(s reports.Scenario, h *history.Header) []Remedy {
	st := s.Verdict.Stats
	both := "two clients"
	if h.Claims.ReadWrite {
		both = "a writer and another client"
	}
	shows := fmt.Sprintf("%s by %s were recorded, %s of them handed over under contention. In no instant did %s act as holders of one key. Every accepted write was "+
		"based on the version before it.", phrase.Plural(st.Grants, "grant"), phrase.Plural(h.Clients, "client"),
		phrase.Grouped(st.Handovers), both)
	if lost := s.Property(checker.LostUpdate); !excluded(s) || lost == nil || lost.Outcome != checker.Pass {
		shows = fmt.Sprintf("In %s no judged property was violated.", phrase.Plural(st.Grants, "grant"))
	}
	not := "A test finds violations, it cannot prove that there are none. Other faults, other moments and longer runs may still find one. The lock's defences against them were not touched here."
	if reports.Bites(st.Faults) == 0 {
		not = "No fault was injected. Distributed locks break when something else breaks: a holder is frozen, a clock jumps, a network splits, a node dies. A lock that passes undisturbed can " +
			"fall at the first of them. This run is the control: it shows that the harness, the lock and the store work."
	}
	return []Remedy{do("What this pass shows.", shows, ""), do("What it does not.", not, "evidence-not-proof")}
}

func violatedAdvice(s reports.Scenario, h *history.Header, told *checker.Violation) []Remedy {
	out := causes(s, told)
	if !s.Violated(checker.MutualExclusion) {
		return out
	}
	text := "Two clients acted as holders, and no stale write happened to reach the store in this run."
	if !h.Store.Fenced {
		text += " Nothing would have refused it."
	}
	return append(out, do("Do not count on luck.", text, "fencing-tokens"))
}

// inconclusiveAdvice follows from what the run was short of.
func inconclusiveAdvice(s reports.Scenario, h *history.Header) []Remedy {
	out := lacks(s, h)
	switch {
	case len(out) > 0:
	case h != nil && h.Translated:
		out = append(out, do("Read the lines that the reason names.",
			"A log leaves open what nobody wrote down, such as whether a client still worked when it gave its lock back. "+
				"If a time to live, another column or the log of another service can tell, judge it again with that: the assumptions name the flags.",
			inconclusivePlace))
	default:
		out = append(out, do("Give the run what it lacked.",
			"The reason above says what was missing. Where it speaks of acts or events that make no sense, check the adapter, or the columns that a log was "+
				"read by. Where it speaks of a property, that property needs a workload or a lock that shows it.",
			inconclusivePlace))
	}
	return append(out, do("Do not count it as a pass.",
		"The history is kept. It can be judged again, and read by eye, without another run.", ""))
}

const inconclusivePlace = "an-inconclusive-run"

// lacks says how to get what the run was short of, as far as its figures tell.
func lacks(s reports.Scenario, h *history.Header) []Remedy {
	var out []Remedy
	st := s.Verdict.Stats
	if s.Verdict.Truncated {
		out = append(out, do("Let the run come to its end.",
			"The history was cut: the run was stopped, or there was no room for it. What it shows until then stays valid.", inconclusivePlace))
	}
	if slices.ContainsFunc(st.Faults, func(f checker.FaultStats) bool { return f.Injected && f.Bit < f.Begun }) {
		out = append(out, do("Find out why the fault had no effect.",
			"\"Did the faults take effect?\" below says which one, and what was measured. `lockchaos doctor` says which faults this machine can inject.",
			inconclusivePlace))
	}
	if h != nil && short(st, h.Needs) > 0 {
		out = append(out, longer(short(st, h.Needs), h))
	}
	return out
}

// short is how many times as much a run needed of what it had least of; 0 where it had enough.
func short(st checker.Stats, n history.Needs) float64 {
	times := 0.0
	for _, x := range [...]struct {
		got  int64
		need int
	}{{st.Grants, n.Grants}, {st.Handovers, n.Handovers}, {int64(st.Bites), n.Bites}} {
		if x.got < int64(x.need) {
			times = max(times, float64(x.need)/float64(max(x.got, 1)))
		}
	}
	return times
}

// longer says for how long a run should last that had too little of something, with some air.
func longer(times float64, h *history.Header) Remedy {
	r := do("Let it run longer.", "The table \"Was it enough to judge?\" below says what there was too little of.",
		inconclusivePlace)
	if h.Duration > 0 {
		seconds := int64(1.5*times*float64(h.Duration)/1e9) + 1
		r.Text = r.Text.t(" At this pace about ").code(fmt.Sprintf("--duration %ds",
			seconds)).t(fmt.Sprintf(" is enough; this run had %s.", phrase.Span(h.Duration)))
	}
	r.Text = r.Text.t(" More clients, or a less busy machine, help too.")
	return r
}

// failedAdvice repeats what the failure itself says is next, and says where to look.
func failedAdvice(s reports.Scenario) []Remedy {
	const place = "a-run-that-failed"
	var out []Remedy
	for _, line := range strings.Split(s.Failed, "\n") {
		if next, ok := strings.CutPrefix(strings.TrimSpace(line), "next: "); ok {
			out = append(out, Remedy{Lead: "Next:", Text: Prose{}.code(phrase.Clip(next, phrase.MostText)),
				Place: place})
		}
	}
	if reports.AdapterError().MatchString(s.Failed) {
		return append(out, do("Try the adapter alone.",
			"`lockchaos adapter test` asks it everything that a run asks, and says which answer is wrong. Its own log lies in `logs/`.", place))
	}
	return append(out, do("Repair what failed, and run it again.",
		"The harness or a service failed, and not the lock. The logs of services and clients lie in `logs/`. `lockchaos doctor` says what this "+
			"machine can run, and how to get the rest.", place))
}

func skippedAdvice(s reports.Scenario) []Remedy {
	text := "`lockchaos doctor` lists what this machine lacks, and how to get it."
	if s.Demanded {
		text += " A policy asks for this scenario, so it stays open until it has run."
	}
	return []Remedy{do("Get what is missing, or run it elsewhere.", text, "a-skipped-scenario")}
}

// expiresOnly reports whether all double-holds came about by a client that was
// stopped past its lease, which no other lock would have prevented.
func expiresOnly(s reports.Scenario) bool {
	p := s.Property(checker.MutualExclusion)
	if p == nil {
		return true
	}
	for i := range p.Violations {
		if p.Violations[i].Kind != checker.KindLeaseOverrun {
			return false
		}
	}
	return true
}

// excluded reports whether it was judged, and found, that clients exclude each other.
func excluded(s reports.Scenario) bool {
	p := s.Property(checker.MutualExclusion)
	return p != nil && p.Outcome == checker.Pass
}
