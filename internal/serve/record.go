package serve

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"
)

// record is what the files of runs have in common, and what each has for itself.
type record struct {
	Suite     string           `json:"suite"`
	Policy    json.RawMessage  `json:"policy"` // of a gate its file; of a gate's run all of it
	Seed      uint64           `json:"seed"`
	Started   time.Time        `json:"started"`
	Elapsed   time.Duration    `json:"elapsed_ns"`
	Exit      *int             `json:"exit_status"`
	Parallel  int              `json:"parallel"`
	Lock      string           `json:"lock"`
	Fault     string           `json:"fault"`
	Wanted    int              `json:"wanted"`
	Ruling    string           `json:"result"` // of a gate
	Scenarios []scenarioRecord `json:"scenarios"`
	// of a repetition and of a gate the folders, of a curve a number
	Runs json.RawMessage `json:"runs"`
}

type scenarioRecord struct {
	Name        string        `json:"name"`
	Dir         string        `json:"dir"`
	State       string        `json:"state"`
	Began       time.Time     `json:"began"`
	Planned     time.Duration `json:"planned_ns"`
	Result      string        `json:"result"`
	Detail      string        `json:"detail"`
	Expectation string        `json:"expectation"`
	Reason      string        `json:"reason"`
	Exit        *int          `json:"exit_status"`
	First       string        `json:"first_violation"`
	Failed      string        `json:"failed"`
	Skipped     string        `json:"skipped"`
	Elapsed     time.Duration `json:"elapsed_ns"`
	Trials      []trialRecord `json:"trials"` // of a repetition
	Runs        []trialRecord `json:"runs"`   // of a gate
}

type trialRecord struct {
	Dir        string        `json:"dir"`
	Elapsed    time.Duration `json:"elapsed_ns"`
	Result     string        `json:"result"`
	Detail     string        `json:"detail"`
	Unexpected bool          `json:"unexpected"`
	Met        *bool         `json:"met"`
}

// run is what a record says of a folder.
func (rec record) run(dir, kind string) Run {
	r := Run{Dir: dir, Kind: kind, Title: clip(rec.Suite), Seed: rec.Seed, Started: rec.Started, Elapsed: rec.Elapsed,
		State: ended, Exit: rec.Exit, Wanted: rec.Wanted,
		parallel: rec.Parallel, ruling: rec.Ruling}
	if rec.Elapsed == 0 {
		r.State = running
	}
	switch kind {
	case "curve":
		r.Title = clip(rec.Lock + " under " + rec.Fault)
	case "repetition", "gate":
		rec.repeated(&r)
		if kind == "gate" {
			var file string
			_ = json.Unmarshal(rec.Policy, &file) // "" where it is none
			r.Title = clip("gate " + file)
		}
	case "run":
		rec.once(&r)
	}
	for _, sc := range r.Scenarios {
		r.count(sc)
	}
	switch kind {
	case "run":
		if r.State == running {
			r.Ready = r.estimate()
		}
	case "repetition":
		r.Done = len(r.Runs)
	case "gate":
		r.Wanted = r.Done
	}
	return r
}

// repeated takes what a record of repetitions says: its runs, and each scenario of each.
func (rec record) repeated(r *Run) {
	var runs []struct {
		Dir  string
		Seed uint64
	}
	_ = json.Unmarshal(rec.Runs, &runs) // one that is none has no repetitions to show
	for i, one := range runs {
		if i == 0 {
			r.Seed = one.Seed // the first of those that follow each other
		}
		if name := path.Base(one.Dir); plainName(name) {
			r.Runs = append(r.Runs, path.Join(r.Dir, name))
		}
	}
	for _, sc := range rec.Scenarios {
		for _, t := range slices.Concat(sc.Trials, sc.Runs) {
			one := Scenario{Name: clip(sc.Name), State: ended, Result: clip(t.Result), Detail: clip(t.Detail),
				Elapsed: t.Elapsed}
			if !slices.ContainsFunc(strings.Split(t.Dir, "/"), func(s string) bool { return !plainName(s) }) {
				one.dir = path.Join(r.Dir, t.Dir)
			}
			if t.Unexpected || t.Met != nil && !*t.Met {
				one.Expect = notMet
			}
			r.Scenarios = append(r.Scenarios, one)
		}
	}
}

// notMet is an expectation that was not.
const notMet = "not met"

// once takes what the record of one run says of its scenarios.
func (rec record) once(r *Run) {
	r.Wanted = len(rec.Scenarios)
	for _, sc := range rec.Scenarios {
		// an older lockchaos wrote the record at the end alone
		one := Scenario{Name: clip(sc.Name), State: clip(cmp.Or(sc.State, ended)),
			Result: clip(sc.Result), Detail: clip(sc.Detail), First: clip(sc.First), Expect: clip(sc.Expectation),
			Reason: clip(cmp.Or(sc.Reason, sc.Failed, sc.Skipped)), Exit: sc.Exit,
			Elapsed: sc.Elapsed, began: sc.Began, planned: sc.Planned}
		if scenarioFolder(sc.Dir) {
			one.dir = path.Join(r.Dir, sc.Dir)
		}
		r.Scenarios = append(r.Scenarios, one)
	}
}
