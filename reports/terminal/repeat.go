package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// RepetitionText writes the table of verdicts to a terminal: a line for every
// scenario, and the seeds of what differs, or of one scenario a line for every seed.
func RepetitionText(w io.Writer, r reports.Repetition, color bool) error {
	grid := [][]terminalCell{dimCells("scenario", "runs", "pass", "violated", "inconclusive", "else", "unexpected",
		"violated in", "95 % interval")}
	for _, s := range r.Scenarios {
		row := []terminalCell{{{phrase.OneLine(phrase.Clip(s.Name, phrase.MostName)), ansiBold}}}
		other := len(s.Trials) - s.Violated().Of - s.Count(reports.Inconclusive)
		for _, n := range []int{len(s.Trials), s.Count(reports.Pass), s.Violated().Hits, s.Count(reports.Inconclusive),
			other, s.Unexpected()} {
			row = append(row, terminalCell{{phrase.Grouped(n), ""}})
		}
		grid = append(grid, append(row, terminalCell{{s.Violated().String(), ""}},
			terminalCell{{s.Violated().Between(), ansiDim}}))
	}
	var b strings.Builder
	writeGrid(&b, grid, color)
	if len(r.Scenarios) == 1 {
		b.WriteString("\n")
		seedLines(&b, r.Scenarios[0], color)
	}
	for _, s := range r.Scenarios {
		if len(r.Scenarios) == 1 || !s.Flaky() {
			continue
		}
		fmt.Fprintf(&b, "\n%s came to different results:\n", phrase.OneLine(phrase.Clip(s.Name, phrase.MostName)))
		for _, result := range s.Results() {
			fmt.Fprintf(&b, "  %s %s: seed%s %s\n", result.Mark(), result, pluralS(s.Count(result)), s.Seeds(result))
		}
	}
	fmt.Fprintf(&b, "\n%s %s\n", r.Headline(), r.Ended)
	_, err := io.WriteString(w, b.String())
	return err
}

// seedLines are those of one scenario.
func seedLines(b *strings.Builder, s reports.Repeated, color bool) {
	grid := [][]terminalCell{dimCells("seed", "result", "figures", "took")}
	for _, t := range s.Trials {
		result := t.Result.Mark() + " " + t.Result.String()
		if t.Unexpected {
			result += " UNEXPECTED"
		}
		grid = append(grid, []terminalCell{{{fmt.Sprint(t.Seed), ""}}, {{result, resultANSI[t.Result]}},
			{{phrase.OneLine(t.Detail), ""}}, {{phrase.Span(int64(t.Elapsed)), ansiDim}}})
	}
	writeGrid(b, grid, color)
}

func pluralS(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
