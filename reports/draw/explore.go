package draw

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

// The most that the timeline to be explored carries. What is beyond it is shown as density.
const (
	exploreOps        = 9000
	exploreLanes      = 40
	exploreViolations = 300
	// writes that were refused or should have been, outside of what is shown op by op
	exploreSpecial = 2000
	exploreFaults  = 1000
)

// Explorer is the timeline as data: it decides what there is to see, of the whole
// run. script/*.js draws from it what a reader zooms to, and Still what a page
// shows without a script. Every number of time is in µs since the run's origin.
type Explorer struct {
	End int64 `json:"end"`
	// Clock is the time of day at the origin (µs since 1970, without a zone) where instants
	// are told as such, with their dates if Days; Base is what to add to them otherwise.
	Clock int64 `json:"clock,omitempty"`
	Days  bool  `json:"days,omitempty"`
	Base  int64 `json:"base,omitempty"`
	// Named: the clients have names of their own, which may be long.
	Named bool `json:"named,omitempty"`
	// View is what to show first, Told which violation the page tells (from 1; 0: none).
	View [2]int64 `json:"view"`
	Told int      `json:"told,omitempty"`
	// Lanes are the clients, then the nodes that a fault struck, the lock service and the
	// store; Clients is how many of them are clients, More how many clients have no lane.
	Lanes   []string     `json:"lanes"`
	Clients int64        `json:"clients"`
	More    int          `json:"more,omitempty"`
	Keys    []string     `json:"keys"`
	Holds   table[hold]  `json:"holds"`
	Waits   table[wait]  `json:"waits"`
	Marks   table[mark]  `json:"marks"`
	Writes  table[write] `json:"writes"`
	Faults  []Band       `json:"faults"`
	// Violations are those that can be jumped to, in order of time.
	Violations []Place `json:"violations"`
	// Detail are the stretches that are shown op by op, nil for the whole run;
	// Density tells of the rest.
	Detail  [][2]int64 `json:"detail,omitempty"`
	Density *Density   `json:"density,omitempty"`
	// WaitWords and WriteWords say what became of a wait and of a write, by their how.
	WaitWords  []string `json:"waitWords"`
	WriteWords []string `json:"writeWords"`

	labels reports.Labels
}

// Band is a fault on the lanes that it touches.
type Band struct {
	From  int64   `json:"from"`
	To    int64   `json:"to"`
	Lanes []int64 `json:"lanes"`
	Strip bool    `json:"strip,omitempty"` // beside the lane: the client itself is untouched
	Stall bool    `json:"stall,omitempty"` // nobody injected it
	// Grant is the grant that its client held when it began, 0 for none.
	Grant int64  `json:"grant,omitempty"`
	Word  string `json:"word"`
	Text  string `json:"text"`
}

// Place is where a violation lies.
type Place struct {
	At   int64 `json:"at"`
	From int64 `json:"from,omitempty"` // an overlap has both
	To   int64 `json:"to,omitempty"`
	// View is a close up: it shows who held and who wrote. Story is all of it,
	// from the earlier grant on.
	View  [2]int64 `json:"view"`
	Story [2]int64 `json:"story"`
	// A and B are its grants, as numbered in Holds; Lease is when the promise of A ended.
	A     int64  `json:"a,omitempty"`
	B     int64  `json:"b,omitempty"`
	Lease int64  `json:"lease,omitempty"`
	What  string `json:"what"`
	Label string `json:"label"` // for the place itself: what lay between From and To, and how long
	Text  string `json:"text"`
}

// Explore makes the timeline's data. first and shown are the windows (ns) that
// the page opens on, a close up and all of the story; without a close up they
// are the same. Its violations are numbered as jumps are.
func Explore(r *reports.Record, first, shown [2]int64, told *checker.Violation, jumps []*checker.Violation,
	service string) *Explorer {
	x := &Explorer{End: phrase.Micro(r.End), Clock: r.Local(), Days: r.Days, Base: phrase.Micro(r.Base()),
		Named: len(r.Names) > 0, View: micros(first), Told: 1 + NumberOf(told, jumps),
		Faults: []Band{}, Violations: []Place{}, WaitWords: waitWords, WriteWords: writeWords, labels: r.Labels}
	for i := range r.History.Keys {
		x.Keys = append(x.Keys, r.Key(history.KeyID(i)))
	}
	lanes := lanes(r, x, service)
	for _, v := range jumps {
		x.Violations = append(x.Violations, placeOf(r, v))
	}
	if v := x.toldViolation(); v != nil {
		v.View, v.Story = x.View, micros(shown)
	}
	inside := detail(r, x, stretch{shown[0], shown[1]}, jumps)
	fill(r, x, lanes, inside)
	for _, f := range r.Faults[:min(len(r.Faults), exploreFaults)] {
		x.Faults = append(x.Faults, lanes.band(f))
	}
	return x
}

// toldViolation is the violation that the page tells, nil for none.
func (x *Explorer) toldViolation() *Place {
	if x.Told == 0 {
		return nil
	}
	return &x.Violations[x.Told-1]
}

