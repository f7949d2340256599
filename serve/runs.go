package serve

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// silence is how long a run may write nothing before it is said to be silent: killed, or stopped.
const silence = 30 * time.Second

// The states of a run, and of its scenarios.
const (
	waiting = "waiting"
	running = "running"
	ended   = "ended"
	silent  = "silent" // it has not ended, and has written nothing for a while
)

// Run is one folder, as far as it is.
type Run struct {
	// Dir is its folder, below that which is served.
	Dir string `json:"dir"`
	// Kind is "run", "repetition" or "curve".
	Kind      string        `json:"kind"`
	Title     string        `json:"title"`
	Seed      uint64        `json:"seed"`
	Started   time.Time     `json:"started"`
	Elapsed   time.Duration `json:"elapsed_ns"`
	State     string        `json:"state"`
	Page      string        `json:"page,omitempty"` // its report, once there is one
	Scenarios []Scenario    `json:"scenarios,omitempty"`
	// Runs are the repetitions.
	Runs []string `json:"runs,omitempty"`
}

// Scenario is one scenario of a run.
type Scenario struct {
	Name    string        `json:"name"`
	State   string        `json:"state"`
	Result  string        `json:"result,omitempty"`
	First   string        `json:"first_violation,omitempty"`
	Page    string        `json:"page,omitempty"`
	Bytes   int64         `json:"bytes,omitempty"` // of its history
	Elapsed time.Duration `json:"elapsed_ns,omitempty"`
}

// record is what the files of runs have in common, and what each has for itself.
type record struct {
	Suite     string        `json:"suite"`
	Seed      uint64        `json:"seed"`
	Started   time.Time     `json:"started"`
	Elapsed   time.Duration `json:"elapsed_ns"`
	Lock      string        `json:"lock"`
	Fault     string        `json:"fault"`
	Wanted    int           `json:"wanted"`
	Scenarios []struct {
		Name    string        `json:"name"`
		Dir     string        `json:"dir"`
		State   string        `json:"state"`
		Result  string        `json:"result"`
		First   string        `json:"first_violation"`
		Failed  string        `json:"failed"`
		Skipped string        `json:"skipped"`
		Elapsed time.Duration `json:"elapsed_ns"`
		Trials  []struct {
			Result string `json:"result"`
		} `json:"trials"` // of a repetition
	} `json:"scenarios"`
	Runs json.RawMessage `json:"runs"` // of a repetition its folders, of a curve a number
}

// kinds are the files that make a folder one of a run, the most telling first.
var kinds = []struct{ file, kind string }{{"repeat.json", "repetition"}, {"curve.json", "curve"}, {"run.json", "run"}}

// plainName tells whether a segment of a path can be meant: a name, and neither hidden nor one that leads elsewhere.
func plainName(s string) bool {
	return s != "" && s[0] != '.' && len(s) < 256 && !strings.ContainsAny(s, "/\\\x00")
}

// list are all runs below the root, the newest first. What can't be read is left out: it may be half written.
func list(root fs.FS, now time.Time) []Run {
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return nil
	}
	var runs []Run
	for _, e := range entries {
		if !e.IsDir() || !plainName(e.Name()) { // latest is a link to one that is listed
			continue
		}
		if r, err := read(root, e.Name(), now); err == nil {
			r.Runs = nil
			runs = append(runs, r)
		}
	}
	slices.SortFunc(runs, func(a, b Run) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.Dir, a.Dir))
	})
	return runs
}

// read reads one run.
func read(root fs.FS, dir string, now time.Time) (Run, error) {
	for _, k := range kinds {
		if page(root, dir, k.file) == "" {
			continue
		}
		text, err := fs.ReadFile(root, path.Join(dir, k.file))
		var rec record
		if err == nil {
			err = json.Unmarshal(text, &rec)
		}
		if err != nil {
			return Run{}, err
		}
		return rec.run(root, dir, k.kind, now), nil
	}
	return Run{}, fs.ErrNotExist
}

// run is what a record says of a folder.
func (rec record) run(root fs.FS, dir, kind string, now time.Time) Run {
	r := Run{Dir: dir, Kind: kind, Title: rec.Suite, Seed: rec.Seed, Started: rec.Started, Elapsed: rec.Elapsed, State: ended, Page: page(root, dir, "index.html")}
	newest := time.Time{} // when something was written last
	switch kind {
	case "curve":
		r.Title = rec.Lock + " under " + rec.Fault
	case "repetition":
		var runs []struct{ Dir string }
		if json.Unmarshal(rec.Runs, &runs) == nil {
			for _, one := range runs {
				r.Runs = append(r.Runs, path.Join(dir, path.Base(one.Dir)))
			}
		}
		for _, sc := range rec.Scenarios {
			for _, trial := range sc.Trials {
				r.Scenarios = append(r.Scenarios, Scenario{Name: sc.Name, State: ended, Result: trial.Result})
			}
		}
		newest = modified(root, path.Join(dir, "repeat.json"))
		for _, one := range glob(root, path.Join(dir, "seed-*", "run.json")) {
			newest = latest(newest, modified(root, one))
		}
	case "run":
		newest = modified(root, path.Join(dir, "run.json"))
		for _, sc := range rec.Scenarios {
			one := Scenario{Name: sc.Name, State: sc.State, Result: sc.Result, First: sc.First, Elapsed: sc.Elapsed}
			if one.State == "" {
				one.State = ended // of a lockchaos that wrote the record at the end alone
			}
			if plainName(sc.Dir) {
				one.Page = page(root, path.Join(dir, sc.Dir), "report.html")
				for _, file := range []string{"history.jsonl", "history.jsonl.zst"} { // one of them; with --compress both for a moment
					if info, err := fs.Stat(root, path.Join(dir, sc.Dir, file)); err == nil {
						one.Bytes = info.Size()
						newest = latest(newest, info.ModTime())
					}
				}
			}
			r.Scenarios = append(r.Scenarios, one)
		}
	}
	if rec.Elapsed == 0 {
		r.State = running
		if now.Sub(newest) > silence {
			r.State = silent
		}
	}
	return r
}

// page is the path of a file, such as a report, "" where there is none yet. Only a regular one is opened: a pipe would be waited for.
func page(root fs.FS, dir, name string) string {
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

func glob(root fs.FS, pattern string) []string {
	found, err := fs.Glob(root, pattern)
	if err != nil {
		return nil
	}
	return found
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// counts tells how many scenarios of a run came to each result, in the order in which they first occur.
func (r Run) counts() string {
	var words []string
	n := map[string]int{}
	for _, sc := range r.Scenarios {
		word := cmp.Or(sc.Result, sc.State)
		if n[word]++; n[word] == 1 {
			words = append(words, word)
		}
	}
	for i, word := range words {
		words[i] = itoa(n[word]) + " " + word
	}
	return strings.Join(words, ", ")
}
