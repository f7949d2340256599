package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/studies"
)

// ComparisonText writes a comparison to a terminal: what changed first, with
// its properties, then what stayed.
func ComparisonText(w io.Writer, c studies.Comparison, color bool) error {
	var b strings.Builder
	for _, side := range []struct {
		name  string
		suite reports.Suite
	}{{"A", c.A}, {"B", c.B}} {
		fmt.Fprintf(&b, "%s: %s, seed %d, lockchaos %s, %s\n", side.name,
			phrase.OneLine(phrase.Clip(side.suite.Title(), phrase.MostName)), side.suite.Seed,
			phrase.OneLine(phrase.Clip(side.suite.Version, phrase.MostName)),
			phrase.OneLine(phrase.Clip(side.suite.Runtime, phrase.MostName)))
	}
	for _, v := range c.Versions {
		fmt.Fprintf(&b, "%s: %s → %s\n", phrase.OneLine(phrase.Clip(v.Name, phrase.MostName)),
			phrase.OneLine(orNone(v.A)), phrase.OneLine(orNone(v.B)))
	}
	b.WriteString("\n")
	grid := [][]terminalCell{dimCells("scenario", "change", "A", "B", "figures of A", "figures of B")}
	for _, x := range c.Scenarios {
		grid = append(grid, comparedCells(x))
	}
	writeGrid(&b, grid, color)
	for _, x := range c.Scenarios {
		for i, p := range x.Properties {
			if i == 0 {
				fmt.Fprintf(&b, "\n%s:\n", phrase.OneLine(phrase.Clip(x.Name, phrase.MostName)))
			}
			fmt.Fprintf(&b, "  %s: %s\n", p.Name, p.Words())
		}
	}
	fmt.Fprintf(&b, "\n%s\n", c.Headline())
	_, err := io.WriteString(w, b.String())
	return err
}

func comparedCells(x studies.Compared) []terminalCell {
	style := ""
	switch x.Change {
	case studies.Worse, studies.Undecided:
		style = resultANSI[reports.Violated]
	case studies.Better, studies.Decided:
		style = resultANSI[reports.Pass]
	case studies.Same:
		style = ansiDim
	}
	cells := []terminalCell{{{phrase.OneLine(phrase.Clip(x.Name, phrase.MostName)), ansiBold}},
		{{x.Change.String(), style}}}
	for _, side := range []*reports.Scenario{x.A, x.B} {
		color := ""
		if side != nil {
			color = resultANSI[side.Result()]
		}
		cells = append(cells, terminalCell{{studies.InAWord(side), color}})
	}
	for _, side := range []*reports.Scenario{x.A, x.B} {
		detail := ""
		if side != nil {
			detail = phrase.Cut(phrase.OneLine(side.Detail()), 40)
		}
		cells = append(cells, terminalCell{{detail, ansiDim}})
	}
	return cells
}

func orNone(version string) string {
	if version == "" {
		return "not there"
	}
	return phrase.Clip(version, phrase.MostName)
}
