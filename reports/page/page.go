// Package page makes the HTML pages: a suite, a scenario, a gate's ruling, an exam, repetitions,
// a comparison, a safety curve. A page is one file, which asks nobody for anything.
package page

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/draw"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

// reportPage is what report.html shows.
type reportPage struct {
	CSS      template.CSS
	S        reports.Scenario
	Name     string
	Path     []string
	Pill     tile
	Verdict  string // in the checker's own words
	Counter  []tile
	Headline story.Prose
	Lede     story.Prose
	Meta     []string
	Kind     story.Entry
	Patterns []story.Prose
	Missed   []reports.Unmet
	Reasons  []string // those that the lede does not tell
	Log      string

	StoryTitle string
	Story      *story.Story
	Witness    story.Prose // what the story's witness is
	Sequence   template.HTML
	Timeline   draw.Timeline
	// of the violation, where it is but a sliver of its story; a page opens on it
	CloseUp  draw.Timeline
	Overview draw.Drawings
	// Explore is the same as data, from which Script draws what a reader zooms to.
	Explore   template.JS
	Script    template.JS
	Marked    string // which violations the overview marks
	HoldNote  string // why a client that did nothing for long held all the time
	Many      bool   // the timeline shows more double-holds than the one told
	HasTokens bool   // the grants in sight carry tokens
	Pair      bool   // the timeline tells of two grants
	Ordered   bool   // and one of them was certainly the earlier grant of their key
	Overlaps  bool   // the timeline shows a double-hold
	Lossy     bool   // it shows a write that lost an update without being stale itself

	Properties []propertyRow
	Groups     []violationGroup
	Faults     []faultRow
	// Undisturbed: no fault was planned.
	Undisturbed bool
	Bites       []biteRow
	ManyKinds   bool // the bites are of more than one kind of fault
	MoreBites   string
	Clocks      draw.ClockPart
	Needs       []needRow
	Timings     []story.TimingRow
	Figures     []string // what else there is to say in figures
	FiguresNote string
	Latency     latencyPart
	Throughput  draw.ThroughputPart
	Advice      []story.Remedy
	TodoFirst   bool   // it stands above what was recorded, which is not what went wrong
	Why         string // why the outcome was expected, where the lede has no room for it
	Versions    []history.Part
	Again       []string
	Files       []fileLink
	// Place is how the page's address ends where the files that it links to
	// are: "/redis-setnx.none.unfenced/report.html". InPlace takes the links
	// away elsewhere. "": nothing is known of the page's folder.
	Place    string
	InPlace  template.JS
	Attached []fileLink // what the page carries in itself
	Unpack   template.JS

	told *checker.Violation
	// in order of time: the number that a link names is a violation's place here, from 1
	jumps []*checker.Violation
}

type latencyPart struct {
	Drawing  template.HTML
	P50, P99 string
	Note     string
}

type fileLink struct {
	Href, Name, Note string
	Data             template.URL // the file itself, compressed; see attach
}

// WriteScenario writes report.html: one scenario's verdict, and everything that it rests on.
func WriteScenario(w io.Writer, s reports.Scenario) error {
	p := reportPage{CSS: css(), S: s, Name: phrase.Clip(s.Name, phrase.MostName), Missed: s.Unmet(),
		Reasons: s.Verdict.Reasons, Files: fileLinks(s), Attached: attach(s), Unpack: downloadScript(),
		Place: placeOf(s), InPlace: placeScript()}
	p.Path = strings.Split(p.Name, "/")
	p.Pill = pill(s)
	p.TodoFirst = !s.Judged()
	if s.Result() == reports.Inconclusive && len(p.Reasons) > 0 {
		p.Reasons = p.Reasons[1:] // the lede tells the first
	}
	p.Log = story.Reported(s.Failed)
	p.Again = slices.DeleteFunc([]string{phrase.Clip(s.Rerun, phrase.MostText),
		phrase.Clip(s.Recheck, phrase.MostText)}, func(c string) bool { return c == "" })
	r := p.record(s)
	var t *story.Story
	if told := s.Skipped == "" && (s.Failed == "" || s.ViolatedThough()); told {
		if r != nil {
			t = p.tell(s, r)
			p.Throughput = draw.Throughput(r)
		}
		p.Patterns = story.PatternProse(s)
		p.judged(s, r)
	}
	p.Verdict = verdictWords(s)
	p.Headline = story.Headline(s, t)
	p.Lede, p.Why = story.Lede(s, r, t)
	p.Advice = story.Advice(s, s.Header(), t)
	return render(w, "report.html.tmpl", p)
}

