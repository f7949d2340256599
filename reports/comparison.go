package reports

import (
	"fmt"
	"html/template"
	"io"
	"net/url"
	"path"
	"strings"
)

// ComparisonText writes a comparison to a terminal: what changed first, with its properties, then what stayed.
func ComparisonText(w io.Writer, c Comparison, color bool) error {
	var b strings.Builder
	for _, side := range []struct {
		name  string
		suite Suite
	}{{"A", c.A}, {"B", c.B}} {
		fmt.Fprintf(&b, "%s: %s, seed %d, lockchaos %s, %s\n", side.name, oneLine(clip(side.suite.Title(), clipName)), side.suite.Seed, oneLine(clip(side.suite.Version, clipName)),
			oneLine(clip(side.suite.Runtime, clipName)))
	}
	for _, v := range c.Versions {
		fmt.Fprintf(&b, "%s: %s → %s\n", oneLine(clip(v.Name, clipName)), oneLine(orNone(v.A)), oneLine(orNone(v.B)))
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
				fmt.Fprintf(&b, "\n%s:\n", oneLine(clip(x.Name, clipName)))
			}
			fmt.Fprintf(&b, "  %s: %s\n", p.Name, p.words())
		}
	}
	fmt.Fprintf(&b, "\n%s\n", c.headline())
	_, err := io.WriteString(w, b.String())
	return err
}

func comparedCells(x Compared) []terminalCell {
	style := ""
	switch x.Change {
	case Worse, Undecided:
		style = resultANSI[Violated]
	case Better, Decided:
		style = resultANSI[Pass]
	case Same:
		style = ansiDim
	}
	cells := []terminalCell{{{oneLine(clip(x.Name, clipName)), ansiBold}}, {{x.Change.String(), style}}}
	for _, side := range []*Scenario{x.A, x.B} {
		color := ""
		if side != nil {
			color = resultANSI[side.Result()]
		}
		cells = append(cells, terminalCell{{inAWord(side), color}})
	}
	for _, side := range []*Scenario{x.A, x.B} {
		detail := ""
		if side != nil {
			detail = cut(oneLine(side.Detail()), 40)
		}
		cells = append(cells, terminalCell{{detail, ansiDim}})
	}
	return cells
}

// words tells a property's two outcomes.
func (p ComparedProperty) words() string {
	text := p.A.String() + " → " + p.B.String()
	if p.CountA+p.CountB > 0 {
		text += fmt.Sprintf(" (%d → %d times)", p.CountA, p.CountB)
	}
	return text
}

func orNone(version string) string {
	if version == "" {
		return "not there"
	}
	return clip(version, clipName)
}

// comparePage is what a page of two runs shows.
type comparePage struct {
	CSS      template.CSS
	C        Comparison
	Headline string
	Tiles    []tile
	Sides    []compareSide
	Rows     []compareRow
	Words    []entry
}

type compareSide struct{ Letter, Title, Href, Version, Runtime, Command, Seed string }

type compareRow struct {
	Name, Change, Class string
	A, B                compareCell
	Properties          []string
	Figures             []ComparedFigure
}

type compareCell struct {
	There        bool
	Result       Result
	Href, Detail string
}

// WriteComparison writes the page of two runs; dirA and dirB are the paths from the page to their folders.
func WriteComparison(w io.Writer, c Comparison, dirA, dirB string) error {
	p := comparePage{CSS: css, C: c, Headline: c.headline(), Words: resultWords[:7]}
	for _, t := range []struct {
		change Change
		class  string
	}{{Worse, "v"}, {Undecided, "i"}, {Better, "p"}, {Decided, "p"}, {OnlyFirst, "s"}, {OnlySecond, "s"}, {Same, ""}} {
		if n := c.Count(t.change); n > 0 {
			p.Tiles = append(p.Tiles, tile{grouped(n), t.change.String(), t.class})
		}
	}
	for i, s := range []Suite{c.A, c.B} {
		p.Sides = append(p.Sides, compareSide{Letter: string(rune('A' + i)), Title: clip(s.Title(), clipName), Href: away([]string{dirA, dirB}[i], "", "index.html"),
			Version: clip(s.Version, clipName), Runtime: clip(s.Runtime, clipName), Command: clip(s.Command, clipText), Seed: fmt.Sprint(s.Seed)})
	}
	for _, x := range c.Scenarios {
		row := compareRow{Name: clip(x.Name, clipName), Change: x.Change.String(), Class: map[Change]string{Worse: "v", Undecided: "i", Better: "p", Decided: "p"}[x.Change],
			A: comparedCell(x.A, dirA), B: comparedCell(x.B, dirB)}
		for _, property := range x.Properties {
			row.Properties = append(row.Properties, property.Name+": "+property.words())
		}
		for _, f := range x.Figures {
			if f.A != f.B && x.Change != Same {
				row.Figures = append(row.Figures, f)
			}
		}
		p.Rows = append(p.Rows, row)
	}
	return render(w, "compare.html.tmpl", p)
}

func comparedCell(x *Scenario, dir string) compareCell {
	if x == nil {
		return compareCell{}
	}
	return compareCell{There: true, Result: x.Result(), Href: away(dir, x.Dir, "report.html"), Detail: clip(x.Detail(), clipName)}
}

// away makes a relative link to a file in a folder that may lie outside the page's own. Every segment is escaped.
func away(dir, folder, file string) string {
	var out []string
	for _, part := range strings.Split(path.Join(dir, folder, file), "/") {
		out = append(out, url.PathEscape(part))
	}
	return "./" + strings.Join(out, "/")
}
