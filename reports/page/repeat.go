package page

import (
	"html/template"
	"io"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/draw"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

// repeatPage is what the index of a repetition shows.
type repeatPage struct {
	CSS      template.CSS
	R        reports.Repetition
	Headline string
	Facts    []string
	Rows     []repeatRow
	Words    []story.Entry
	Gate     *gatePage // the ruling, on the page of a gate
}

type repeatRow struct {
	Name, Violated, Between string
	Bar                     template.HTML
	Trials                  []repeatCell
}

type repeatCell struct {
	reports.Trial
	Href string
}

// WriteRepetition writes the page of a repetition: for every scenario what it
// came to, seed by seed, each a way to its report.
func WriteRepetition(w io.Writer, r reports.Repetition) error {
	return render(w, "repeat.html.tmpl", repetitionPage(r))
}

func repetitionPage(r reports.Repetition) repeatPage {
	p := repeatPage{CSS: css(), R: r, Headline: r.Headline(), Words: story.ResultWords[:7]}
	for _, fact := range []string{"lockchaos " + r.Version, r.Started.Format("2006-01-02 15:04"), r.Runtime,
		phrase.Span(r.Elapsed)} {
		p.Facts = append(p.Facts, phrase.Clip(fact, phrase.MostName))
	}
	for _, s := range r.Scenarios {
		row := repeatRow{Name: phrase.Clip(s.Name, phrase.MostName), Violated: s.Violated().String(),
			Between: s.Violated().Between(), Bar: draw.RateBar(s.Violated())}
		for _, t := range s.Trials {
			t.Detail = phrase.Clip(t.Detail, phrase.MostName)
			row.Trials = append(row.Trials, repeatCell{t, href(t.Dir, "report.html")})
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}
