// Package terminal writes results as text for a terminal.
package terminal

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

// The escape sequences of a terminal that a matrix uses. A harmless.Writer passes them on.
var (
	ansiReset = harmless.Own("\x1b[0m")
	ansiBold  = harmless.Own("\x1b[1m")
	ansiDim   = harmless.Own("\x1b[2m")
)

var resultANSI = [...]string{reports.Inconclusive: harmless.Own("\x1b[35m"), reports.Pass: harmless.Own("\x1b[32m"),
	reports.Contained: harmless.Own("\x1b[33m"), reports.Corrupted: harmless.Own("\x1b[31m"),
	reports.Violated: harmless.Own("\x1b[31m"), reports.Skipped: ansiDim, reports.Failed: harmless.Own("\x1b[1;31m")}

// Line is Summary with the scenario's name, for a progress list. Width is that
// of the name's column.
func Line(s reports.Scenario, width int, color bool) string {
	name, sum := phrase.Pad(phrase.OneLine(phrase.Clip(s.Name, phrase.MostName)), width), story.Summary(s)
	if color {
		sum = resultANSI[s.Result()] + sum + ansiReset
	}
	return name + "  " + sum + "  " + phrase.Span(int64(s.Elapsed))
}

// AttackLine is Line for an attack of an exam, which says what WriteExam will say of it.
func AttackLine(s reports.Scenario, width int, color bool) string {
	fate := s.Fate()
	sum := mark(fate) + " " + phrase.OneLine(phrase.Clip(s.Account(), phrase.MostText))
	if fate == reports.Stood {
		sum += " (" + phrase.OneLine(s.Detail()) + ")"
	}
	sum = harmless.Line(sum)
	if color {
		sum = resultANSI[s.Result()] + sum + ansiReset
	}
	return phrase.Pad(phrase.OneLine(phrase.Clip(s.Name, phrase.MostName)), width) + "  " + sum + "  " + phrase.Span(int64(s.Elapsed))
}

