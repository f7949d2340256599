package page

import (
	"fmt"
	"html/template"
	"io"

	"github.com/lockchaos/lockchaos/reports/draw"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/studies"
)

// curvePage is what the page of a safety curve shows.
type curvePage struct {
	CSS        template.CSS
	C          studies.Curve
	Headline   string
	Facts      []string
	Wide, Slim template.HTML
	Rows       []curveRow
	Offset     bool
	Harm       bool
}

type curveRow struct {
	Ratio, Value, Struck, Violated, Between, Harmed, Measured, Runs string
}

// WriteCurve writes the page of a safety curve: the plot, and the table behind it.
func WriteCurve(w io.Writer, c studies.Curve) error {
	p := curvePage{CSS: css(), C: c, Headline: c.Headline(), Offset: c.Over == "offset"}
	for _, fact := range []string{c.Service, c.Store + " store", "TTL " + phrase.Span(int64(c.TTL)),
		fmt.Sprintf("%d runs a point", c.Runs), "lockchaos " + c.Version, c.Started.Format("2006-01-02 15:04"),
		c.Runtime, phrase.Span(c.Elapsed)} {
		p.Facts = append(p.Facts, phrase.Clip(fact, phrase.MostName))
	}
	for _, point := range c.Points {
		row := curveRow{Ratio: studies.Ratio(point.Ratio), Value: phrase.Span(point.Value),
			Struck: phrase.Grouped(point.Struck), Violated: point.Rate().String(), Between: point.Rate().Between(),
			Harmed: point.Harm().String(), Runs: phrase.Itoa(point.Runs)}
		if point.Longest > 0 {
			row.Measured = phrase.Span(point.Shortest) + " to " + phrase.Span(point.Longest)
		}
		if point.Failed > 0 {
			row.Runs += fmt.Sprintf(", %d not to be used", point.Failed)
		}
		p.Harm = p.Harm || point.Harmed > 0
		p.Rows = append(p.Rows, row)
	}
	p.Wide, p.Slim = draw.Plot(c, 1040, 420, "wide", p.Harm), draw.Plot(c, 480, 380, "slim", p.Harm)
	return render(w, "curve.html.tmpl", p)
}