// record fills in what the page says of the history, and returns its record; nil without a history,
// and of what was not run.
func (p *reportPage) record(s reports.Scenario) *reports.Record {
	if s.History == nil {
		return nil
	}
	h := s.History
	p.Meta, p.Versions = story.MetaLine(h), h.Header.Versions
	if len(s.StandIns) == 0 {
		p.S.StandIns = h.Header.StandIns
	}
	if s.Skipped != "" {
		return nil
	}
	r := reports.NewRecord(h, s.Verdict)
	r.Unsaid = s.Unsaid
	s.NoteRecord(r)
	p.Counter = counterTiles(s.Noted().Counters)
	return r
}

// tell fills in the story and its drawings, and returns the violation's story;
// nil when there is none.
func (p *reportPage) tell(s reports.Scenario, r *reports.Record) *story.Story {
	service := s.Service
	if service == "" {
		service = s.History.Header.Service
	}
	service = strings.TrimSuffix(service, " ×1")
	p.HasTokens = len(r.Grants) > 0 && r.Grants[0].Token.Given()
	v := reports.MainViolation(s, r)
	p.told = v
	p.jumps = draw.Jumpable(s, v)
	p.Lossy = s.Count(checker.LostUpdate) > s.Count(checker.UnfencedWrite)
	_, _, p.Overlaps = reports.Overlap(v)
	if v == nil {
		if t, n := story.Handover(r); t != nil {
			p.StoryTitle, p.Story = "How the lock changes hands", t
			if n > 1 {
				p.StoryTitle += ": one of " + phrase.Grouped(n) + " contended hand-overs"
			}
			p.Sequence = draw.Sequence(r, t, service)
		}
		from, to := draw.Beginning(r)
		x := p.explore(r, [2]int64{from, to}, [2]int64{from, to}, service)
		p.Timeline = x.Still(from, to)
		p.Timeline.Caption = fmt.Sprintf("The first %s of the workload", phrase.Span(to-from))
		p.Overview = draw.Overviews(r, s.Verdict, p.Timeline)
		return nil
	}
	p.Marked = marked(s)
	t := story.Retell(r, s, v, nil)
	p.Pair, p.Ordered = t.A != nil && t.B != nil, t.Ordered()
	if len(t.Moments) > 0 { // what the whole run shows, and no single op, has no story
		p.StoryTitle, p.Story = "What happened", &t
		if w := s.WitnessOf(v); w != nil {
			small := story.Retell(r, s, v, w.Keeps())
			p.Story, p.Witness = &small, story.Caption(w)
		}
	}
	if v.Kind != "" {
		p.Kind = story.Entry{Word: phrase.Clip(v.Kind, phrase.MostName), Means: story.KindWords(v.Kind)}
	}
	p.Sequence = draw.Sequence(r, cmp.Or(p.Story, &t), service)
	from, to := draw.Around(r, &t)
	p.Many = p.Overlaps && s.Count(checker.MutualExclusion) > 1
	p.HoldNote = draw.HoldNote(r, &t)
	lo, hi, closer := draw.CloseUpOf(r, &t, from, to)
	if !closer {
		lo, hi = from, to
	}
	x := p.explore(r, [2]int64{lo, hi}, [2]int64{from, to}, service)
	p.Timeline = x.Still(from, to)
	p.Timeline.Caption = fmt.Sprintf("%s around %s, at %s", phrase.Span(to-from), which(s, v), r.At(v.At))
	if closer {
		p.CloseUp = x.Still(lo, hi)
		p.CloseUp.Caption = fmt.Sprintf("Close up: %s around %s, at %s", phrase.Span(hi-lo), which(s, v), r.At(v.At))
		p.Timeline.Caption = "The whole story: " + phrase.Span(to-from)
	}
	p.Overview = draw.Overviews(r, s.Verdict, p.Timeline)
	return &t
}

