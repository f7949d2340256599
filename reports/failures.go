package reports

import (
	"strings"

	"github.com/lockchaos/lockchaos/internal/lazyregexp"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Scenarios that came to nothing, put together by their cause.

// refusals are the words with which a system refuses what a run needs, and what to do about them.
var refusals = []struct {
	words lazyregexp.Regexp
	do    string
}{
	{lazyregexp.New(`permission denied|operation not permitted|operation not supported|function not implemented|protocol not supported|no such device`),
		"lockchaos doctor tries what runs need on this machine, and says what to change."},
	{lazyregexp.New(`no space left on device|disk quota exceeded`),
		"Make room on that disk, or give another folder (--out)."},
	{lazyregexp.New(`too many open files|cannot allocate memory|resource temporarily unavailable`),
		"Run fewer scenarios at once (--parallel 1), or raise the limit (ulimit -n, ulimit -u, memory)."},
}

// cause is why a scenario failed, the reason first, and what to do about it; "" where that is not
// known. "close the filter of host a: open FILE: permission denied" says first what was being done,
// which differs from scenario to scenario; the reason begins with the system call that was refused.
func cause(failed string) (why, do string) {
	why = phrase.FirstLine(failed)
	for _, r := range refusals {
		at := r.words().FindStringIndex(why)
		if at == nil {
			continue
		}
		from := 0
		if before := strings.Split(why[:at[0]], ": "); len(before) > 2 { // …, "open FILE", ""
			from = len(strings.Join(before[:len(before)-2], ": ")) + len(": ")
		}
		return why[from:], r.do
	}
	return why, ""
}

// numbers tell hosts, processes and ports apart, and not causes.
var numbers = lazyregexp.New(`[0-9]+`)

// reason is the same for all scenarios that came to nothing for one cause.
func reason(x Scenario) string {
	switch {
	case x.Failed != "":
		why, _ := cause(x.Failed)
		return "failed " + numbers().ReplaceAllString(why, "#")
	case x.Skipped != "":
		return "skipped " + x.Skipped
	}
	return "open " + strings.Join(x.Verdict.Reasons, " ")
}

// FailedByCause returns the scenarios that failed, those of one cause together,
// in the order of the suite.
func (s Suite) FailedByCause() (groups [][]Scenario) {
	return gather(s.Scenarios, func(x Scenario) bool { return x.Failed != "" })
}

// gather returns the scenarios that are wanted, those of one cause together.
func gather(all []Scenario, wanted func(Scenario) bool) (groups [][]Scenario) {
	at := map[string]int{}
	for _, x := range all {
		if !wanted(x) {
			continue
		}
		key := reason(x)
		i, known := at[key]
		if !known {
			i = len(groups)
			at[key], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], x)
	}
	return groups
}
