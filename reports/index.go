package reports

import (
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// indexPage is what index.html shows.
type indexPage struct {
	CSS       template.CSS
	Suite     Suite
	Facts     []string
	Headline  string
	AllMet    bool
	Lede      string
	Tiles     []tile
	Matrix    grid
	Controls  grid // the locks and fences that are broken on purpose, where the suite has others too
	Script    template.JS
	Troubles  []trouble
	Scenarios []listed
	Versions  []history.Part
	Words     []entry
	StandIns  []string
	Gate      *gatePage // the ruling, on the page of a gate
	Exam      *examPage // instead of a matrix, on that of an exam
}

// grid is one matrix, or its scenarios by fault.
type grid struct {
	ID      string // of its heading
	Columns []string
	Rows    []matrixRow
	ByFault []faultShelf // instead of columns and rows, where those would be mostly gaps
	Gaps    bool         // some cells have no scenario
}

type tile struct {
	Count string
	Word  string
	Class string
}

// facets are what a reader can filter scenarios by.
type facets struct{ Lock, Fault, Store, Result, Odd string }

func facetsOf(x Scenario) facets {
	f := facets{clip(x.Lock, clipName), faultTitle(x.Fault), clip(x.Store, clipName), x.Result().String(), ""}
	if x.unexpected() {
		f.Odd = "yes"
	}
	return f
}

type listed struct {
	Of facets

	Name, Href, About, Elapsed, Expected string
	Result                               Result
	Detail                               string
}

// entry is a word and what it means.
type entry struct{ Word, Means, Class string }

// WriteIndex writes index.html: what the suite showed as a whole, and the way to every scenario's report.
func WriteIndex(w io.Writer, s Suite) error { return render(w, "index.html.tmpl", suitePage(s)) }

func suitePage(s Suite) indexPage {
	p := indexPage{CSS: css, Suite: s, Headline: s.headline(), Lede: s.lede(), Tiles: tiles(s), Troubles: troubles(s),
		Versions: s.Versions, Words: resultWords, StandIns: s.StandIns, AllMet: true}
	if s.Exam != nil {
		p.Exam, p.Tiles, p.Words = s.examPage(), s.fateTiles(), fateMeanings
	}
	for _, x := range s.Scenarios {
		p.AllMet = p.AllMet && !x.unexpected() && x.Failed == ""
		p.Scenarios = append(p.Scenarios, listing(x))
	}
	if s.Version != "" {
		p.Facts = append(p.Facts, "lockchaos "+clip(s.Version, clipName))
	}
	if !s.Started.IsZero() {
		p.Facts = append(p.Facts, s.Started.Format("2006-01-02 15:04"))
	}
	if s.Runtime != "" {
		p.Facts = append(p.Facts, clip(s.Runtime, clipName))
	}
	if s.Elapsed > 0 {
		p.Facts = append(p.Facts, span(int64(s.Elapsed)))
	}
	locks, controls := s.apart()
	p.Matrix, p.Controls, p.Script = gridOf(locks, "matrix"), gridOf(controls, "controls"), filterScript
	return p
}

// apart parts the controls from the locks that are for use. A suite of controls only is not parted.
func (s Suite) apart() (locks, controls Suite) {
	isControl := func(x Scenario) bool { return x.Control }
	locks, controls = s, s
	locks.Scenarios = slices.DeleteFunc(slices.Clone(s.Scenarios), isControl)
	if len(locks.Scenarios) == 0 {
		return s, Suite{}
	}
	controls.Scenarios = slices.DeleteFunc(slices.Clone(s.Scenarios), func(x Scenario) bool { return !isControl(x) })
	return locks, controls
}

// gridOf lays the scenarios out.
func gridOf(s Suite, id string) grid {
	g := grid{ID: id}
	g.Columns, g.Rows = matrix(s)
	if sparse(g.Columns, g.Rows) {
		return grid{ID: id, ByFault: byFault(g.Columns, g.Rows)}
	}
	for i, c := range g.Columns {
		g.Columns[i] = faultTitle(c)
	}
	for _, row := range g.Rows {
		g.Gaps = g.Gaps || slices.ContainsFunc(row.Cells, func(c matrixCell) bool { return len(c.Runs) == 0 })
	}
	return g
}

func listing(x Scenario) listed {
	l := listed{Of: facetsOf(x), Name: clip(x.Name, clipName), Href: link(x), About: clip(x.About, clipText), Result: x.Result(), Detail: x.Detail()}
	if c := x.noted().counters; len(c) > 0 && x.Result() == Corrupted && x.Verdict.Stats.Stale > 0 {
		l.Detail += "; " + damage(c)
	}
	if x.Elapsed > 0 {
		l.Elapsed = fmt.Sprintf("%.1f s", x.Elapsed.Seconds())
	}
	switch {
	case x.unexpected():
		l.Expected = "no"
	case len(x.Expect) > 0 && x.Met:
		l.Expected = "yes"
	}
	return l
}

// link points at the scenario's page, "" where it has none.
func link(x Scenario) string {
	if x.Dir == "" {
		return ""
	}
	return href(x.Dir, "report.html")
}

func tiles(s Suite) []tile {
	locks, controls := s.apart()
	n := locks.tally()
	unexpected, caught := 0, 0
	for _, x := range s.Scenarios {
		if x.unexpected() {
			unexpected++
		}
	}
	for _, x := range controls.Scenarios {
		if x.Met {
			caught++
		}
	}
	out := []tile{
		{grouped(n[Pass]), "pass", "p"},
		{grouped(n[Contained]), "contained by a fence", "c"},
		{grouped(n[Corrupted]), "data corrupted", "v"},
	}
	if n[Violated] > 0 {
		out = append(out, tile{grouped(n[Violated]), "violated, data whole", "v"})
	}
	out = append(out, tile{grouped(n[Inconclusive]), "inconclusive", "i"}, tile{grouped(n[Skipped]), "skipped", "s"})
	if n[Failed] > 0 {
		out = append(out, tile{grouped(n[Failed]), "failed", "f"})
	}
	if all := len(controls.Scenarios); all > 0 {
		t := tile{grouped(caught) + " / " + grouped(all), "controls as expected", ""}
		if caught < all {
			t.Class = "u"
		}
		out = append(out, t)
	}
	if unexpected > 0 {
		out = append(out, tile{grouped(unexpected), "not as expected", "u"})
	}
	for i := range out {
		if out[i].Count == "0" {
			out[i].Class = "zero"
		}
	}
	return out
}

// resultWords explains the results to those who see them for the first time.
var resultWords = []entry{
	{"pass", "No property was violated, enough happened for a violation to show, and every planned fault is proven to have met a holder. " +
		"It is evidence, not proof.", "p"},
	{"contained", "Two clients held the lock at once, and the fence refused what the earlier one wrote too late: the data is whole.", "c"},
	{"corrupted", "A stale write was accepted (its client no longer held the lock), or an update was lost.", "v"},
	{"violated", "Another property was violated: no stale write was accepted and no update lost, but it is not just a double-hold that a fence contained.", "v"},
	{"inconclusive", "The run does not show enough to judge: a fault that did not take effect, too few grants, a history that was cut. It is never a pass.", "i"},
	{"skipped", "Not run, for the reason given. It is never a pass.", "s"},
	{"failed", "The harness or a service failed. A violation that was certain by then is told on its page; otherwise there is nothing to judge.", "f"},
	{"defects", "In how many ways the lock certainly broke what it claims: it gave a key away while it was promised to another client, say.", ""},
	{"overruns", "How many grants were acted under past their lease, while a later grant of the key was held. No lease prevents that. An overrun counts once, however many later grants it overlaps.", ""},
	{"stale, refused", "How many writes the store took, or refused, of a client whose grant a later one had replaced.", ""},
}
