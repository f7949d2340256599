package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Gate is how a policy ruled on a run, without what the run's scenarios tell themselves.
type Gate struct {
	// Policy is the policy's file, from the root of the repository.
	Policy  string
	Command string
	Version string
	Runtime string
	Seed    uint64
	Started time.Time
	Elapsed time.Duration
	// Exit is the exit status; see savedGate.Result for its words.
	Exit int
	// Inconclusive and Skipped are what the policy does about what is left open: "fail" or "warn".
	Inconclusive, Skipped string
	// Runs are the folders of the repetitions, inside the gate's.
	Runs []RepeatedRun
	// Broken is why the gate as a whole failed, beside its scenarios: it was
	// interrupted, or could not write its files.
	Broken string
	// Demands and Known are what the policy asks for, and what it tolerates.
	Demands []Demand
	Known   []KnownViolation
	// Budget is how long all was allowed to take; 0: as long as it takes.
	Budget time.Duration
}

// gateResults are the words for the exit statuses.
var gateResults = map[int]string{0: "passed", 1: "violated", 2: "inconclusive", 3: "failed"}

func (g Gate) result() string {
	if word, ok := gateResults[g.Exit]; ok {
		return word
	}
	return "failed"
}

// savedGate is the form of gate.json (docs/schema/gate.json).
type savedGate struct {
	Format       int            `json:"lockchaos_gate"`
	Result       string         `json:"result"`
	Why          string         `json:"why"`
	Exit         int            `json:"exit_status"`
	Policy       string         `json:"policy"`
	Inconclusive string         `json:"inconclusive"`
	Skipped      string         `json:"skipped"`
	Command      string         `json:"command"`
	Version      string         `json:"version"`
	Runtime      string         `json:"runtime"`
	Seed         uint64         `json:"seed"`
	Started      time.Time      `json:"started"`
	Elapsed      time.Duration  `json:"elapsed_ns"`
	Runs         []RepeatedRun  `json:"runs"`
	Scenarios    []gateScenario `json:"scenarios"`
	Findings     []gateFinding  `json:"findings"`
}

// gateScenario is a scenario over all its repetitions.
type gateScenario struct {
	Name       string         `json:"name"`
	Runs       []gateTrial    `json:"runs"`
	Properties []gateProperty `json:"properties"`
}

type gateTrial struct {
	Seed   uint64 `json:"seed"`
	Dir    string `json:"dir"`
	Result Result `json:"result"`
	Met    bool   `json:"met"`
}

// gateProperty counts the repetitions in which a demand came out so.
type gateProperty struct {
	Name  string `json:"name"`
	Met   int    `json:"met"`
	Known int    `json:"known,omitempty"`
	Unmet int    `json:"unmet"`
	// NotJudged: the lock makes no such claim, or nothing happened that it
	// could be held against. It is never a pass.
	NotJudged int `json:"not_judged,omitempty"`
}

// gateFinding is a finding as it is saved.
type gateFinding struct {
	Level    Level  `json:"level"`
	Rule     string `json:"rule"`
	Scenario string `json:"scenario,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Text     string `json:"text"`
	Known    string `json:"known,omitempty"`
	Times    int    `json:"times"`
	Of       int    `json:"of"`
	Dir      string `json:"dir,omitempty"`
	Again    string `json:"again,omitempty"`
}

// WriteGate writes gate.json: the ruling, each scenario's demands counted over
// its repetitions, and the findings. s is all repetitions as one run.
func WriteGate(w io.Writer, g Gate, s Suite) error {
	out := savedGate{Format: 1, Result: g.result(), Why: phrase.OneLine(g.Why(s)), Exit: g.Exit, Policy: g.Policy,
		Inconclusive: g.Inconclusive, Skipped: g.Skipped, Command: g.Command, Version: g.Version,
		Runtime: g.Runtime, Seed: g.Seed, Started: g.Started, Elapsed: g.Elapsed, Runs: g.Runs,
		Scenarios: []gateScenario{}, Findings: []gateFinding{}}
	place := map[string]int{}
	for _, x := range s.Scenarios {
		i, known := place[x.Name]
		if !known {
			i = len(out.Scenarios)
			place[x.Name] = i
			out.Scenarios = append(out.Scenarios, gateScenario{Name: x.Name, Properties: []gateProperty{}})
		}
		out.Scenarios[i].add(x)
	}
	for _, f := range s.Findings() {
		out.Findings = append(out.Findings, gateFinding{f.Level, f.Rule, f.Scenario, f.File, f.Line, f.Text, f.Known,
			f.Times, f.Of, f.Dir, f.Again})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("write the ruling: %w", err)
	}
	return nil
}

func (s *gateScenario) add(x Scenario) {
	s.Runs = append(s.Runs, gateTrial{x.Seed, x.Dir, x.Result(), x.Met})
	for _, e := range x.Expect {
		i := 0
		for i < len(s.Properties) && s.Properties[i].Name != e.Property {
			i++
		}
		if i == len(s.Properties) {
			s.Properties = append(s.Properties, gateProperty{Name: e.Property})
		}
		switch p := &s.Properties[i]; {
		case e.Known != "":
			p.Known++
		case e.Got == "not judged":
			p.NotJudged++
		case e.Met:
			p.Met++
		default:
			p.Unmet++
		}
	}
}

// ReadGate reads the ruling of a gate, from a file in its folder.
func ReadGate(folder, name string) (Gate, error) {
	var in savedGate
	if err := ReadRecord(folder, name, &in); err != nil {
		return Gate{}, fmt.Errorf("read the ruling: %w", err)
	}
	return Gate{Policy: in.Policy, Command: in.Command, Version: in.Version, Runtime: in.Runtime, Seed: in.Seed,
		Started: in.Started, Elapsed: in.Elapsed, Exit: in.Exit,
		Inconclusive: in.Inconclusive, Skipped: in.Skipped, Runs: in.Runs}, nil
}
