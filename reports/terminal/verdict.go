package terminal

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/story"
)

// shownViolations is how many violations of a property Verdict writes, shownSteps how many steps of
// each.
const (
	shownViolations = 3
	shownSteps      = 8
)

// Step is one line of a log of another tool, in words.
type Step struct {
	Line   int
	At     int64 // ns since the history's origin, where it is Timed
	Timed  bool
	Client string
	What   string
}

// verdict is a history that was judged by itself.
type verdict struct {
	reports.Scenario
	header *history.Header
	steps  func(op int64) []Step
}

// Verdict writes what was found in a history that was judged by itself, which lies in
// the file: of a log how it was read (s.Notes), for the rest holds only if that is
// right; then the violations, how much there was to judge, what each property came
// to, and what was not judged. steps are the lines of the log that an op stands on.
func Verdict(w io.Writer, file string, s reports.Scenario, steps func(op int64) []Step) {
	h := s.Header()
	s.Verdict = reports.Relabeled(h, s.Verdict)
	v := verdict{s, h, steps}
	harmless.Fprintf(w, "%s\n%s: %s", inLine(file), inLine(h.Scenario), s.Verdict.Outcome)
	if x := s.Verdict.Severity; x != checker.SeverityNone && (x != checker.Untested || v.knowsWrites()) {
		harmless.Fprintf(w, ", %s", x)
	}
	if s.Verdict.Truncated {
		io.WriteString(w, " (truncated history)")
	}
	harmless.Fprintf(w, "\n")
	for _, text := range h.StandIns {
		harmless.Fprintf(w, "  STAND-IN: %s\n", inLine(text))
	}
	for _, line := range s.Notes {
		harmless.Fprintf(w, "  %s\n", inLine(line))
	}
	v.findings(w)
	for _, reason := range s.Verdict.Reasons {
		harmless.Fprintf(w, "  ? %s\n", inLine(reason))
	}
	for _, line := range story.PatternLines(s.Verdict) {
		harmless.Fprintf(w, "  %s\n", line)
	}
	v.amount(w)
	v.properties(w)
	if s.Lines == nil {
		return
	}
	if !h.Started.IsZero() {
		harmless.Fprintf(w, "  the log begins at %s\n", h.Started.Round(time.Microsecond).Format(time.RFC3339Nano))
	}
}

// inLine makes a text of others fit for a place in a line: it begins no line of its own.
func inLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// findings writes the violations, certain defects first, each with its steps where it is of a log.
func (v *verdict) findings(w io.Writer) {
	for _, p := range v.Verdict.InOrderOfBlame() {
		told := slices.Clone(p.Violations)
		slices.SortStableFunc(told, func(a, b checker.Violation) int { return int(a.Blame()) - int(b.Blame()) })
		for i := range told[:min(len(told), shownViolations)] {
			x := &told[i]
			harmless.Fprintf(w, "  ! %s%s\n", inLine(x.Text), v.onLines(x.Ops))
			v.printSteps(w, x)
		}
		if more := p.Count - shownViolations; more > 0 {
			harmless.Fprintf(w, "    … and %d more of %s\n", more, p.Name)
		}
	}
}

// printSteps writes the lines of a log that show a violation.
func (v *verdict) printSteps(w io.Writer, x *checker.Violation) {
	if v.Lines == nil {
		return
	}
	var steps []Step
	// what was read before what is known from it
	for _, op := range slices.Sorted(slices.Values(x.Ops)) {
		steps = append(steps, v.steps(op)...)
	}
	slices.SortStableFunc(steps, func(a, b Step) int { return a.Line - b.Line })
	steps = slices.CompactFunc(steps, func(a, b Step) bool { return a.Line == b.Line })
	table := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	for i, s := range steps {
		if i == shownSteps {
			harmless.Fprintf(table, "      … and %d more lines\n", len(steps)-shownSteps)
			break
		}
		when := ""
		if s.Timed {
			when = reports.Instant(v.header, s.At)
		}
		harmless.Fprintf(table, "      line %d\t%s\t%s\t%s\n", s.Line, when, inLine(s.Client), inLine(s.What))
	}
	table.Flush()
}

// onLines names the lines of a log that prove a violation.
func (v *verdict) onLines(ops []int64) string {
	if v.Lines == nil {
		return ""
	}
	var lines []int
	for _, op := range ops {
		if first, last := v.Lines(op); first > 0 {
			lines = append(lines, first, last)
		}
	}
	slices.Sort(lines)
	var numbers []string
	for _, n := range slices.Compact(lines) {
		numbers = append(numbers, strconv.Itoa(n))
	}
	if len(numbers) == 0 {
		return ""
	}
	return fmt.Sprintf(" (lines %s)", strings.Join(numbers, ", "))
}

// amount writes how much there was to judge.
func (v *verdict) amount(w io.Writer) {
	st := v.Verdict.Stats
	harmless.Fprintf(w, "  %d grants, %d contended hand-overs", st.Grants, st.Handovers)
	if v.knowsWrites() {
		harmless.Fprintf(w, "; writes: %d accepted, %d of them stale, %d refused", st.Accepted, st.Stale, st.Refused)
	}
	harmless.Fprintln(w)
	if text := story.Exclusive(v.Verdict, v.header); text != "" {
		harmless.Fprintf(w, "  %s\n", text)
	}
	printTimings(w, st)
}

// knowsWrites reports whether the history says what reached the store.
func (v *verdict) knowsWrites() bool { return v.header.Untold[history.FactWrites] == "" }

// properties writes what the properties came to, those that were not judged behind the others.
func (v *verdict) properties(w io.Writer) {
	var lines strings.Builder
	table := tabwriter.NewWriter(&lines, 2, 0, 2, ' ', 0)
	for _, judged := range []bool{true, false} {
		for _, p := range v.Verdict.Properties {
			if judged == (p.Outcome == checker.NotJudged) {
				continue
			}
			harmless.Fprintf(table, "  %s\t%s\t", p.Name, p.Outcome)
			if p.Count > 0 {
				least := ""
				if p.Count > len(p.Violations) {
					least = "at least "
				}
				harmless.Fprintf(table, "%s%d×", least, p.Causes(nil))
			}
			harmless.Fprintf(table, "\t%s\n", inLine(p.Why))
		}
	}
	table.Flush()
	for line := range strings.Lines(lines.String()) {
		harmless.Fprintln(w, strings.TrimRight(line, " \n"))
	}
}

// printTimings writes what took how long.
func printTimings(w io.Writer, st checker.Stats) {
	rows := story.TimingRows(st)
	if len(rows) == 0 {
		return
	}
	table := tabwriter.NewWriter(w, 2, 0, 2, ' ', tabwriter.AlignRight)
	io.WriteString(table, "\tcount\tp50\tp95\tp99\tlongest\t\n")
	for _, r := range rows {
		harmless.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t\n", r.What, r.Count, r.P50, r.P95, r.P99, r.Max)
	}
	table.Flush()
}
