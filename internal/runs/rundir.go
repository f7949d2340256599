package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/internal/policy"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Record is run.json: what a run was, for rendering it again. What the
// scenarios showed is in their own folders. It is written when the run begins,
// and again whenever a scenario begins, is first violated, or ends, so that a
// run can be followed (lockchaos serve) and one that was killed be reported.
type Record struct {
	Version string `json:"lockchaos"`
	Build   string `json:"build,omitempty"` // see Tool.Build
	Suite   string `json:"suite"`
	About   string `json:"about,omitempty"`
	Command string `json:"command"`
	Program string `json:"program"` // as it was called, for commands that can be pasted
	Runtime string `json:"runtime"`
	// the words of the command line that chose the runtime
	Where    []string `json:"where,omitempty"`
	Seed     uint64   `json:"seed"`
	NoExpect bool     `json:"no_expect,omitempty"`
	// Policy is what the run is ruled by, where it is a gate's.
	Policy  *policy.Policy `json:"policy,omitempty"`
	Started time.Time      `json:"started"`
	Elapsed time.Duration  `json:"elapsed_ns"`
	// Parallel is how many scenarios run at once. Exit is the exit status, once the run has ended.
	Parallel int  `json:"parallel,omitempty"`
	Exit     *int `json:"exit_status,omitempty"`
	// Interrupted: it was ended from outside, or was killed.
	Interrupted bool `json:"interrupted,omitempty"`
	// Exam is what was examined, where it is one.
	Exam *reports.Exam `json:"exam,omitempty"`
	// Shard is the part of the suite that was run ("3/8"), "": all of it.
	// Shares are the scenarios of all parts.
	Shard     string           `json:"shard,omitempty"`
	Shares    []share          `json:"shares,omitempty"`
	Scenarios []ScenarioRecord `json:"scenarios"`
	// Test is set where the run is a test in Go.
	Test *GoTest `json:"test,omitempty"`
}

// ScenarioRecord is one scenario of a run, in the order of the suite.
type ScenarioRecord struct {
	Name    string        `json:"name"`
	Dir     string        `json:"dir"`
	Elapsed time.Duration `json:"elapsed_ns"`
	// File and Line are where the scenario is written, from the root of the
	// repository; Builtin is "file:line" in the sources of lockchaos.
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Builtin string `json:"builtin,omitempty"`
	// Failed is the harness's error; Skipped why the scenario could not be run here.
	Failed  string `json:"failed,omitempty"`
	Skipped string `json:"skipped,omitempty"`
	// Late: it was skipped since the time budget of a gate was over.
	Late bool `json:"late,omitempty"`
	// Missing is set where runs were merged and that of its shard was not among them.
	Missing *share `json:"missing,omitempty"`
	// Spoilt are the tries before the one that is told: why each proved
	// nothing. What they left lies beside Dir.
	Spoilt []string `json:"spoilt,omitempty"`
	// Cut is why it was ended before its time; its history has no end.
	Cut string `json:"cut,omitempty"`
	// State is how far it is: Began is when it began, Planned how long its
	// workload is to last. First is the first violation, in a sentence.
	State   runState      `json:"state,omitempty"`
	Began   time.Time     `json:"began,omitzero"`
	Planned time.Duration `json:"planned_ns,omitempty"`
	First   string        `json:"first_violation,omitempty"`
	// Result is what it came to, in a word, and Detail the figures behind it. Expectation
	// is "met" or "not met"; "": it had none, or was not judged. Reason says why it did
	// not come out as it should. Exit is the exit status of the scenario alone.
	Result      string `json:"result,omitempty"`
	Detail      string `json:"detail,omitempty"`
	Expectation string `json:"expectation,omitempty"`
	Reason      string `json:"reason,omitempty"`
	Exit        *int   `json:"exit_status,omitempty"`
}

// end notes what a scenario came to.
func (r *ScenarioRecord) end(sc reports.Scenario, noExpect bool) {
	code := exit.OfScenario(sc, noExpect)
	r.State, r.Result, r.Detail, r.Reason, r.Exit = StateEnded, sc.Result().String(), sc.Detail(), sc.Reason(), &code
	switch {
	case len(sc.Expect) == 0 || sc.Failed != "" || sc.Skipped != "":
	case sc.Met:
		r.Expectation = "met"
	default:
		r.Expectation = "not met"
	}
}

