package page

import (
	"html/template"
	"io"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/draw"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/studies"
)

// completePage is what the page of a complete search shows.
type completePage struct {
	CSS        template.CSS
	C          studies.Complete
	Facts      []string
	Wide, Slim template.HTML
	Rows       []completeRow
	Falls      []completeFall
	Pairs      []completeFall
}

type completeRow struct {
	Fault string
	Cells []completeCell
}

// completeCell is a cell: a style, what was tried, and more.
type completeCell struct{ Class, Text, More string }

type completeFall struct{ Class, Fate, Count, What, First, Link string }

// WriteComplete writes the page of a complete search.
func WriteComplete(w io.Writer, c studies.Complete) error {
	p := completePage{CSS: css(), C: c}
	for _, fact := range []string{c.Service, "TTL " + phrase.Span(int64(c.TTL)), "simulated", "lockchaos " + c.Version,
		c.Started.Format("2006-01-02 15:04"), phrase.Span(int64(c.Elapsed))} {
		p.Facts = append(p.Facts, phrase.Clip(fact, phrase.MostName))
	}
	page := func(dir string) string {
		if dir == "" {
			return ""
		}
		return href(dir, "report.html")
	}
	for _, row := range c.Rows {
		r := completeRow{Fault: row.Fault}
		for _, cell := range row.Cells {
			r.Cells = append(r.Cells, completeCellOf(cell))
		}
		p.Rows = append(p.Rows, r)
	}
	for _, f := range c.Falls {
		p.Falls = append(p.Falls, completeFall{fateClass(f.Fate), f.Fate, phrase.Grouped(len(f.Marks)),
			phrase.Clip(f.What, phrase.MostText), f.Marks[0].Told(), page(f.Dir)})
	}
	for _, f := range c.Pairs.Each() {
		p.Pairs = append(p.Pairs, completeFall{fateClass(f.Fate), f.Fate, phrase.Grouped(f.Count), f.Told(),
			f.First.Told() + ", then " + f.Second.Told(), page(f.Dir)})
	}
	p.Wide, p.Slim = draw.Places(c, 1040, "wide", page), draw.Places(c, 480, "slim", page)
	return render(w, "complete.html.tmpl", p)
}

// fateClass is the style of what schedules came to, by the exam's word.
func fateClass(fate string) string {
	switch fate {
	case reports.FellDefect.String(), reports.FellUnclear.String():
		return "v"
	case reports.FellRelied.String(), reports.FellInherent.String():
		return "c"
	case reports.Stood.String():
		return "p"
	}
	return "i"
}

// completeCellOf is a cell as it is shown: the worst that came of it gives the style.
func completeCellOf(c studies.CompleteCell) completeCell {
	if c.Tried == 0 {
		return completeCell{Class: "s", Text: "–", More: c.Why}
	}
	out := completeCell{Class: "p", Text: phrase.Grouped(c.Tried)}
	for _, f := range []reports.Fate{reports.NotRun, reports.NothingFollows, reports.FellInherent, reports.FellRelied,
		reports.FellUnclear, reports.FellDefect} {
		if n := c.Fates[f.String()]; n > 0 {
			out.Class = fateClass(f.String())
			if out.More != "" {
				out.More = ", " + out.More
			}
			out.More = phrase.Grouped(n) + " " + f.String() + out.More
		}
	}
	return out
}
