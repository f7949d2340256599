package reports

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

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

// matrixRow is one lock on one kind of store.
type matrixRow struct {
	Lock, Service, Store string
	First, More          bool // the first row of its lock, and not the last
	Cells                []matrixCell
}

// matrixCell holds the scenarios of one lock, store and fault; most often one, or none.
type matrixCell struct {
	Fault string
	Runs  []cellRun
}

type cellRun struct {
	Href, Name, Variant, Detail string
	Lock, Store                 string // known where the run stands under its fault, and not in a row of its lock
	Of                          facets
	Spark                       template.HTML
	Result                      Result
	Unexpected                  bool
	Want                        string
}

// trouble is what needs a reader's attention, with why: a scenario, or several that came to nothing for
// one cause.
type trouble struct {
	Runs             []troubled
	What, Class, Why string
	Do               string // what can be done about it
	Log              string
	Rerun            string // of the first
}

// Several reports whether it is more than one scenario.
func (t trouble) Several() bool { return len(t.Runs) > 1 }

// troubled is a scenario of a trouble. Note is what it has beside the others.
type troubled struct {
	Of               facets
	Name, Href, Note string
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

// matrix orders the scenarios: a row for every lock and store, a column for every fault, both as the suite first names them,
// but no fault first and the rows of a lock together.
func matrix(s Suite) (columns []string, rows []matrixRow) {
	for _, x := range s.Scenarios {
		if !slices.Contains(columns, x.Fault) {
			columns = append(columns, x.Fault)
		}
	}
	slices.SortStableFunc(columns, func(a, b string) int { return quietFirst(a) - quietFirst(b) })
	var locks []string
	for _, x := range s.Scenarios {
		if !slices.Contains(locks, x.Lock) {
			locks = append(locks, x.Lock)
		}
	}
	for _, lock := range locks {
		kinds := stores(s, lock)
		for i, store := range kinds {
			row := matrixRow{Lock: clip(lock, clipName), Store: clip(store, clipName), First: i == 0, More: i+1 < len(kinds)}
			for _, fault := range columns {
				row.Cells = append(row.Cells, cell(s, lock, store, fault))
			}
			for _, x := range s.Scenarios {
				if x.Lock == lock && x.Service != "" {
					row.Service = clip(x.Service, clipName)
				}
			}
			rows = append(rows, row)
		}
	}
	return columns, rows
}

func quietFirst(fault string) int {
	if isQuiet(fault) {
		return 0
	}
	return 1
}

// stores lists the kinds of store that a lock was run on, the unfenced first.
func stores(s Suite, lock string) []string {
	var out []string
	for _, x := range s.Scenarios {
		if x.Lock == lock && !slices.Contains(out, x.Store) {
			out = append(out, x.Store)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(b, a) })
	return out
}

func cell(s Suite, lock, store, fault string) matrixCell {
	c := matrixCell{Fault: faultTitle(fault)}
	for _, x := range s.Scenarios {
		if x.Lock != lock || x.Store != store || x.Fault != fault {
			continue
		}
		run := cellRun{Of: facetsOf(x), Spark: spark(x), Href: link(x), Name: clip(x.Name, clipName), Detail: x.Detail(), Result: x.Result(), Unexpected: x.unexpected()}
		if missed := x.unmet(); run.Unexpected && len(missed) > 0 {
			run.Want = missed[0].Names + ": want " + missed[0].Want
		}
		if v := variant(x); len(c.Runs) > 0 || v != "" && len(strings.Split(x.Name, "/")) > 3 {
			run.Variant = clip(v, clipName)
		}
		c.Runs = append(c.Runs, run)
	}
	return c
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

// troubles lists what is not as expected, then what failed, was skipped or says nothing. What has one
// cause is told once.
func troubles(s Suite) []trouble {
	var out []trouble
	for _, x := range s.Scenarios {
		if x.unexpected() {
			out = append(out, tellTrouble(x))
		}
	}
	for _, r := range []Result{Failed, Inconclusive, Skipped} {
		for _, group := range gather(s.Scenarios, func(x Scenario) bool { return x.Result() == r && !x.unexpected() }) {
			t := tellTrouble(group[0])
			if len(group) > 1 && r == Failed {
				why, do := cause(group[0].Failed)
				t.Why, t.Do, t.Runs[0].Note = sentence(clip(why, clipText)), do, alsoViolated(group[0])
			}
			for _, x := range group[1:] {
				t.Runs = append(t.Runs, troubled{facetsOf(x), clip(x.Name, clipName), link(x), alsoViolated(x)})
			}
			out = append(out, t)
		}
	}
	return out
}

// alsoViolated tells what was certain before the scenario failed; "": nothing.
func alsoViolated(x Scenario) string {
	if !x.violatedThough() {
		return ""
	}
	return list(x.violatedNames()) + " violated before"
}

func tellTrouble(x Scenario) trouble {
	t := trouble{Runs: []troubled{{Of: facetsOf(x), Name: clip(x.Name, clipName), Href: link(x)}}, What: x.Result().String(),
		Class: resultClass(x.Result()), Rerun: clip(x.Rerun, clipText)}
	switch {
	case x.Failed != "":
		t.Why = sentence(clip(firstLine(x.Failed), clipText))
		_, t.Do = cause(x.Failed)
		if x.violatedThough() {
			t.Why += " What was recorded until then certainly shows " + list(x.violatedNames()) + " violated."
		}
		if strings.Contains(strings.TrimSpace(x.Failed), "\n") {
			t.Log = clip(x.Failed, clipLog)
		}
	case x.Skipped != "":
		t.Why, t.Rerun = sentence(clip(x.Skipped, clipText)), ""
	case x.unexpected():
		t.What, t.Class = "unexpected", "u"
		var diff []string
		for _, e := range x.unmet() {
			diff = append(diff, e.Names+" should be "+e.Want+" and "+e.Is+" "+e.Got+".")
		}
		if len(x.Verdict.Reasons) > 0 {
			diff = append(diff, sentence(clip(strings.Join(x.Verdict.Reasons, " "), clipText)))
		}
		t.Why = strings.Join(diff, " ")
	default:
		t.Why = clip(strings.Join(x.Verdict.Reasons, " "), clipText)
	}
	return t
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
