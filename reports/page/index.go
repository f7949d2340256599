package page

import (
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

// indexPage is what index.html shows.
type indexPage struct {
	CSS      template.CSS
	Suite    reports.Suite
	Facts    []string
	Headline string
	AllMet   bool
	Lede     string
	Tiles    []tile
	Matrix   grid
	// the locks and fences that are broken on purpose, where the suite has others too
	Controls  grid
	Script    template.JS
	Troubles  []reports.Trouble
	Scenarios []listed
	Versions  []history.Part
	Words     []story.Entry
	StandIns  []string
	Gate      *gatePage // the ruling, on the page of a gate
	Exam      *examPage // instead of a matrix, on that of an exam
}

// grid is one matrix, or its scenarios by fault.
type grid struct {
	ID      string // of its heading
	Columns []string
	Rows    []reports.MatrixRow
	ByFault []reports.FaultRuns // instead of columns and rows, where those would be mostly gaps
	Gaps    bool                // some cells have no scenario
}

type tile struct {
	Count string
	Word  string
	Class string
}

// facets are what a reader can filter scenarios by.
type facets struct{ Lock, Fault, Store, Result, Odd string }

func facetsOf(x reports.Scenario) facets {
	f := facets{phrase.Clip(x.Lock, phrase.MostName), phrase.FaultTitle(x.Fault), phrase.Clip(x.Store, phrase.MostName),
		x.Result().String(), ""}
	if x.Unexpected() {
		f.Odd = "yes"
	}
	return f
}

type listed struct {
	Of facets

	Name, Href, About, Elapsed, Expected string
	Result                               reports.Result
	Detail                               string
}

// WriteIndex writes index.html: what the suite showed as a whole, and the way
// to every scenario's report.
func WriteIndex(w io.Writer, s reports.Suite) error {
	return render(w, "index.html.tmpl", suitePage(s))
}

func suitePage(s reports.Suite) indexPage {
	p := indexPage{CSS: css(), Suite: s, Headline: story.SuiteHeadline(s), Lede: story.SuiteLede(s), Tiles: tiles(s),
		Troubles: reports.Troubles(s),
		Versions: s.Versions, Words: story.ResultWords, StandIns: s.StandIns, AllMet: true}
	if s.Exam != nil {
		p.Exam, p.Tiles, p.Words = examPageOf(s), fateTiles(s), wordsOfExams()
	}
	for _, x := range s.Scenarios {
		p.AllMet = p.AllMet && !x.Unexpected() && x.Failed == ""
		p.Scenarios = append(p.Scenarios, listing(x))
	}
	if s.Version != "" {
		p.Facts = append(p.Facts, "lockchaos "+phrase.Clip(s.Version, phrase.MostName))
	}
	if !s.Started.IsZero() {
		p.Facts = append(p.Facts, s.Started.Format("2006-01-02 15:04"))
	}
	if s.Runtime != "" {
		p.Facts = append(p.Facts, phrase.Clip(s.Runtime, phrase.MostName))
	}
	if s.Elapsed > 0 {
		p.Facts = append(p.Facts, phrase.Span(int64(s.Elapsed)))
	}
	locks, controls := splitControls(s)
	p.Matrix, p.Controls, p.Script = gridOf(locks, "matrix"), gridOf(controls, "controls"), filterScript()
	return p
}

// splitControls parts the controls from the locks that are for use. A suite of controls only is not
// parted.
func splitControls(s reports.Suite) (locks, controls reports.Suite) {
	isControl := func(x reports.Scenario) bool { return x.Control }
	locks, controls = s, s
	locks.Scenarios = slices.DeleteFunc(slices.Clone(s.Scenarios), isControl)
	if len(locks.Scenarios) == 0 {
		return s, reports.Suite{}
	}
	controls.Scenarios = slices.DeleteFunc(slices.Clone(s.Scenarios),
		func(x reports.Scenario) bool { return !isControl(x) })
	return locks, controls
}

// gridOf lays the scenarios out.
func gridOf(s reports.Suite, id string) grid {
	g := grid{ID: id}
	g.Columns, g.Rows = reports.Matrix(s)
	if reports.MostlyGaps(g.Columns, g.Rows) {
		return grid{ID: id, ByFault: reports.ByFault(g.Columns, g.Rows)}
	}
	for i, c := range g.Columns {
		g.Columns[i] = phrase.FaultTitle(c)
	}
	for _, row := range g.Rows {
		g.Gaps = g.Gaps || slices.ContainsFunc(row.Cells, func(c reports.MatrixCell) bool { return len(c.Runs) == 0 })
	}
	return g
}

func listing(x reports.Scenario) listed {
	l := listed{Of: facetsOf(x), Name: phrase.Clip(x.Name, phrase.MostName), Href: link(x),
		About: phrase.Clip(x.About, phrase.MostText), Result: x.Result(), Detail: x.Detail()}
	if c := x.Noted().Counters; len(c) > 0 && x.Result() == reports.Corrupted && x.Verdict.Stats.Stale > 0 {
		l.Detail += "; " + reports.Damage(c)
	}
	if x.Elapsed > 0 {
		l.Elapsed = fmt.Sprintf("%.1f s", x.Elapsed.Seconds())
	}
	switch {
	case x.Unexpected():
		l.Expected = "no"
	case len(x.Expect) > 0 && x.Met:
		l.Expected = "yes"
	}
	return l
}

// link points at the scenario's page, "" where it has none.
func link(x reports.Scenario) string {
	if x.Dir == "" {
		return ""
	}
	return href(x.Dir, "report.html")
}

func tiles(s reports.Suite) []tile {
	locks, controls := splitControls(s)
	n := locks.Tally()
	unexpected, caught := 0, 0
	for _, x := range s.Scenarios {
		if x.Unexpected() {
			unexpected++
		}
	}
	for _, x := range controls.Scenarios {
		if x.Met {
			caught++
		}
	}
	out := []tile{
		{phrase.Grouped(n[reports.Pass]), "pass", "p"},
		{phrase.Grouped(n[reports.Contained]), "contained by a fence", "c"},
		{phrase.Grouped(n[reports.Corrupted]), "data corrupted", "v"},
	}
	if n[reports.Violated] > 0 {
		out = append(out, tile{phrase.Grouped(n[reports.Violated]), "violated, data whole", "v"})
	}
	out = append(out, tile{phrase.Grouped(n[reports.Inconclusive]), "inconclusive", "i"},
		tile{phrase.Grouped(n[reports.Skipped]), "skipped", "s"})
	if n[reports.Failed] > 0 {
		out = append(out, tile{phrase.Grouped(n[reports.Failed]), "failed", "f"})
	}
	if all := len(controls.Scenarios); all > 0 {
		t := tile{phrase.Grouped(caught) + " / " + phrase.Grouped(all), "controls as expected", ""}
		if caught < all {
			t.Class = "u"
		}
		out = append(out, t)
	}
	if unexpected > 0 {
		out = append(out, tile{phrase.Grouped(unexpected), "not as expected", "u"})
	}
	for i := range out {
		if out[i].Count == "0" {
			out[i].Class = "zero"
		}
	}
	return out
}