// Matrix writes the suite to a terminal: a row for every lock and store, a column for
// every fault, a cell a result with its figures below. Every result has a mark of its
// own, so it reads without colour. Width is the terminal's width in columns; 0 is
// unlimited. Where it is too small for the table the scenarios come as a list. What
// is not as expected, failed, was skipped or says nothing follows with its reason.
func Matrix(w io.Writer, s reports.Suite, color bool, width int) error {
	var b strings.Builder
	for _, text := range s.StandIns {
		fmt.Fprintf(&b, "stand-in: %s\n", phrase.OneLine(phrase.Clip(text, phrase.MostText)))
	}
	if faults, rows := reports.Matrix(s); reports.MostlyGaps(faults, rows) {
		b.WriteString(byFaultText(reports.ByFault(faults, rows), width, color))
	} else if table, wide := terminalTable(faults, rows, color); width > 0 && wide > width {
		nameWidth := 0
		for _, x := range s.Scenarios {
			nameWidth = max(nameWidth, phrase.Columns(phrase.Clip(x.Name, phrase.MostName)))
		}
		for _, x := range s.Scenarios {
			b.WriteString(Line(x, min(nameWidth, max(width-40, 20)), color) + "\n")
		}
	} else {
		b.WriteString(table)
	}
	terminalPatterns(&b, s, width)
	terminalTroubles(&b, s, color)
	head := harmless.Line(story.SuiteHeadline(s))
	if color {
		head = ansiBold + head + ansiReset
	}
	fmt.Fprintf(&b, "\n%s\n", head)
	if text := story.SuiteLede(s); text != "" {
		b.WriteString(phrase.Wrap(harmless.Line(text), width) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// terminalCell is one cell: up to two lines for each of its scenarios.
type terminalCell []terminalText

type terminalText struct{ text, style string }

// terminalTable lays a matrix out and returns it with its width.
func terminalTable(faults []string, rows []reports.MatrixRow, color bool) (string, int) {
	head := []terminalCell{{{"lock", ansiDim}}, {{"store", ansiDim}}}
	for _, f := range faults {
		head = append(head, terminalCell{{harmless.Line(phrase.FaultTitle(f)), ansiDim}})
	}
	grid := [][]terminalCell{head}
	for _, r := range rows {
		lock := ""
		if r.First {
			lock = r.Lock
		}
		line := []terminalCell{{{harmless.Line(lock), ansiBold}}, {{harmless.Line(r.Store), ""}}}
		for _, c := range r.Cells {
			line = append(line, cellText(c))
		}
		grid = append(grid, line)
	}
	total := 0
	for _, width := range gridWidths(grid) {
		total += width + 2
	}
	var b strings.Builder
	writeGrid(&b, grid, color)
	return b.String(), total
}

// gridWidths is how wide each column has to be.
func gridWidths(grid [][]terminalCell) []int {
	widths := make([]int, len(grid[0]))
	for i := range widths {
		for _, line := range grid {
			for _, t := range line[i] {
				widths[i] = max(widths[i], phrase.Columns(t.text))
			}
		}
	}
	return widths
}

// cellWidth is how much of a detail a cell shows: "2 defects · 14 overruns · 12 stale writes".
const cellWidth = 42

func cellText(c reports.MatrixCell) terminalCell {
	var out terminalCell
	for _, r := range c.Runs {
		text := r.Result.Mark() + " " + r.Result.String()
		if r.Unexpected {
			text += " UNEXPECTED"
		}
		if r.Variant != "" {
			text += " " + phrase.OneLine(r.Variant)
		}
		out = append(out, terminalText{text, resultANSI[r.Result]},
			terminalText{"  " + phrase.Cut(r.Detail, cellWidth), ansiDim})
	}
	return out
}

func writeGridLine(b *strings.Builder, line []terminalCell, widths []int, color bool) {
	height := 0
	for _, c := range line {
		height = max(height, len(c))
	}
	for row := range height {
		var out strings.Builder
		for i, c := range line {
			t := terminalText{}
			if row < len(c) {
				t = c[row]
			}
			text := phrase.Pad(t.text, widths[i]+2)
			if color && t.style != "" && t.text != "" {
				text = t.style + t.text + ansiReset + text[len(t.text):]
			}
			out.WriteString(text)
		}
		b.WriteString(strings.TrimRight(out.String(), " ") + "\n")
	}
}

// fewScenarios is how many a run may have for the patterns of each to be told
// on the terminal; of more, those of what was not expected are.
const fewScenarios = 3

// terminalPatterns tells what brought the violations about.
func terminalPatterns(b *strings.Builder, s reports.Suite, width int) {
	for _, x := range s.Scenarios {
		if len(x.Verdict.Patterns) == 0 || !x.Unexpected() && len(s.Scenarios) > fewScenarios {
			continue
		}
		b.WriteString("\n")
		for _, line := range story.PatternLines(x.Verdict) {
			b.WriteString(phrase.Wrap(phrase.OneLine(phrase.Clip(x.Name, phrase.MostName))+": "+phrase.OneLine(line),
				width) + "\n")
		}
	}
}

func terminalTroubles(b *strings.Builder, s reports.Suite, color bool) {
	for i, t := range reports.Troubles(s) {
		if i == 0 {
			b.WriteString("\n")
		}
		what := t.What
		if color {
			what = ansiBold + what + ansiReset
		}
		name := phrase.OneLine(t.Runs[0].Name)
		if n := len(t.Runs); n > 1 {
			name = phrase.Plural(n, "scenario")
		}
		fmt.Fprintf(b, "%s: %s: %s\n", what, name, phrase.OneLine(t.Why))
		if t.Do != "" {
			fmt.Fprintf(b, "  to do: %s\n", t.Do)
		}
		if len(t.Runs) > 1 {
			var names []string
			for _, r := range t.Runs {
				if r.Note != "" {
					r.Name += " (" + r.Note + ")"
				}
				names = append(names, phrase.OneLine(r.Name))
			}
			fmt.Fprintf(b, "  these: %s\n", strings.Join(names, ", "))
		}
		if t.Rerun != "" {
			fmt.Fprintf(b, "  again: %s\n", phrase.OneLine(t.Rerun))
		}
	}
}

func dimCells(words ...string) (line []terminalCell) {
	for _, word := range words {
		line = append(line, terminalCell{{word, ansiDim}})
	}
	return line
}

// writeGrid lays out cells in columns that are as wide as they have to be.
func writeGrid(b *strings.Builder, grid [][]terminalCell, color bool) {
	widths := gridWidths(grid)
	for _, line := range grid {
		writeGridLine(b, line, widths, color)
	}
}

// Table writes rows, the first of them being the heading, in columns that are aligned.
func Table(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 2, 0, 3, ' ', 0)
	for _, row := range rows {
		for i := range row {
			row[i] = harmless.Line(row[i])
		}
		harmless.Fprintln(t, harmless.Safe(strings.Join(row, "\t")))
	}
	return t.Flush()
}