func micros(ns [2]int64) [2]int64 { return [2]int64{phrase.Micro(ns[0]), phrase.Micro(ns[1])} }

// JSON is the data for the script.
func (x *Explorer) JSON() template.JS {
	data, err := json.Marshal(x)
	if err != nil {
		panic(fmt.Sprintf("timeline: %v", err)) // numbers and strings: nothing in it can fail
	}
	return template.JS(data)
}

// Jumpable lists the violations that a reader can jump to, in order of time:
// each property has its share.
func Jumpable(s reports.Scenario, told *checker.Violation) []*checker.Violation {
	var out []*checker.Violation
	kinds := 0
	for i := range s.Verdict.Properties {
		if s.Verdict.Properties[i].Outcome == checker.Violated {
			kinds++
		}
	}
	for i := range s.Verdict.Properties {
		if p := &s.Verdict.Properties[i]; p.Outcome == checker.Violated {
			of := reports.ByTime(p)
			out = append(out, of[:min(len(of), exploreViolations/kinds)]...)
		}
	}
	if told != nil && NumberOf(told, out) < 0 {
		out = append(out, told)
	}
	slices.SortStableFunc(out, func(a, b *checker.Violation) int { return cmp.Compare(a.At, b.At) })
	return out
}

// laneSet finds the lane of whatever has one.
type laneSet struct {
	r              *reports.Record
	clients        map[int32]int64
	nodes          map[string]int64
	service, store int64
}

// lanes names the lanes.
func lanes(r *reports.Record, x *Explorer, service string) *laneSet {
	l := &laneSet{r: r, clients: map[int32]int64{}, nodes: map[string]int64{}}
	probe := false
	for _, c := range r.Clients {
		switch {
		case probes(r, c): // they come one after the other, at the end
			probe = true
		case len(x.Lanes) == exploreLanes:
			x.More++
		default:
			l.clients[c] = int64(len(x.Lanes))
			x.Lanes = append(x.Lanes, r.Lane(c, 14))
		}
	}
	if probe {
		for _, c := range r.Clients {
			if probes(r, c) {
				l.clients[c] = int64(len(x.Lanes))
			}
		}
		x.Lanes = append(x.Lanes, "probe")
	}
	x.Clients = int64(len(x.Lanes))
	for _, n := range struckNodes(r) {
		l.nodes[n] = int64(len(x.Lanes))
		x.Lanes = append(x.Lanes, phrase.Cut(n, 14))
	}
	l.service = int64(len(x.Lanes))
	l.store = l.service + 1
	x.Lanes = append(x.Lanes, phrase.Cut(service, 14), "store")
	return l
}

// struckNodes lists the nodes of the lock service that a fault struck, by name.
func struckNodes(r *reports.Record) []string {
	var out []string
	for _, f := range r.Faults {
		for _, h := range f.Hosts {
			if f.Service && !strings.HasPrefix(h, "client-") && h != "store" && !slices.Contains(out, h) &&
				len(out) < exploreLanes {
				out = append(out, h)
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		if len(a) != len(b) { // redis-2 before redis-10
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return out
}

// band places a fault.
func (l *laneSet) band(f *history.FaultSpan) Band {
	word := story.Did(f)
	b := Band{From: phrase.Micro(f.From), To: phrase.Micro(max(f.To, f.From)), Stall: !f.Injected, Grant: f.Holding,
		Word: word, Lanes: []int64{},
		Text: fmt.Sprintf("%s %s: %s", phrase.Clip(f.Target, phrase.MostName), word,
			phrase.Clip(phrase.FirstLine(f.Evidence), 200))}
	add := func(i int64, ok bool) {
		if ok && !slices.Contains(b.Lanes, i) {
			b.Lanes = append(b.Lanes, i)
		}
	}
	for _, c := range f.Clients {
		i, ok := l.clients[c]
		add(i, ok)
	}
	if len(f.Clients) == 0 && f.Victim != 0 {
		i, ok := l.clients[f.Victim]
		add(i, ok)
		b.Strip = ok
	}
	if f.Service {
		known := false
		for _, h := range f.Hosts {
			i, ok := l.nodes[h]
			add(i, ok)
			known = known || ok
		}
		add(l.service, !known)
		if !known && f.Target != "" && len(f.Target) <= 12 { // the lane is not its own
			b.Word = phrase.Clip(f.Target, 12) + " " + word
		}
	}
	add(l.store, f.Store)
	return b
}

// NumberOf finds a violation, or a copy of it, among others; -1: it is not there.
func NumberOf(v *checker.Violation, all []*checker.Violation) int {
	if v == nil {
		return -1
	}
	return slices.IndexFunc(all, func(x *checker.Violation) bool { return reports.SameViolation(x, v) })
}

// GoBetween is what an address says to show an interval in the timeline, with some air.
func GoBetween(from, to int64) string {
	air := max((to-from)/4, 50e6)
	return fmt.Sprintf("t=%.6f-%.6f", float64(max(from-air, 0))/1e9, float64(max(to, from)+air)/1e9)
}
