package story

import (
	"fmt"
	"strconv"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// TimingRow is one line of the times that a run took, as text.
type TimingRow struct{ What, Means, Count, P50, P95, P99, Max string }

// timingWords say what the timings are.
var timingWords = map[string][2]string{
	checker.TimeWait:     {"acquire", "from the call to the grant, waiting for other holders included"},
	checker.TimeAttempt:  {"attempt that succeeded", "without the waiting before it"},
	checker.TimeHold:     {"hold", "from the grant to the last act under it"},
	checker.TimeRecovery: {"recovery after a holder's death", "until the key's next grant"},
	checker.TimeStop:     {"last effect after a loss", "from the loss of an execution of a job"},
	checker.TimeRenew:    {"renew", "from call to answer"},
	checker.TimeHeld:     {"held?", "from call to answer"},
	checker.TimeRelease:  {"release", "from call to answer"},
	checker.TimeRead:     {"read", "from call to answer"},
	checker.TimeWrite:    {"write", "from call to answer"},
}

// TimingRows lists what took how long.
func TimingRows(st checker.Stats) (rows []TimingRow) {
	for _, t := range st.Timings {
		words := timingWords[t.What]
		rows = append(rows, TimingRow{What: words[0], Means: words[1], Count: phrase.Grouped(t.Count),
			P50: phrase.Span(int64(t.P50)), P95: phrase.Span(int64(t.P95)), P99: phrase.Span(int64(t.P99)),
			Max: phrase.Span(int64(t.Max))})
	}
	return rows
}

// Contention says in a sentence how much clients competed; empty where there was no grant.
func Contention(st checker.Stats) string {
	if st.Grants == 0 {
		return ""
	}
	text := fmt.Sprintf("%s of %s went to a client that had waited for the holder before it",
		phrase.Grouped(st.Handovers), phrase.Plural(st.Grants, "grant"))
	if st.WaitersMax > 0 {
		text += fmt.Sprintf("; at most %s waited for a key at once", phrase.Plural(st.WaitersMax, "client"))
	}
	return text
}

// Exclusive says how many grants were not exclusive, and how much that is worth;
// empty where nothing was granted or no exclusion is claimed. Of a reader-writer
// lock a grant counts as exclusive beside none that it conflicts with.
func Exclusive(v checker.Verdict, h *history.Header) string {
	what := "exclusive"
	if h != nil && h.Claims.ReadWrite {
		what = "exclusive, as readers and writers are to be"
	}
	r := v.Stats.Overlapped
	if r.Of == 0 {
		return ""
	}
	for _, p := range v.Properties {
		if p.Name == checker.MutualExclusion && (p.Outcome == checker.NotJudged || p.Outcome == checker.Inconclusive &&
			r.Count == 0) {
			return ""
		}
	}
	if r.Count == 0 {
		return fmt.Sprintf("all %s were %s; with 95 %% confidence fewer than %s of such grants are not",
			phrase.Plural(r.Of, "grant"), what, fine(r.High))
	}
	return fmt.Sprintf("%s of %s were not %s: %s, with 95 %% confidence %s to %s", phrase.Grouped(r.Count),
		phrase.Plural(r.Of, "grant"), what,
		fine(float64(r.Count)/float64(r.Of)), fine(r.Low), fine(r.High))
}

// ExclusiveNote says what the confidence interval is, and is not.
const ExclusiveNote = "Wilson's score interval. It is about grants under the faults of this scenario, which are aimed at holders, and takes grants for independent. Do not expect this rate in production."

// fine writes a share with two digits that count, however small.
func fine(share float64) string {
	if share >= 0.095 {
		return strconv.FormatFloat(share*100, 'f', 0, 64) + " %"
	}
	return strconv.FormatFloat(share*100, 'g', 2, 64) + " %"
}
