package reports

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/history"
)

// reportPage is what report.html shows.
type reportPage struct {
	CSS      template.CSS
	S        Scenario
	Name     string
	Path     []string
	Pill     tile
	Verdict  string // in the checker's own words
	Counter  []tile
	Headline prose
	Lede     prose
	Meta     []string
	Kind     entry
	Patterns []prose
	Missed   []unmet
	Reasons  []string // those that the lede does not tell
	Log      string

	StoryTitle string
	Story      *story
	Witness    prose // what the story's witness is
	Sequence   template.HTML
	Timeline   timeline
	CloseUp    timeline // of the violation, where it is but a sliver of its story; a page opens on it
	Overview   drawings
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
	Clocks      clockPart
	Needs       []needRow
	Timings     []TimingRow
	Figures     []string // what else there is to say in figures
	FiguresNote string
	Latency     latencyPart
	Throughput  throughputPart
	Advice      []remedy
	TodoFirst   bool   // it stands above what was recorded, which is not what went wrong
	Why         string // why the outcome was expected, where the lede has no room for it
	Versions    []history.Part
	Again       []string
	Files       []fileLink
	// Place is how the page's address ends where the files that it links to are: "/redis-setnx.none.unfenced/report.html". InPlace takes the links away
	// elsewhere. "": nothing is known of the page's folder.
	Place    string
	InPlace  template.JS
	Attached []fileLink // what the page carries in itself
	Unpack   template.JS

	told  *checker.Violation
	jumps []*checker.Violation // in order of time: the number that a link names is a violation's place here, from 1
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
func WriteScenario(w io.Writer, s Scenario) error {
	p := reportPage{CSS: css, S: s, Name: clip(s.Name, clipName), Missed: s.unmet(), Reasons: s.Verdict.Reasons, Files: fileLinks(s), Attached: attach(s), Unpack: downloadScript,
		Place: placeOf(s), InPlace: placeScript}
	p.Path = strings.Split(p.Name, "/")
	p.Pill = pill(s)
	p.TodoFirst = !s.judged()
	if s.Result() == Inconclusive && len(p.Reasons) > 0 {
		p.Reasons = p.Reasons[1:] // the lede tells the first
	}
	p.Log = reported(s.Failed)
	for _, c := range []string{s.Rerun, s.Recheck} {
		if c != "" {
			p.Again = append(p.Again, clip(c, clipText))
		}
	}
	var t *story
	var r *record
	told := s.Skipped == "" && (s.Failed == "" || s.violatedThough())
	if s.History != nil && s.Skipped == "" {
		r = newRecord(s.History, s.Verdict)
		r.unsaid = s.unsaid
		s.noteRecord(r)
		p.Counter = counterTiles(s.noted().counters)
	}
	if r != nil && told {
		t = p.tell(s, r)
	}
	p.Verdict = verdictWords(s)
	p.Headline = headline(s, t)
	if told {
		p.Patterns = s.patternProse()
	}
	p.Lede, p.Why = lede(s, r, t)
	if told {
		p.judged(s, r)
	}
	if told && r != nil {
		p.Throughput = r.throughput()
	}
	if s.History != nil {
		h := s.History
		p.Meta, p.Versions = metaLine(h), h.Header.Versions
		if len(s.StandIns) == 0 {
			p.S.StandIns = h.Header.StandIns
		}
	}
	p.Advice = advice(s, s.header(), t)
	return render(w, "report.html.tmpl", p)
}

// tell fills in the story and its drawings, and returns the violation's story; nil when there is none.
func (p *reportPage) tell(s Scenario, r *record) *story {
	service := s.Service
	if service == "" {
		service = s.History.Header.Service
	}
	service = strings.TrimSuffix(service, " ×1")
	p.HasTokens = len(r.grants) > 0 && r.grants[0].token != 0
	v := telling(s, r)
	p.told = v
	p.jumps = jumpable(s, v)
	defer func() {
		first := p.Timeline
		if p.CloseUp.to > 0 {
			first = p.CloseUp
		}
		p.Explore, p.Script = r.explore(first, p.Timeline, v, p.jumps, service), timelineScript
	}()
	p.Lossy = s.count(checker.LostUpdate) > s.count(checker.UnfencedWrite)
	_, _, p.Overlaps = overlap(v)
	if v == nil {
		if t, n := r.handover(); t != nil {
			p.StoryTitle, p.Story = "How the lock changes hands", t
			if n > 1 {
				p.StoryTitle += ": one of " + grouped(n) + " contended hand-overs"
			}
			p.Sequence = r.sequence(t, service)
		}
		from, to := r.beginning()
		p.Timeline = r.window(nil, nil, service, from, to)
		p.Timeline.Caption = fmt.Sprintf("The first %s of the workload", span(to-from))
		p.Overview = r.overviews(s.Verdict, p.Timeline)
		return nil
	}
	p.Marked = marked(s)
	t := r.retell(s, v, nil)
	p.Pair, p.Ordered = t.a != nil && t.b != nil, t.ordered()
	if len(t.Moments) > 0 { // what the whole run shows, and no single op, has no story
		p.StoryTitle, p.Story = "What happened", &t
		if w := s.witnessOf(v); w != nil {
			small := r.retell(s, v, w.keeps())
			p.Story, p.Witness = &small, w.caption()
		}
	}
	if v.Kind != "" {
		p.Kind = entry{Word: clip(v.Kind, clipName), Means: kindWords(v.Kind)}
	}
	p.Sequence = r.sequence(cmp.Or(p.Story, &t), service)
	from, to := r.around(&t)
	doubles := doubleHolds(s)
	p.Many = len(doubles) > 1 && p.Overlaps
	p.HoldNote = r.holdNote(&t)
	p.Timeline = r.window(&t, doubles, service, from, to)
	p.Timeline.Caption = fmt.Sprintf("%s around %s, at %s", span(to-from), which(s, v), r.at(v.At))
	if lo, hi, ok := r.closeUpOf(&t, from, to); ok {
		p.CloseUp = r.window(&t, doubles, service, lo, hi)
		p.CloseUp.Caption = fmt.Sprintf("Close up: %s around %s, at %s", span(hi-lo), which(s, v), r.at(v.At))
		p.Timeline.Caption = "The whole story: " + span(to-from)
	}
	p.Overview = r.overviews(s.Verdict, p.Timeline)
	return &t
}

// When is a moment's instant, as the history has it.
func (p reportPage) When(m moment) string { return p.S.voice().at(m.At) }

// Lines says on which lines of a log a moment's op stands; "" where there are none.
func (p reportPage) Lines(m moment) string {
	if m.op == nil {
		return ""
	}
	return p.S.lines(m.op.id)
}

// marked says what the triangles of an overview are.
func marked(s Scenario) string {
	x := s.property(checker.MutualExclusion)
	switch {
	case x == nil || x.Count == 0:
		return ""
	case x.Count > len(x.Violations):
		return fmt.Sprintf("Triangles: where double-holds begin. %d of %s are marked, those that verdict.json keeps.", len(x.Violations), grouped(x.Count))
	}
	return "Triangles: where double-holds begin."
}

// which names a violation among those of its property.
func which(s Scenario, v *checker.Violation) string {
	what := v.Property + " violation"
	if v.Property == checker.MutualExclusion {
		what = "double-hold"
	}
	if s.count(v.Property) == 1 {
		return "the " + what
	}
	return "the " + what + " told above"
}

// pill is the result in one word, the same as in the matrix, beside the headline.
func pill(s Scenario) tile {
	r := s.Result()
	return tile{Word: r.String(), Class: resultClass(r)}
}

// verdictWords is the verdict in the checker's own words, where they differ from the result's.
func verdictWords(s Scenario) string {
	if s.Verdict.Outcome != checker.Violated || s.Skipped != "" {
		return ""
	}
	if word := severityWord(s.Verdict.Severity); word != "" {
		return "violated, severity " + word
	}
	return "violated"
}

// placeOf is how the address of a scenario's page ends as long as it lies in the folder of its run; "" where it has none.
func placeOf(s Scenario) string {
	if s.Run == "" || s.Alone || s.Dir == "" || harmless.Line(s.Dir) != s.Dir {
		return ""
	}
	return "/" + s.Dir + "/" + PageFile
}

// fileLinks lists what lies beside the page.
func fileLinks(s Scenario) []fileLink {
	if s.Skipped != "" {
		return nil
	}
	var out []fileLink
	if s.History != nil {
		file := cmp.Or(s.HistoryFile, "history.jsonl")
		out = append(out, fileLink{Href: href(file), Name: file, Note: plural(s.Verdict.Stats.Ops, "op")})
		for _, w := range s.Witnesses {
			out = append(out, fileLink{Href: href(w.File), Name: w.File, Note: fmt.Sprintf("the %s that show a violation of %s", plural(int64(w.Ops), "op"), w.Property)})
		}
	}
	out = append(out, fileLink{Href: href("verdict.json"), Name: "verdict.json"})
	if s.Alone {
		return out
	}
	return append(out, fileLink{Href: href("plan.yaml"), Name: "plan.yaml"}, fileLink{Href: href("logs") + "/", Name: "logs/", Note: "services and workers"})
}
