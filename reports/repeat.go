package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Repetition is a run that was repeated, each time with another seed.
type Repetition struct {
	Suite   string    `json:"suite"`
	Command string    `json:"command"`
	Version string    `json:"lockchaos"`
	Runtime string    `json:"runtime"`
	Started time.Time `json:"started"`
	Elapsed int64     `json:"elapsed_ns"`
	// Wanted is how many repetitions were asked for at most, Until what would
	// end them earlier ("" nothing), Ended why they ended.
	Wanted int    `json:"wanted"`
	Until  string `json:"until,omitempty"`
	Ended  string `json:"ended"`
	// Exit is the exit status, once it has ended: the worst of all runs.
	Exit *int `json:"exit_status,omitempty"`
	// Runs are the folders of the repetitions, in the order of their seeds.
	Runs      []RepeatedRun `json:"runs"`
	Scenarios []Repeated    `json:"scenarios"`
}

// RepeatedRun is one repetition, which is a run of its own.
type RepeatedRun struct {
	Seed uint64 `json:"seed"`
	// Dir is its folder, inside that of the repetition.
	Dir string `json:"dir"`
}

// Repeated is one scenario of a repetition, with what it came to each time.
type Repeated struct {
	Name   string  `json:"name"`
	Trials []Trial `json:"trials"`
}

// Trial is one scenario, run once.
type Trial struct {
	Seed uint64 `json:"seed"`
	// Dir is the scenario's folder, inside that of the repetition.
	Dir        string        `json:"dir"`
	Result     Result        `json:"result"`
	Unexpected bool          `json:"unexpected,omitempty"`
	Detail     string        `json:"detail"`
	Elapsed    time.Duration `json:"elapsed_ns"`
}

// Add takes what one repetition came to; dir is its folder.
func (r *Repetition) Add(seed uint64, dir string, scenarios []Scenario) {
	r.Runs = append(r.Runs, RepeatedRun{seed, dir})
	for _, x := range scenarios {
		i := slices.IndexFunc(r.Scenarios, func(known Repeated) bool { return known.Name == x.Name })
		if i < 0 {
			i = len(r.Scenarios)
			r.Scenarios = append(r.Scenarios, Repeated{Name: x.Name})
		}
		s := &r.Scenarios[i]
		s.Trials = append(s.Trials, Trial{Seed: seed, Dir: dir + "/" + x.Dir, Result: x.Result(),
			Unexpected: x.Unexpected(), Detail: x.Detail(), Elapsed: x.Elapsed})
	}
}

// Sort puts repetitions in the order of their seeds: they end in any.
func (r *Repetition) Sort() {
	slices.SortFunc(r.Runs, func(a, b RepeatedRun) int { return cmp.Compare(int64(a.Seed), int64(b.Seed)) })
	for _, s := range r.Scenarios {
		slices.SortStableFunc(s.Trials, func(a, b Trial) int { return cmp.Compare(int64(a.Seed), int64(b.Seed)) })
	}
}

// Violates reports whether the result is that of a verdict which found a violation.
func (r Result) Violates() bool { return r == Contained || r == Corrupted || r == Violated }

// Count is how many trials came to one of the results.
func (s Repeated) Count(results ...Result) (n int) {
	for _, t := range s.Trials {
		if slices.Contains(results, t.Result) {
			n++
		}
	}
	return n
}

// Violated is in how many of the trials that were decided a property was
// violated: those that passed and those that were violated, and no others.
func (s Repeated) Violated() Rate {
	hits := s.Count(Contained, Corrupted, Violated)
	return Rate{hits, hits + s.Count(Pass)}
}

// Unexpected is how many trials came out otherwise than expected.
func (s Repeated) Unexpected() (n int) {
	for _, t := range s.Trials {
		if t.Unexpected {
			n++
		}
	}
	return n
}

// Seeds names those of the trials that came to the result.
func (s Repeated) Seeds(result Result) string {
	var out []string
	for _, t := range s.Trials {
		if t.Result == result {
			out = append(out, fmt.Sprint(t.Seed))
		}
	}
	if more := len(out) - 12; more > 0 {
		out = append(out[:12], fmt.Sprintf("%d more", more))
	}
	return phrase.List(out)
}

// Results are those that occur, in the order of the constants.
func (s Repeated) Results() (all []Result) {
	for r := range resultNames {
		if s.Count(Result(r)) > 0 {
			all = append(all, Result(r))
		}
	}
	return all
}

// Flaky reports whether trials came to different results.
func (s Repeated) Flaky() bool { return len(s.Results()) > 1 }

// Headline says what the repetition showed.
func (r Repetition) Headline() string {
	flaky := 0
	for _, s := range r.Scenarios {
		if s.Flaky() {
			flaky++
		}
	}
	if len(r.Scenarios) == 1 {
		s := r.Scenarios[0]
		if s.Violated().Of == 0 {
			return fmt.Sprintf("%s: %s, and none was decided.", phrase.Clip(s.Name, phrase.MostName),
				phrase.Plural(len(s.Trials), "run"))
		}
		return fmt.Sprintf("%s: violated in %d of %s.", phrase.Clip(s.Name, phrase.MostName), s.Violated().Hits,
			phrase.Plural(s.Violated().Of, "decided run"))
	}
	if flaky == 0 {
		return fmt.Sprintf("%s, %s: each came to the same result every time.",
			phrase.Plural(len(r.Scenarios), "scenario"), phrase.Plural(len(r.Runs), "repetition"))
	}
	return fmt.Sprintf("%d of %s came to different results in %s.", flaky, phrase.Plural(len(r.Scenarios), "scenario"),
		phrase.Plural(len(r.Runs), "repetition"))
}

// WriteRepetitionJSON writes repeat.json.
func WriteRepetitionJSON(w io.Writer, r Repetition) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}
