package page

import (
	"fmt"
	"html/template"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
	"github.com/lockchaos/lockchaos/reports/studies"
)

// comparePage is what a page of two runs shows.
type comparePage struct {
	CSS      template.CSS
	C        studies.Comparison
	Headline string
	Tiles    []tile
	Sides    []compareSide
	Rows     []compareRow
	Words    []story.Entry
}

type compareSide struct{ Letter, Title, Href, Version, Runtime, Command, Seed string }

type compareRow struct {
	Name, Change, Class string
	A, B                compareCell
	Properties          []string
	Figures             []studies.ComparedFigure
}

type compareCell struct {
	There        bool
	Result       reports.Result
	Href, Detail string
}

// WriteComparison writes the page of two runs; dirA and dirB are the paths from
// the page to their folders.
func WriteComparison(w io.Writer, c studies.Comparison, dirA, dirB string) error {
	p := comparePage{CSS: css(), C: c, Headline: c.Headline(), Words: story.ResultWords[:7]}
	for _, t := range []struct {
		change studies.Change
		class  string
	}{{studies.Worse, "v"}, {studies.Undecided, "i"}, {studies.Better, "p"}, {studies.Decided, "p"},
		{studies.OnlyFirst, "s"}, {studies.OnlySecond, "s"}, {studies.Same, ""}} {
		if n := c.Count(t.change); n > 0 {
			p.Tiles = append(p.Tiles, tile{phrase.Grouped(n), t.change.String(), t.class})
		}
	}
	for i, s := range []reports.Suite{c.A, c.B} {
		p.Sides = append(p.Sides, compareSide{Letter: string(rune('A' + i)),
			Title: phrase.Clip(s.Title(), phrase.MostName), Href: relativeLink([]string{dirA, dirB}[i], "", "index.html"),
			Version: phrase.Clip(s.Version, phrase.MostName), Runtime: phrase.Clip(s.Runtime, phrase.MostName),
			Command: phrase.Clip(s.Command, phrase.MostText), Seed: fmt.Sprint(s.Seed)})
	}
	for _, x := range c.Scenarios {
		row := compareRow{Name: phrase.Clip(x.Name, phrase.MostName), Change: x.Change.String(),
			Class: map[studies.Change]string{studies.Worse: "v", studies.Undecided: "i", studies.Better: "p",
				studies.Decided: "p"}[x.Change],
			A: comparedCell(x.A, dirA), B: comparedCell(x.B, dirB)}
		for _, property := range x.Properties {
			row.Properties = append(row.Properties, property.Name+": "+property.Words())
		}
		for _, f := range x.Figures {
			if f.A != f.B && x.Change != studies.Same {
				row.Figures = append(row.Figures, f)
			}
		}
		p.Rows = append(p.Rows, row)
	}
	return render(w, "compare.html.tmpl", p)
}

func comparedCell(x *reports.Scenario, dir string) compareCell {
	if x == nil {
		return compareCell{}
	}
	return compareCell{There: true, Result: x.Result(), Href: relativeLink(dir, x.Dir, "report.html"),
		Detail: phrase.Clip(x.Detail(), phrase.MostName)}
}

// relativeLink makes a relative link to a file in a folder that may lie outside the
// page's own. Every segment is escaped.
func relativeLink(dir, folder, file string) string {
	var out []string
	for _, part := range strings.Split(path.Join(dir, folder, file), "/") {
		out = append(out, url.PathEscape(part))
	}
	return "./" + strings.Join(out, "/")
}
