package serve

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
)

// read reads one run with all that is to be seen of its scenarios.
func read(root fs.FS, dir string, now time.Time) (Run, error) {
	file, kind := kindOf(root, dir)
	if file == "" {
		return Run{}, fs.ErrNotExist
	}
	r, err := load(root, dir, file, kind)
	if err != nil {
		return Run{}, err
	}
	r.see(root, now)
	return r, nil
}

// What a run came to stands in a word: its exit status says it, and what was expected.
func TestOutcomes(t *testing.T) {
	scenarios := func(all ...string) string {
		var out []string
		for i, sc := range all {
			out = append(out, fmt.Sprintf(`{"name":"s%d","dir":"s%d","state":"ended",%s}`, i, i, sc))
		}
		return `,"scenarios":[` + strings.Join(out, ",") + "]"
	}
	for name, c := range map[string]struct{ record, want, status, trouble string }{
		"all pass": {`"exit_status":0` +
			scenarios(`"result":"pass"`, `"result":"skipped","reason":"no etcd"`), "pass", "exit status 0", ""},
		"violated as it must": {`"exit_status":0` + scenarios(`"result":"corrupted","expectation":"met"`),
			"as expected", "exit status 0", ""},
		"unexpected": {`"exit_status":1` +
			scenarios(`"result":"pass","expectation":"not met","reason":"x should be violated and is pass."`),
			"unexpected", "exit status 1", "s0: x should be violated and is pass."},
		"without expectation": {`"exit_status":1` + scenarios(`"result":"corrupted"`), "violated", "exit status 1", ""},
		"left open": {`"exit_status":2` +
			scenarios(`"result":"inconclusive","expectation":"not met","reason":"Too few grants."`), "inconclusive",
			"exit status 2", "s0: Too few grants."},
		"failed": {`"exit_status":3` +
			scenarios(`"result":"skipped","reason":"no"`,
				`"result":"failed","failed":"redis died","reason":"Redis died."`), "failed", "exit status 3", "s1: Redis died."},
		"before there was an exit status": {scenarios(`"result":"pass"`, `"result":"failed","failed":"redis died"`,
			`"result":"corrupted"`)[1:], "failed", "", "s1: redis died"},
	} {
		r, err := read(fstest.MapFS{"r/run.json": {Data: []byte(`{"suite":"quick","elapsed_ns":5,` + c.record + "}")}}, "r", time.Now())
		if err != nil || r.Outcome() != c.want || r.Status() != c.status || r.Trouble() != c.trouble {
			t.Errorf("%s: %q %q %q, want %+v (%v)", name, r.Outcome(), r.Status(), r.Trouble(), c, err)
		}
	}
	gate := fstest.MapFS{"g/run.json": {Data: []byte(`{"suite":"gate lockchaos.yaml","policy":{},"elapsed_ns":5,"exit_status":1` + scenarios(`"result":"corrupted"`) + "}")},
		"g/gate.json": {Data: []byte(`{"result":"passed","exit_status":0,"policy":"lockchaos.yaml"}`)},
		"h/gate.json": {Data: []byte(`{"result":"violated","exit_status":1,"policy":"ci.yaml","elapsed_ns":5,"runs":[{"dir":"seed-1","seed":1}],"scenarios":[{"name":"a","runs":[{"result":"pass","met":false},{"result":"pass","met":true}]}]}`)}}
	if r, err := read(gate, "g", time.Now()); err != nil || r.Kind != "gate" || r.Outcome() != "passed" || *r.Exit != 0 || !r.Comparable() {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := read(gate, "h", time.Now()); err != nil || r.Outcome() != "violated" || r.Title != "gate ci.yaml" ||
		r.Unexpected != 1 || len(r.Runs) != 1 || r.Comparable() {
		t.Errorf("%+v, %v", r, err)
	}
}

// When a run should end follows from what is planned, what scenarios took
// beside that so far, and how many run at once.
func TestTimeLeft(t *testing.T) {
	began := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	at := func(s int) string { return began.Add(time.Duration(s) * time.Second).Format(time.RFC3339) }
	one := func(state string, more string) string {
		return fmt.Sprintf(`{"name":"a","dir":"a","state":%q,"planned_ns":6000000000%s}`, state, more)
	}
	for name, c := range map[string]struct {
		parallel  int
		scenarios []string
		want      int // seconds from the start; 0: not known
	}{
		"nothing has ended": {2, []string{one(running, `,"began":"`+at(0)+`"`),
			one(running, `,"began":"`+at(1)+`"`), one(waiting, "")}, 18},
		"one took 1 s beside its 6 s": {1,
			[]string{one(ended, `,"began":"`+at(0)+`","elapsed_ns":7000000000,"result":"pass"`),
				one(running, `,"began":"`+at(7)+`"`), one(waiting, ""), one(waiting, "")}, 28},
		"skipped ones teach nothing": {1,
			[]string{one(ended, `,"began":"`+at(0)+`","elapsed_ns":1000,"result":"skipped"`), one(running, `,"began":"`+at(0)+`"`)}, 9},
		"places are free":    {8, []string{one(running, `,"began":"`+at(3)+`"`), one(waiting, "")}, 12},
		"an older record":    {0, []string{one(running, "")}, 0},
		"a record that lies": {1 << 30, []string{one(running, "")}, 0},
	} {
		record := fmt.Sprintf(`{"suite":"quick","started":%q,"elapsed_ns":0,"parallel":%d,"scenarios":[%s]}`, at(0),
			c.parallel, strings.Join(c.scenarios, ","))
		now := began.Add(10 * time.Second)
		r, err := read(fstest.MapFS{"r/run.json": {Data: []byte(record), ModTime: now}}, "r", now)
		want := began.Add(time.Duration(c.want) * time.Second)
		if c.want == 0 {
			want = time.Time{}
		}
		if err != nil || !r.Ready.Equal(want) {
			t.Errorf("%s: ready %v, want %v (%v)", name, r.Ready, want, err)
		}
		if r, err := read(fstest.MapFS{"r/run.json": {Data: []byte(record), ModTime: now}}, "r",
			now.Add(2*silence)); err != nil || !r.Ready.IsZero() {
			t.Errorf("%s: a silent run ends at no known time: %v, %v", name, r.Ready, err)
		}
	}
	written := began.Add(40 * time.Second)
	record := fmt.Sprintf(`{"suite":"quick","started":%q,"elapsed_ns":0,"wanted":5,"runs":[{"dir":"seed-1","seed":1},{"dir":"seed-2","seed":2}]}`, at(0))
	if r, err := read(fstest.MapFS{"r/repeat.json": {Data: []byte(record), ModTime: written}}, "r",
		written); err != nil || !r.Ready.Equal(began.Add(100*time.Second)) || r.Status() != "2 of 5 runs at most ended" || r.Seed != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A record that somebody made to harm takes no more memory than a page has room for.
func TestHostileRecords(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	var words []string
	for i := range 5000 {
		words = append(words, fmt.Sprintf(`{"name":%q,"dir":"../../x","state":"s%d"}`, fmt.Sprint("n", i), i))
	}
	root := fstest.MapFS{"r/run.json": {Data: []byte(`{"suite":"` + long +
		`","elapsed_ns":-5,"wanted":-1,"exit_status":-99,"scenarios":[` + strings.Join(words, ",") + `]}`)},
		"big/run.json": {Data: make([]byte, reports.MostRecord+1)}, "pipe/run.json": {Mode: os.ModeNamedPipe}}
	r, err := read(root, "r", time.Now())
	if err != nil || len(r.Title) > 1000 || len(r.Counts) > mostCounts || r.Outcome() != "failed" {
		t.Errorf("%d bytes of title, %d counts, %s, %v", len(r.Title), len(r.Counts), r.Outcome(), err)
	}
	for _, sc := range r.Scenarios {
		if sc.dir != "" || sc.Page != "" {
			t.Fatalf("%+v leads elsewhere", sc)
		}
	}
	if r, err := read(root, "big", time.Now()); err != nil || r.Outcome() != unreadable ||
		!strings.Contains(r.Trouble(), "run.json is larger than 32 MiB") {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := read(root, "pipe", time.Now()); err == nil {
		t.Error("a pipe was read")
	}
}

// A test with locktest has one scenario, in the run's own folder.
func TestScenarioInTheRunsFolder(t *testing.T) {
	root := fstest.MapFS{"r/run.json": {Data: []byte(`{"suite":"TestMyLock","scenarios":[{"name":"MyLock/none/unfenced","dir":".","state":"ended","result":"pass"}]}`)},
		"r/report.html": {}, "r/verdict.json": {Data: []byte(`{"verdict":{"outcome":"pass"}}`)}}
	r, err := read(root, "r", time.Now())
	if err != nil || len(r.Scenarios) != 1 || r.Scenarios[0].dir != "r" {
		t.Fatalf("%+v, %v", r, err)
	}
	left := int64(1 << 20)
	if sc := savedVerdict(root, "r", scenarioRecord{Name: "MyLock/none/unfenced", Dir: "."}, &left); sc.Failed != "" ||
		sc.Verdict.Outcome != checker.Pass {
		t.Errorf("%+v", sc)
	}
}

// newBoard is the board of a folder; each look at it is one.
func newBoard(t *testing.T, folder string) *board {
	t.Helper()
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return &board{root: root, every: time.Second, single: map[string]*single{}}
}

// All who follow share one look an interval, and a look costs the same however
// many runs there are: what has not changed is not read again.
func TestOneLookForAll(t *testing.T) {
	folder := many(t, 300)
	long := time.Now().Add(-time.Hour)
	for i := range 300 {
		if err := os.Chtimes(filepath.Join(folder, fmt.Sprintf("run-%05d", i), "run.json"), long, long); err != nil {
			t.Fatal(err)
		}
	}
	b := newBoard(t, folder)
	now := time.Now()
	runs, version := b.runs(now)
	if len(runs) != 300 || runs[0].Dir != "run-00299" {
		t.Fatalf("%d runs", len(runs))
	}
	// looked counts the entries that a look touches.
	looked := func(at time.Time) (n int) {
		b.runs(at)
		for _, e := range b.entries {
			if e.at.Equal(at) {
				n++
			}
		}
		return n
	}
	if n := looked(now.Add(b.every / 2)); n != 0 {
		t.Errorf("within the interval %d runs were looked at again", n)
	}
	for i := range 3 {
		if n := looked(now.Add(time.Duration(i+1) * b.every)); n != slice {
			t.Errorf("%d runs of 300 were looked at, want %d", n, slice)
		}
	}
	if _, after := b.runs(now.Add(4 * b.every)); after != version {
		t.Error("nothing changed, and followers were told so")
	}
	// A record of long ago that is written anew is seen in its turn, and a
	// folder that goes, at once.
	file := filepath.Join(folder, "run-00000", "run.json")
	if err := os.WriteFile(file, []byte(record1("ended", "corrupted", 5)), 0o644); err != nil {
		t.Fatal(err)
	}
	seen := func() bool {
		for i := range (300+slice-1)/slice + 1 {
			runs, _ := b.runs(now.Add(time.Duration(10+i) * b.every))
			for _, r := range runs {
				if r.Dir == "run-00000" && r.Outcome() == "corrupted" && r.Title == "slow" {
					return true
				}
			}
		}
		return false
	}
	if !seen() {
		t.Error("a record that was written anew was not seen")
	}
	if err := os.RemoveAll(filepath.Join(folder, "run-00001")); err != nil {
		t.Fatal(err)
	}
	if runs, after := b.runs(now.Add(30 * b.every)); len(runs) != 299 || after == version {
		t.Errorf("%d runs after one was deleted", len(runs))
	}
}

// The list comes in pages, and the filter goes through all of them.
func TestPagesOfTheList(t *testing.T) {
	runs, _ := newBoard(t, many(t, 250)).runs(time.Now())
	ask := func(address string) listing {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return queryOf(u).list(runs)
	}
	for address, want := range map[string]struct {
		found, from, to int
		newer, older    string
	}{
		"/":                                   {250, 1, 100, "", "/?page=2"},
		"/?page=2":                            {250, 101, 200, "/?", "/?page=3"},
		"/?page=3":                            {250, 201, 250, "/?page=2", ""},
		"/?page=99999999999999999999":         {250, 1, 100, "", "/?page=2"},
		"/?page=77":                           {250, 201, 250, "/?page=2", ""},
		"/?with=quick+RUN-0001":               {10, 1, 10, "", ""},
		"/?with=corrupted&page=2":             {250, 101, 200, "/?with=corrupted", "/?page=3&with=corrupted"},
		"/?with=nothing+like+it":              {0, 1, 0, "", ""},
		"/?with=" + strings.Repeat("y", 3000): {0, 1, 0, "", ""},
	} {
		l := ask(address)
		if l.Found != want.found || l.From != want.from || l.To != want.to || l.Newer != want.newer ||
			l.Older != want.older || len(l.Runs) != max(0, l.To-l.From+1) || l.All != 250 {
			t.Errorf("%.60s: %d found, %d to %d, newer %q, older %q", address, l.Found, l.From, l.To, l.Newer, l.Older)
		}
	}
}
