package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/reports"
)

// silence is how long a run may write nothing before it is said to be silent: killed, or stopped.
const silence = 30 * time.Second

// The states of a run, and of its scenarios.
const (
	waiting    = "waiting"
	running    = "running"
	ended      = "ended"
	silent     = "silent"     // it has not ended, and has written nothing for a while
	unreadable = "unreadable" // its record is too large
)

// Run is one folder, as far as it is.
type Run struct {
	// Dir is its folder, below that which is served.
	Dir string
	// Kind is "run", "gate", "repetition" or "curve".
	Kind    string
	Title   string
	Seed    uint64
	Started time.Time
	Elapsed time.Duration
	State   string
	// Exit is the exit status; nil: the run has not ended, or its record does not say.
	Exit *int
	Page string // its report, once there is one
	// Counts say how many scenarios came to what. Done of Wanted have ended,
	// Unexpected of them otherwise than expected.
	Counts                   []Count
	Done, Wanted, Unexpected int
	// Reason says why the first scenario did not come out as it should. Ready
	// is when the run should end; zero: nothing tells.
	Reason string
	Ready  time.Time

	Scenarios []Scenario
	// Runs are the repetitions, so far.
	Runs []string

	file     string // its record
	parallel int
	ruling   string    // the gate's own word
	newest   time.Time // when something was written last
}

// Count is how many scenarios came to one result, or are in one state.
type Count struct {
	Word string
	N    int
}

// Scenario is one scenario of a run.
type Scenario struct {
	Name   string
	State  string
	Result string
	Detail string
	First  string
	// "met" or "not met"; "": it had no expectation, or came to nothing that could meet it
	Expect  string
	Reason  string
	Exit    *int
	Page    string
	Bytes   int64 // of its history
	Elapsed time.Duration

	dir     string
	began   time.Time
	planned time.Duration
}

// Came is what it came to, or how far it is.
func (sc Scenario) Came() string { return cmp.Or(sc.Result, sc.State) }

// kinds are the files that make a folder one of a run, the most telling first.
// A gate whose scenarios run once has both of the last two.
var kinds = []struct{ file, kind string }{{"repeat.json", "repetition"}, {"curve.json", "curve"}, {"run.json", "run"},
	{"gate.json", "gate"}}

// plainName reports whether a segment of a path can be meant: a name, and neither
// hidden nor one that leads elsewhere.
func plainName(s string) bool {
	return s != "" && s[0] != '.' && len(s) < 256 && !strings.ContainsAny(s, "/\\\x00")
}

// scenarioFolder reports whether a scenario's folder can be meant: one of the
// run's folder, or "." for that itself, as in a test with locktest.
func scenarioFolder(s string) bool { return s == "." || plainName(s) }

// kindOf finds the record of a folder; "" where it has none.
func kindOf(root fs.FS, dir string) (file, kind string) {
	for _, k := range kinds {
		if file := pageFile(root, dir, k.file); file != "" {
			return file, k.kind
		}
	}
	return "", ""
}

// see looks at the files of every scenario.
func (r *Run) see(root fs.FS, now time.Time) {
	for i := range min(len(r.Scenarios), mostScenarios) {
		if sc := &r.Scenarios[i]; sc.dir != "" {
			sc.Page = pageFile(root, sc.dir, "report.html")
		}
	}
	r.look(root, now, func(Scenario) bool { return true })
}

// load reads a record. What is larger than any record is not read, and said to be unreadable.
func load(root fs.FS, dir, file, kind string) (Run, error) {
	text, err := bounded(root, file, reports.MostRecord)
	if errors.Is(err, outside.ErrTooLong) {
		return Run{Dir: dir, Kind: kind, file: file, Title: path.Base(file), State: unreadable,
			Reason: fmt.Sprintf("%s is larger than %d MiB", path.Base(file), reports.MostRecord>>20)}, nil
	}
	var rec record
	if err == nil {
		err = json.Unmarshal(text, &rec)
	}
	if err != nil {
		return Run{}, err
	}
	r := rec.run(dir, kind)
	r.file = file
	if kind == "run" && len(rec.Policy) > 0 {
		var gate record
		if text, err := bounded(root, path.Join(dir, "gate.json"), reports.MostRecord); err == nil &&
			json.Unmarshal(text, &gate) == nil {
			r.Kind, r.ruling, r.Exit = "gate", gate.Ruling, gate.Exit
		}
	}
	return r, nil
}

// bounded reads a file, and not more of it than most. The file system opens regular files alone.
func bounded(root fs.FS, file string, most int64) ([]byte, error) {
	f, err := root.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return outside.Bounded(f, most)
}

// mostCounts bounds the words that are counted: a record that has more is not of lockchaos.
const mostCounts = 16

// count takes a scenario into the figures of its run.
func (r *Run) count(sc Scenario) {
	i := slices.IndexFunc(r.Counts, func(c Count) bool { return c.Word == sc.Came() })
	if i < 0 && len(r.Counts) < mostCounts {
		i = len(r.Counts)
		r.Counts = append(r.Counts, Count{Word: sc.Came()})
	}
	if i >= 0 {
		r.Counts[i].N++
	}
	if sc.State == ended {
		r.Done++
	}
	if sc.Expect == notMet {
		r.Unexpected++
	}
	if r.Reason == "" && sc.Reason != "" && sc.Result != "skipped" {
		r.Reason = clip(sc.Name + ": " + sc.Reason)
	}
}

// look sees what the files of a run show that its record does not: its page, how
// long the histories of some scenarios are, and when something was written last.
func (r *Run) look(root fs.FS, now time.Time, which func(Scenario) bool) {
	r.Page, r.newest = pageFile(root, r.Dir, "index.html"), modified(root, r.file)
	for i := range min(len(r.Scenarios), mostScenarios) {
		sc := &r.Scenarios[i]
		if sc.dir == "" || !which(*sc) {
			continue
		}
		// one of them; with --compress both for a moment
		for _, name := range []string{"history.jsonl", "history.jsonl.zst"} {
			if info, err := fs.Stat(root, path.Join(sc.dir, name)); err == nil {
				sc.Bytes, r.newest = info.Size(), latest(r.newest, info.ModTime())
			}
		}
	}
	if r.State == unreadable || r.Elapsed != 0 {
		return
	}
	if r.Kind == "repetition" {
		r.Ready = r.proportion()
		for _, dir := range r.unfinished(root) {
			r.newest = latest(r.newest, modified(root, path.Join(dir, "run.json")))
		}
	}
	r.State = running
	if now.Sub(r.newest) > silence {
		r.State, r.Ready = silent, time.Time{}
	}
}

// pageFile is the path of a file, such as a report, "" where there is none yet.
// Only a regular one is opened: a pipe would be waited for.
func pageFile(root fs.FS, dir, name string) string {
	file := path.Join(dir, name)
	if info, err := fs.Stat(root, file); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return file
}

func modified(root fs.FS, file string) time.Time {
	info, err := fs.Stat(root, file)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// unfinished are the folders of repetitions that go on: those that the record does not name yet.
func (r *Run) unfinished(root fs.FS) (dirs []string) {
	entries, err := fs.ReadDir(root, r.Dir)
	if err != nil {
		return nil
	}
	done := map[string]bool{}
	for _, dir := range r.Runs {
		done[dir] = true
	}
	for _, e := range entries {
		if dir := path.Join(r.Dir, e.Name()); e.IsDir() && strings.HasPrefix(e.Name(), "seed-") && !done[dir] {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// clip keeps of a text what a page has room for: records may have been written by anybody.
func clip(s string) string {
	const most = 400
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
