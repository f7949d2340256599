package screen

import (
	"encoding/json"
	"io"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// event is one line of --format json. Its form is docs/schema/progress.json;
// fields that an event does not have are left out.
type event struct {
	Event string    `json:"event"`
	Time  time.Time `json:"time"`

	// Of the run.
	Version   string `json:"lockchaos,omitempty"`
	Suite     string `json:"suite,omitempty"`
	Runtime   string `json:"runtime,omitempty"`
	Scenarios int    `json:"scenarios,omitempty"`
	Parallel  int    `json:"parallel,omitempty"`

	// Of an attack of an exam.
	Attack   string        `json:"attack,omitempty"`
	Takes    time.Duration `json:"takes_ns,omitempty"`
	Why      string        `json:"why,omitempty"`
	Fix      string        `json:"fix,omitempty"`
	Fate     string        `json:"fate,omitempty"`
	Told     string        `json:"told,omitempty"`
	Shortest []string      `json:"shortest,omitempty"`
	Report   string        `json:"report,omitempty"`
	StandIns []string      `json:"stand_ins,omitempty"`

	// Of one scenario.
	Scenario string  `json:"scenario,omitempty"`
	Seed     *uint64 `json:"seed,omitempty"`
	Phase    string  `json:"phase,omitempty"`
	Grants   int64   `json:"grants,omitempty"`

	Text     string   `json:"text,omitempty"`
	Services []string `json:"services,omitempty"`

	Violation *checker.Violation `json:"violation,omitempty"`

	Result     string          `json:"result,omitempty"`
	Outcome    string          `json:"outcome,omitempty"`
	Severity   string          `json:"severity,omitempty"`
	Met        *bool           `json:"met,omitempty"`
	Properties []propertyEvent `json:"properties,omitempty"`
	Reasons    []string        `json:"reasons,omitempty"`
	Failed     string          `json:"failed,omitempty"`
	Skipped    string          `json:"skipped,omitempty"`
	Dir        string          `json:"dir,omitempty"`
	Elapsed    time.Duration   `json:"elapsed_ns,omitempty"`
	Findings   []findingEvent  `json:"findings,omitempty"`
	Exit       *int            `json:"exit_status,omitempty"`
}

type propertyEvent struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome"`
	Count   int    `json:"count,omitempty"`
}

// findingEvent is what needs to be known of a run, as in gate.json.
type findingEvent struct {
	Level    reports.Level `json:"level"`
	Rule     string        `json:"rule"`
	Scenario string        `json:"scenario,omitempty"`
	File     string        `json:"file,omitempty"`
	Line     int           `json:"line,omitempty"`
	Text     string        `json:"text"`
	Known    string        `json:"known,omitempty"`
	Times    int           `json:"times"`
	Of       int           `json:"of"`
	Again    string        `json:"again,omitempty"`
}

func findingEvents(s reports.Suite) []findingEvent {
	all := []findingEvent{}
	for _, f := range s.Findings() {
		all = append(all, findingEvent{Level: f.Level, Rule: f.Rule, Scenario: f.Scenario, File: f.File, Line: f.Line,
			Text: f.Text, Known: f.Known, Times: f.Times, Of: f.Of,
			Again: f.Again})
	}
	return all
}

// eventWriter writes events as they come, one a line. The screen's lock is held meanwhile.
type eventWriter struct{ enc *json.Encoder }

func newEventWriter(w io.Writer) *eventWriter {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &eventWriter{enc}
}

// write writes an event; nil writes none. A reader who has gone has no use for
// the rest, and the run goes on.
func (w *eventWriter) write(e event) {
	if w == nil {
		return
	}
	e.Time = time.Now().UTC()
	_ = w.enc.Encode(e)
}

// attack is one that would be made (takes is how long), or one that is not (why).
func (w *eventWriter) attack(name, scenario, about string, takes time.Duration) {
	w.write(event{Event: "attack", Attack: name, Scenario: scenario, Text: about, Takes: takes})
}

func (w *eventWriter) notMade(name, why, fix string) {
	w.write(event{Event: "attack", Attack: name, Why: why, Fix: fix})
}

func (w *eventWriter) lacking(text string) { w.write(event{Event: "lacking", Text: text}) }

func (w *eventWriter) run(r reports.Suite, scenarios, parallel int, seed uint64) {
	w.write(event{Event: "run", Version: r.Version, Suite: r.Name, Runtime: r.Runtime, Scenarios: scenarios,
		Parallel: parallel, Seed: &seed})
}

func (w *eventWriter) note(text string) { w.write(event{Event: "note", Text: text}) }

func (w *eventWriter) started(p scenarios.Plan) {
	w.write(event{Event: "started", Scenario: p.Scenario.Name, Seed: &p.Seed})
}

func (w *eventWriter) ready(h history.Header) {
	var parts []string
	for _, p := range h.Versions {
		parts = append(parts, p.Name+" "+p.Version)
	}
	w.write(event{Event: "ready", Scenario: h.Scenario, Seed: &h.Seed, Services: parts})
}

func (w *eventWriter) phase(p scenarios.Plan, pr record.Progress) {
	w.write(event{Event: "phase", Scenario: p.Scenario.Name, Seed: &p.Seed, Phase: pr.Phase, Grants: int64(pr.Grants)})
}

func (w *eventWriter) violation(p scenarios.Plan, v checker.Violation) {
	w.write(event{Event: "violation", Scenario: p.Scenario.Name, Seed: &p.Seed, Violation: &v})
}

// ended tells what a scenario came to, and more of it if it is an attack of an exam.
func (w *eventWriter) ended(name, attack string, sc reports.Scenario, more Attacked) {
	e := event{Event: "ended", Scenario: name, Seed: &sc.Seed, Result: sc.Result().String(),
		Outcome: sc.Verdict.Outcome.String(), Severity: sc.Verdict.Severity.String(), Met: &sc.Met,
		Reasons: sc.Verdict.Reasons,
		Failed:  sc.Failed, Skipped: sc.Skipped, Dir: sc.Dir, Elapsed: sc.Elapsed}
	for _, p := range sc.Verdict.Properties {
		e.Properties = append(e.Properties, propertyEvent{p.Name, p.Outcome.String(), p.Count})
	}
	if attack != "" {
		e.Attack, e.Fate, e.Told, e.Shortest = attack, sc.Fate().String(), harmless.Line(sc.Account()), more.Shortest
		e.Report = more.Report
		for _, text := range sc.StandIns {
			e.StandIns = append(e.StandIns, harmless.Line(text))
		}
	}
	w.write(e)
}

func (w *eventWriter) finished(dir string, s reports.Suite, code int) {
	w.write(event{Event: "finished", Suite: s.Name, Dir: dir, Elapsed: s.Elapsed, Findings: findingEvents(s),
		Exit: &code})
}

// FirstViolation is the one to tell first, of those that the verdict keeps: the
// earliest certain defect, or else the earliest of all. It is nil where there is none.
func FirstViolation(v checker.Verdict) (first *checker.Violation) {
	for i := range v.Properties {
		for j := range v.Properties[i].Violations {
			x := &v.Properties[i].Violations[j]
			if first == nil || TellsMore(*x, first.Blame()) || x.At < first.At && !TellsMore(*first, x.Blame()) {
				first = x
			}
		}
	}
	return first
}
