package reports

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/harmless"
)

// The escape sequences of a terminal that a matrix uses. A harmless.Writer passes them on.
var (
	ansiReset = harmless.Own("\x1b[0m")
	ansiBold  = harmless.Own("\x1b[1m")
	ansiDim   = harmless.Own("\x1b[2m")
)

var resultANSI = [...]string{Inconclusive: harmless.Own("\x1b[35m"), Pass: harmless.Own("\x1b[32m"), Contained: harmless.Own("\x1b[33m"), Corrupted: harmless.Own("\x1b[31m"),
	Violated: harmless.Own("\x1b[31m"), Skipped: ansiDim, Failed: harmless.Own("\x1b[1;31m")}

// Summary tells a scenario in one line: what it came to, and whether that was expected.
func Summary(s Scenario) string {
	out := s.Result().Mark() + " " + s.Result().String()
	if d := s.Detail(); d != "" {
		out += " (" + oneLine(d) + ")"
	}
	if s.tooLittle() {
		out += ", otherwise inconclusive: " + oneLine(clip(s.Verdict.Reasons[0], clipText))
	} else if s.unexpected() {
		var want []string
		for _, e := range s.unmet() {
			want = append(want, e.Names+" should be "+e.Want)
		}
		out += ", UNEXPECTED"
		if len(want) > 0 { // else it proves nothing, which the detail has said
			out += ": " + list(want)
		}
	}
	return harmless.Line(out)
}

// Line is Summary with the scenario's name, for a progress list. Width is that of the name's column.
func Line(s Scenario, width int, color bool) string {
	name, sum := pad(oneLine(clip(s.Name, clipName)), width), Summary(s)
	if color {
		sum = resultANSI[s.Result()] + sum + ansiReset
	}
	return name + "  " + sum + "  " + span(int64(s.Elapsed))
}

// ViolationLine tells one violation in one line, for those who watch a run.
func ViolationLine(v checker.Violation) string {
	return at(v.At) + "  " + clip(v.Property, clipName) + "  " + oneLine(clip(v.Text, 400))
}

// oneLine makes sure that a program's text stays on its line.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }), " ")
}

// Matrix writes the suite to a terminal: a row for every lock and store, a column for every fault, a cell a result with its
// figures below. Every result has a mark of its own, so it reads without colour. Width is the terminal's width in columns; 0 is
// unlimited. Where it is too small for the table the scenarios come as a list. What is not as expected, failed, was skipped or
// says nothing follows with its reason.
func Matrix(w io.Writer, s Suite, color bool, width int) error {
	var b strings.Builder
	for _, text := range s.StandIns {
		fmt.Fprintf(&b, "stand-in: %s\n", oneLine(clip(text, clipText)))
	}
	if faults, rows := matrix(s); sparse(faults, rows) {
		b.WriteString(sparseText(byFault(faults, rows), width, color))
	} else if table, wide := terminalTable(faults, rows, color); width > 0 && wide > width {
		nameWidth := 0
		for _, x := range s.Scenarios {
			nameWidth = max(nameWidth, columns(clip(x.Name, clipName)))
		}
		for _, x := range s.Scenarios {
			b.WriteString(Line(x, min(nameWidth, max(width-40, 20)), color) + "\n")
		}
	} else {
		b.WriteString(table)
	}
	terminalPatterns(&b, s, width)
	terminalTroubles(&b, s, color)
	head := harmless.Line(s.headline())
	if color {
		head = ansiBold + head + ansiReset
	}
	fmt.Fprintf(&b, "\n%s\n", head)
	if text := s.lede(); text != "" {
		b.WriteString(wrap(harmless.Line(text), width) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// terminalCell is one cell: up to two lines for each of its scenarios.
type terminalCell []terminalText

type terminalText struct{ text, style string }

// terminalTable lays a matrix out and returns it with its width.
func terminalTable(faults []string, rows []matrixRow, color bool) (string, int) {
	head := []terminalCell{{{"lock", ansiDim}}, {{"store", ansiDim}}}
	for _, f := range faults {
		head = append(head, terminalCell{{harmless.Line(faultTitle(f)), ansiDim}})
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
				widths[i] = max(widths[i], columns(t.text))
			}
		}
	}
	return widths
}

// cellWidth is how much of a detail a cell shows: "2 defects · 14 overruns · 12 stale writes".
const cellWidth = 42

func cellText(c matrixCell) terminalCell {
	var out terminalCell
	for _, r := range c.Runs {
		text := r.Result.Mark() + " " + r.Result.String()
		if r.Unexpected {
			text += " UNEXPECTED"
		}
		if r.Variant != "" {
			text += " " + oneLine(r.Variant)
		}
		out = append(out, terminalText{text, resultANSI[r.Result]}, terminalText{"  " + cut(r.Detail, cellWidth), ansiDim})
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
			text := pad(t.text, widths[i]+2)
			if color && t.style != "" && t.text != "" {
				text = t.style + t.text + ansiReset + text[len(t.text):]
			}
			out.WriteString(text)
		}
		b.WriteString(strings.TrimRight(out.String(), " ") + "\n")
	}
}

// fewScenarios is how many a run may have for the patterns of each to be told on the terminal; of more, those of what was not expected are.
const fewScenarios = 3

// terminalPatterns tells what brought the violations about.
func terminalPatterns(b *strings.Builder, s Suite, width int) {
	for _, x := range s.Scenarios {
		if len(x.Verdict.Patterns) == 0 || !x.unexpected() && len(s.Scenarios) > fewScenarios {
			continue
		}
		b.WriteString("\n")
		for _, line := range PatternLines(x.Verdict) {
			b.WriteString(wrap(oneLine(clip(x.Name, clipName))+": "+oneLine(line), width) + "\n")
		}
	}
}

func terminalTroubles(b *strings.Builder, s Suite, color bool) {
	for i, t := range troubles(s) {
		if i == 0 {
			b.WriteString("\n")
		}
		what := t.What
		if color {
			what = ansiBold + what + ansiReset
		}
		name := oneLine(t.Runs[0].Name)
		if n := len(t.Runs); n > 1 {
			name = plural(n, "scenario")
		}
		fmt.Fprintf(b, "%s: %s: %s\n", what, name, oneLine(t.Why))
		if t.Do != "" {
			fmt.Fprintf(b, "  to do: %s\n", t.Do)
		}
		if len(t.Runs) > 1 {
			var names []string
			for _, r := range t.Runs {
				if r.Note != "" {
					r.Name += " (" + r.Note + ")"
				}
				names = append(names, oneLine(r.Name))
			}
			fmt.Fprintf(b, "  these: %s\n", strings.Join(names, ", "))
		}
		if t.Rerun != "" {
			fmt.Fprintf(b, "  again: %s\n", oneLine(t.Rerun))
		}
	}
}

// columns is how many columns of a terminal a text takes. Combining marks take none; East Asian wide characters, which no
// name of ours has, are counted as one.
func columns(s string) int {
	n := utf8.RuneCountInString(s)
	for _, r := range s {
		if unicode.Is(unicode.Mn, r) {
			n--
		}
	}
	return n
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-columns(s), 0))
}

// wrap breaks a text between words.
func wrap(s string, width int) string {
	if width <= 0 {
		return s
	}
	var b strings.Builder
	col := 0
	for i, word := range strings.Fields(s) {
		n := columns(word)
		if i > 0 && col+1+n > width {
			b.WriteByte('\n')
			col = 0
		} else if i > 0 {
			b.WriteByte(' ')
			col++
		}
		b.WriteString(word)
		col += n
	}
	return b.String()
}