// explore makes the timeline's data, which is drawn once for readers without a
// script, and by the script.
func (p *reportPage) explore(r *reports.Record, first, shown [2]int64, service string) *draw.Explorer {
	x := draw.Explore(r, first, shown, p.told, p.jumps, service)
	p.Explore, p.Script = x.JSON(), timelineScript()
	return x
}

// When is a moment's instant, as the history has it.
func (p reportPage) When(m story.Moment) string { return p.S.Labels().At(m.At) }

// Lines says on which lines of a log a moment's op stands; "" where there are none.
func (p reportPage) Lines(m story.Moment) string {
	if m.Op == nil {
		return ""
	}
	return p.S.LinesOf(m.Op.ID)
}

// marked says what the triangles of an overview are.
func marked(s reports.Scenario) string {
	x := s.Property(checker.MutualExclusion)
	switch {
	case x == nil || x.Count == 0:
		return ""
	case x.Count > len(x.Violations):
		return fmt.Sprintf("Triangles: where double-holds begin. %d of %s are marked, those that verdict.json keeps.",
			len(x.Violations), phrase.Grouped(x.Count))
	}
	return "Triangles: where double-holds begin."
}

// which names a violation among those of its property.
func which(s reports.Scenario, v *checker.Violation) string {
	what := v.Property + " violation"
	if v.Property == checker.MutualExclusion {
		what = "double-hold"
	}
	if s.Count(v.Property) == 1 {
		return "the " + what
	}
	return "the " + what + " told above"
}

// pill is the result in one word, the same as in the matrix, beside the headline.
func pill(s reports.Scenario) tile {
	r := s.Result()
	return tile{Word: r.String(), Class: resultClass(r)}
}

// verdictWords is the verdict in the checker's own words, where they differ from the result's.
func verdictWords(s reports.Scenario) string {
	if s.Verdict.Outcome != checker.Violated || s.Skipped != "" {
		return ""
	}
	if word := story.SeverityWord(s.Verdict.Severity); word != "" {
		return "violated, severity " + word
	}
	return "violated"
}

// placeOf is how the address of a scenario's page ends as long as it lies in
// the folder of its run; "" where it has none.
func placeOf(s reports.Scenario) string {
	if s.Run == "" || s.Alone || s.Dir == "" || harmless.Line(s.Dir) != s.Dir {
		return ""
	}
	return "/" + s.Dir + "/" + reports.PageFile
}

// fileLinks lists what lies beside the page.
func fileLinks(s reports.Scenario) []fileLink {
	if s.Skipped != "" {
		return nil
	}
	var out []fileLink
	if s.History != nil {
		file := cmp.Or(s.HistoryFile, "history.jsonl")
		out = append(out, fileLink{Href: href(file), Name: file, Note: phrase.Plural(s.Verdict.Stats.Ops, "op")})
		for _, w := range s.Witnesses {
			out = append(out, fileLink{Href: href(w.File), Name: w.File,
				Note: fmt.Sprintf("the %s that show a violation of %s", phrase.Plural(int64(w.Ops), "op"), w.Property)})
		}
	}
	out = append(out, fileLink{Href: href("verdict.json"), Name: "verdict.json"})
	if s.Alone {
		return out
	}
	return append(out, fileLink{Href: href("plan.yaml"), Name: "plan.yaml"},
		fileLink{Href: href("logs") + "/", Name: "logs/", Note: "services and workers"})
}

// goTo is what an address says to show a violation in the timeline; "" where it can't be jumped to.
func (p *reportPage) goTo(v *checker.Violation) string {
	if i := draw.NumberOf(v, p.jumps); i >= 0 {
		return fmt.Sprintf("v=%d", i+1)
	}
	return ""
}