// runState is how far a scenario of a run is.
type runState string

const (
	StateWaiting runState = "waiting"
	StateRunning runState = "running"
	StateEnded   runState = "ended"
)

// locate notes where the scenario is written.
func (r *ScenarioRecord) locate(p scenarios.Place) {
	switch {
	case p.Builtin:
		r.Builtin = fmt.Sprintf("%s:%d", p.File, p.Line)
	case p.File != "":
		r.File, r.Line = repositoryPath(p.File), p.Line
	}
}

// program is how to call lockchaos.
func (r *Record) program() string {
	if r.Program == "" {
		return "lockchaos"
	}
	return r.Program
}

// FolderOf turns a scenario's name into that of its folder:
// redis-setnx/none/unfenced → redis-setnx.none.unfenced.
func FolderOf(name string) string { return strings.ReplaceAll(name, "/", ".") }

// MakeFolder makes a fresh folder for a run, named after its time, and points "latest" at it.
func MakeFolder(parent string, now time.Time) (string, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("make the folder for runs: %w", err)
	}
	for i := 0; ; i++ {
		name := now.Format("2006-01-02T15-04-05")
		if i > 0 {
			name += fmt.Sprintf("-%d", i)
		}
		dir := filepath.Join(parent, name)
		err := os.Mkdir(dir, 0o755)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("make the run's folder: %w", err)
		}
		return dir, pointLatest(parent, name)
	}
}

// pointLatest replaces the link in one step, so that two runs at once never leave none.
func pointLatest(parent, name string) error {
	next := filepath.Join(parent, ".latest-"+name)
	if err := os.Symlink(name, next); err != nil {
		return fmt.Errorf("point %s at the run: %w", LatestLink, err)
	}
	if err := os.Rename(next, filepath.Join(parent, LatestLink)); err != nil {
		_ = os.Remove(next)
		return fmt.Errorf("point %s at the run: %w", LatestLink, err)
	}
	return nil
}

// Save writes the record into the run's folder, in one step.
func (r *Record) Save(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", RecordFile, err)
	}
	if err := outside.Replace(dir, RecordFile, append(text, '\n')); err != nil {
		return fmt.Errorf("save the run's record: %w", err)
	}
	return nil
}

// reserveFile takes room on the disk until the run has ended, so that a disk
// that is full by then has room for run.json.
const reserveFile = ".reserve"

// Reserve makes the reserve of a run of so many scenarios. Where there is no
// room for it there is none for the run, which will say so itself.
func Reserve(dir string, scenarios int) {
	_ = os.WriteFile(filepath.Join(dir, reserveFile), make([]byte, 64<<10+scenarios<<12), 0o644)
}

// SaveAtLast saves the record in its last form, if need be in the room that was reserved.
func (r *Record) SaveAtLast(dir string) error {
	freed := os.Remove(filepath.Join(dir, reserveFile))
	if errors.Is(freed, os.ErrNotExist) {
		freed = nil
	}
	return errors.Join(r.Save(dir), freed)
}

// Load reads the record in a run's folder.
func Load(dir string) (*Record, error) {
	var r Record
	if err := reports.ReadRecord(dir, RecordFile, &r); err != nil {
		return nil, fmt.Errorf("%s is no folder of a run: %w", dir, err)
	}
	for _, s := range r.Scenarios {
		if s.Dir != "" && !filepath.IsLocal(s.Dir) {
			return nil, fmt.Errorf("%s: the folder of scenario %q is %q, which is not below the run's",
				filepath.Join(dir, RecordFile), s.Name, s.Dir)
		}
	}
	return &r, nil
}

// RepeatFile is the record of a run that was repeated: which repetitions there
// are, and what each scenario came to.
const RepeatFile = "repeat.json"

// LoadRepetition reads the record of a run that was repeated; nil: the folder
// is none of such a run.
func LoadRepetition(dir string) (*reports.Repetition, error) {
	var r reports.Repetition
	err := reports.ReadRecord(dir, RepeatFile, &r)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the repetition: %w", err)
	}
	return &r, nil
}
