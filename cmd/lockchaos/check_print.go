package main

import (
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lockchaos/lockchaos/audit"
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/story"
)

// shownViolations is how many violations of a property check prints, shownSteps how many steps of each.
const (
	shownViolations = 3
	shownSteps      = 8
)

// printVerdict prints what was found first: then how much there was to judge, what each property came to, what was not judged, and at last how the
// file was read.
func printVerdict(w io.Writer, file string, j *judgedFile) {
	h, v := &j.whole.Header, &j.verdict
	harmless.Fprintf(w, "%s\n%s: %s", inLine(file), inLine(h.Scenario), v.Outcome)
	if v.Severity != checker.SeverityNone && (v.Severity != checker.Untested || j.knowsWrites()) {
		harmless.Fprintf(w, ", %s", v.Severity)
	}
	if v.Truncated {
		io.WriteString(w, " (truncated history)")
	}
	harmless.Fprintf(w, "\n")
	for _, text := range h.StandIns {
		harmless.Fprintf(w, "  STAND-IN: %s\n", inLine(text))
	}
	j.printFindings(w)
	for _, reason := range v.Reasons {
		harmless.Fprintf(w, "  ? %s\n", inLine(reason))
	}
	for _, line := range story.PatternLines(*v) {
		harmless.Fprintf(w, "  %s\n", line)
	}
	j.printAmount(w)
	j.printProperties(w)
	j.printReading(w)
}

// printFindings prints the violations, certain defects first, each with its steps where it is of a log.
func (j *judgedFile) printFindings(w io.Writer) {
	for _, p := range j.verdict.InOrderOfBlame() {
		told := slices.Clone(p.Violations)
		slices.SortStableFunc(told, func(a, b checker.Violation) int { return int(a.Blame()) - int(b.Blame()) })
		for i := range told[:min(len(told), shownViolations)] {
			x := &told[i]
			harmless.Fprintf(w, "  ! %s%s\n", inLine(x.Text), j.onLines(x.Ops))
			j.printSteps(w, x)
		}
		if more := p.Count - shownViolations; more > 0 {
			harmless.Fprintf(w, "    … and %d more of %s\n", more, p.Name)
		}
	}
}

// printSteps prints the lines of a log that show a violation.
func (j *judgedFile) printSteps(w io.Writer, v *checker.Violation) {
	if j.source == nil {
		return
	}
	var steps []audit.Step
	for _, op := range slices.Sorted(slices.Values(v.Ops)) { // what was read before what is known from it
		steps = append(steps, j.source.Steps(op)...)
	}
	slices.SortStableFunc(steps, func(a, b audit.Step) int { return a.Line - b.Line })
	steps = slices.CompactFunc(steps, func(a, b audit.Step) bool { return a.Line == b.Line })
	table := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	for i, s := range steps {
		if i == shownSteps {
			harmless.Fprintf(table, "      … and %d more lines\n", len(steps)-shownSteps)
			break
		}
		when := ""
		if s.Timed {
			when = reports.Instant(&j.whole.Header, s.At)
		}
		harmless.Fprintf(table, "      line %d\t%s\t%s\t%s\n", s.Line, when, inLine(s.Client), inLine(s.What))
	}
	table.Flush()
}

// inLine makes a text of others fit for a place in a line: it begins no line of its own.
func inLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// printAmount prints how much there was to judge.
func (j *judgedFile) printAmount(w io.Writer) {
	st := j.verdict.Stats
	harmless.Fprintf(w, "  %d grants, %d contended hand-overs", st.Grants, st.Handovers)
	if j.knowsWrites() {
		harmless.Fprintf(w, "; writes: %d accepted, %d of them stale, %d refused", st.Accepted, st.Stale, st.Refused)
	}
	harmless.Fprintln(w)
	if text := story.Exclusive(j.verdict, &j.whole.Header); text != "" {
		harmless.Fprintf(w, "  %s\n", text)
	}
	printTimings(w, st)
}

// knowsWrites tells whether the history says what reached the store.
func (j *judgedFile) knowsWrites() bool { return j.whole.Header.Untold[history.FactWrites] == "" }

// printProperties prints what the properties came to, those that were not judged behind the others.
func (j *judgedFile) printProperties(w io.Writer) {
	var lines strings.Builder
	table := tabwriter.NewWriter(&lines, 2, 0, 2, ' ', 0)
	for _, judged := range []bool{true, false} {
		for _, p := range j.verdict.Properties {
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

// printReading says what a foreign history was taken for, and how to say otherwise.
func (j *judgedFile) printReading(w io.Writer) {
	if j.source == nil {
		return
	}
	for _, line := range j.reading() {
		harmless.Fprintf(w, "  %s\n", inLine(line))
	}
	if h := &j.whole.Header; !h.Started.IsZero() {
		harmless.Fprintf(w, "  the log begins at %s\n", h.Started.Round(time.Microsecond).Format(time.RFC3339Nano))
	}
}

// reading says in lines how a foreign history was read.
func (j *judgedFile) reading() (lines []string) {
	if guessed, mapping, unread := j.source.Columns(); len(guessed) > 0 {
		line := "columns guessed: " + strings.Join(guessed, ", ")
		if len(unread) > 0 {
			line += "; not read: " + strings.Join(unread, ", ")
		}
		lines = append(lines, line+"; to say otherwise: "+mapFlag(mapping))
	}
	for _, text := range j.source.Assumed {
		lines = append(lines, "assumed: "+text)
	}
	for _, text := range j.source.Left {
		lines = append(lines, "note: "+text)
	}
	return lines
}

// printTimings prints what took how long.
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
