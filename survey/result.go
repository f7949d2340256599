package survey

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/reports"
)

// Result is what the exams of a library came to. As JSON it is kept in the survey's folder.
type Result struct {
	Name string `json:"name"`
	// Version is the library with its version, as its adapter has said it.
	// Lockchaos is that of the checker, Day when the exams were.
	Version   string `json:"version"`
	Lockchaos string `json:"lockchaos"`
	Day       string `json:"day"`
	// Seeds are those of the exams.
	Seeds   []uint64                `json:"seeds"`
	Attacks []Attack                `json:"attacks"`
	Not     []reports.NotApplicable `json:"not_applicable,omitempty"`
	Defects []Defect                `json:"defects,omitempty"`
	// Withstood is how many faults are proven to have struck in attacks that the lock stood.
	Withstood int `json:"withstood"`
}

// Attack is one attack, and how often the lock came to what under it.
type Attack struct {
	Name  string `json:"name"`
	About string `json:"about"`
	// Fates counts the exams by what the attack came to: "stood", "fell: a defect".
	Fates map[string]int `json:"fates"`
	// Showed is what it came to in a sentence, where the lock fell: the first
	// defect, else the first fall.
	Showed string `json:"showed,omitempty"`
}

// Defect is a certain defect of the library: a property, or a kind of double-holds.
type Defect struct {
	Name  string `json:"name"`
	Words string `json:"words"`
	// Exams is in how many exams it showed, Attacks by which attacks.
	Exams   int      `json:"exams"`
	Attacks []string `json:"attacks"`
	// Witness is the file beside the result that shows it in a few ops; "":
	// there is none. Seed is that of the first exam that showed it.
	Witness string `json:"witness,omitempty"`
	Seed    uint64 `json:"seed"`
	// shown is the file of a run that Witness is a copy of.
	shown string
}

// Add counts one exam of the library; folder is where its run lies.
func (r *Result) Add(suite reports.Suite, folder string) {
	r.Seeds, r.Lockchaos = append(r.Seeds, suite.Seed), suite.Version
	r.Not = suite.Exam.Not
	for _, part := range suite.Versions {
		if part.Name == suite.Exam.Lock {
			r.Version = part.Version
		}
	}
	r.Withstood += suite.Withstood()
	shown := map[string]bool{}
	for _, s := range suite.Scenarios {
		r.attack(s)
		if s.Fate() != reports.FellDefect {
			continue
		}
		for _, d := range s.OwnDefects() {
			r.defect(s, d, !shown[d], suite.Seed, filepath.Join(folder, s.Dir))
			shown[d] = true
		}
	}
}

// attack counts what one attack came to.
func (r *Result) attack(s reports.Scenario) {
	i := slices.IndexFunc(r.Attacks, func(a Attack) bool { return a.Name == s.Fault })
	if i < 0 {
		i, r.Attacks = len(r.Attacks), append(r.Attacks, Attack{Name: s.Fault, About: s.About, Fates: map[string]int{}})
	}
	a, fate := &r.Attacks[i], s.Fate()
	if fate != reports.Stood && (a.Showed == "" || fate < a.worst()) {
		a.Showed = strings.TrimPrefix(strings.TrimPrefix(s.CameTo(), fate.String()), ": ")
	}
	a.Fates[fate.String()]++
}

// defect notes a defect that an attack has shown; first tells that it is the
// first attack of its exam that does.
func (r *Result) defect(s reports.Scenario, name string, first bool, seed uint64, folder string) {
	i := slices.IndexFunc(r.Defects, func(d Defect) bool { return d.Name == name })
	if i < 0 {
		i, r.Defects = len(r.Defects), append(r.Defects,
			Defect{Name: name, Words: reports.DefectWords(name), Seed: seed})
	}
	d := &r.Defects[i]
	if first {
		d.Exams++
	}
	if !slices.Contains(d.Attacks, s.Fault) {
		d.Attacks = append(d.Attacks, s.Fault)
	}
	if d.shown == "" {
		file := filepath.Join(folder, reports.WitnessFile(reports.DefectProperty(name)))
		if _, err := os.Stat(file); err == nil {
			d.shown = file
		}
	}
}

// Save keeps the result in the survey's folder, with a copy of each witness.
func (r *Result) Save(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, ResultFolder), 0o755); err != nil {
		return fmt.Errorf("make the folder of results: %w", err)
	}
	if err := forget(dir, r.Name); err != nil {
		return err
	}
	for i := range r.Defects {
		d := &r.Defects[i]
		if d.shown == "" {
			continue
		}
		text, err := os.ReadFile(d.shown)
		if err != nil {
			return fmt.Errorf("keep the witness of %s: %w", d.Name, err)
		}
		file := witnessFile(dir, r.Name, d.Name)
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return fmt.Errorf("keep the witness of %s: %w", d.Name, err)
		}
		d.Witness = filepath.Base(file)
	}
	return reports.WriteFile(resultFile(dir, r.Name), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(r)
	})
}

// Load reads what the exams of a library came to; nil, where there were none.
func Load(dir, name string) (*Result, error) {
	text, err := os.ReadFile(resultFile(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r Result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", resultFile(dir, name), err)
	}
	return &r, nil
}

// count is in how many attacks the lock came at least once to a fate that
// begins so, and to none that is graver.
func (r *Result) count(fates ...reports.Fate) (n int) {
	for _, a := range r.Attacks {
		if slices.Contains(fates, a.worst()) {
			n++
		}
	}
	return n
}

// worst is the gravest fate of the attack.
func (a Attack) worst() reports.Fate {
	for f := reports.FellDefect; f < reports.Stood; f++ {
		if a.Fates[f.String()] > 0 {
			return f
		}
	}
	return reports.Stood
}

// tally tells the fates of an attack, the gravest first: "fell: a defect 9×, stood 1×".
func (a Attack) tally() string {
	var parts []string
	for f := reports.FellDefect; f <= reports.Stood; f++ {
		if n := a.Fates[f.String()]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d×", f, n))
		}
	}
	return strings.Join(parts, ", ")
}
