package exhaustive

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/harness/simulated"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/studies"
	"github.com/lockchaos/lockchaos/scenarios"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const ttl = 500 * time.Millisecond

// loaded is a lock of the harness's tests as a program.
var loaded = sync.OnceValues(func() (*sim.Program, error) { return load("redislock") })

func load(lock string) (*sim.Program, error) {
	wasm, err := sim.Build(context.Background(), filepath.Join("..", "harness", "testdata", "locks", lock))
	if err != nil {
		return nil, err
	}
	return sim.Load(context.Background(), wasm, sim.Options{Interpret: os.Getenv(runs.InterpretVar) == "1"})
}

// searched prepares a search of a lock.
func searched(t *testing.T, p *sim.Program, folder string) *Search {
	t.Helper()
	says, err := simulated.Introduced(t.Context(), p, external.Kind("redis"), ttl)
	if err != nil {
		t.Fatal(err)
	}
	return searchOf(t, p, external.Declared("redis", says), folder)
}

// searchOf prepares a search of a lock of this kind.
func searchOf(t *testing.T, p *sim.Program, kind clients.Kind, folder string) *Search {
	t.Helper()
	base := scenarios.Scenario{Lock: "tried", Adapter: scenarios.Adapter{Go: "tried", Service: kind.Service},
		TTL: scenarios.Duration(ttl), Store: scenarios.Store{Kind: "unfenced"}}
	return &Search{Lock: kind, Examinee: possible.Examinee(kind, base), Program: p, Seed: 1, For: time.Hour,
		Cores: runtime.NumCPU(), Folder: folder, Say: func(text string) { t.Log(text) },
		Settings: runs.Settings{Tool: runs.NewTool("test", "lockchaos", nil), Out: t.TempDir()}}
}

// sampled leaves each n-th schedule of a search that is surveyed.
func sampled(t *testing.T, x *Search, n int) {
	t.Helper()
	x.begin()
	calm, err := x.survey(t.Context())
	if err != nil || calm.Fate() != reports.Stood {
		t.Fatalf("undisturbed: %v, %v", calm.CameTo(), err)
	}
	var left []schedule
	for i := 0; i < len(x.all); i += n {
		left = append(left, x.all[i])
	}
	x.all = left
}

// tryUntil tries schedules in the order of a search, until one comes to the fate. It returns which.
func tryUntil(t *testing.T, x *Search, fate reports.Fate) int {
	t.Helper()
	for _, n := range x.order() {
		if err := x.tryOne(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		if x.done[n].Fate == fate.String() {
			return n
		}
	}
	t.Fatalf("no schedule comes to %q", fate)
	return 0
}

// counted are the fates of all schedules that were tried.
func counted(x *Search) map[string]int {
	n := map[string]int{}
	for _, o := range x.outcomes() {
		n[o.Fate]++
	}
	return n
}

func program(t *testing.T) *sim.Program {
	t.Helper()
	needed.Simulates(t)
	p, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEveryStep: the undisturbed run passes each step that the lock has, and every fault of the
// list has places.
func TestEveryStep(t *testing.T) {
	x := searched(t, program(t), "")
	sampled(t, x, 1)
	reached := map[string]bool{}
	for _, p := range x.places {
		for _, d := range p.Doing {
			reached[d.step] = true
		}
	}
	for _, step := range steps {
		able := step != stepRenewing && step != stepRenewed || slices.Contains(x.Examinee.Abilities, scenarios.CanRenew)
		able = able && (step != stepHeld || slices.Contains(x.Examinee.Abilities, scenarios.CanBeAsked))
		if able && !reached[step] {
			t.Errorf("no client comes to %q", step)
		}
	}
	tried := map[string]bool{}
	for _, s := range x.all {
		tried[s.Column] = true
	}
	for _, s := range x.strikes {
		if !tried[s.Column] {
			t.Errorf("%s is never tried", s.Column)
		}
	}
	equal := 0
	for _, s := range x.all {
		equal += s.Equal
	}
	if equal+len(x.all) != x.whole || x.whole > len(x.strikes)*x.instants() || equal < len(x.all) {
		t.Errorf("%d schedules, %d of them equal to one of %d; %d faults at %d places", x.whole, equal, len(x.all),
			len(x.strikes), x.instants())
	}
	for i := range x.all {
		if err := x.fits(x.all[i].Fault); err != nil {
			t.Fatalf("%s: %v", x.all[i].Column, err)
		}
	}
}

// lapsing is a context that ends when it has been asked some times.
type lapsing struct {
	context.Context
	left int
}

func (l *lapsing) Err() error {
	if l.left--; l.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestTimeIsOverInARun: a schedule during which the time is over came to nothing, and stays to be
// tried.
func TestTimeIsOverInARun(t *testing.T) {
	x := searched(t, program(t), "")
	sampled(t, x, 1)
	const many = 1 << 20
	whole := &lapsing{t.Context(), many}
	if err := x.tryOne(whole, 0); err != nil || len(x.done) != 1 {
		t.Fatalf("with time enough: %v, %v", err, x.done)
	}
	clear(x.done)
	for left := range many - whole.left {
		if err := x.tryOne(&lapsing{t.Context(), left}, 0); err == nil || len(x.done) > 0 {
			t.Errorf("over after %d looks: %v, %v", left, err, x.done[0])
		}
	}
}

// TestResetsWhatIsThere: before a client has made a connection, none is reset, and the table says
// why; the first reset strikes, and the last one.
func TestResetsWhatIsThere(t *testing.T) {
	x := searched(t, program(t), "")
	sampled(t, x, 1)
	unconnected := slices.IndexFunc(x.places, func(p place) bool { return p.Host == "client-1" && !p.Doing["client-1"].connected })
	if unconnected < 0 {
		t.Fatal("client 1 has a connection all the time")
	}
	all := slices.DeleteFunc(slices.Clone(x.all), func(s schedule) bool { return s.Column != "its connections reset" || s.Host != "client-1" })
	if all[0].Place.At <= x.places[unconnected].At {
		t.Errorf("a reset at %v, and no connection at %v", all[0].Place.At, x.places[unconnected].At)
	}
	for _, s := range []schedule{all[0], all[len(all)-1]} {
		o, err := x.tryPlan(t.Context(), 0, x.planOf(s))
		if err != nil || o.Fate == reports.NothingFollows.String() {
			t.Errorf("%v: %v, %+v", s.mark(), err, o)
		}
	}
	x.all = nil
	if why := x.whyEmpty("its connections reset", stepAsking, 0, true); why != "no connection is open at this step" {
		t.Error(why)
	}
}

// TestSameCounts: a sample of the schedules comes to the same on one core, on two, and from a
// journal that was cut short.
func TestSameCounts(t *testing.T) {
	p, folder := program(t), t.TempDir()
	var want map[string]int
	for _, cores := range []int{1, 2} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
			x := searched(t, p, "")
			x.Cores = cores
			sampled(t, x, sampleEvery(t))
			if err := x.tryAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := counted(x); want == nil {
				want = got
			} else if !maps.Equal(got, want) {
				t.Errorf("%d cores: %v, want %v", cores, got, want)
			}
		}()
	}
	first := searched(t, p, folder)
	sampled(t, first, sampleEvery(t))
	half := len(first.all) / 2
	if err := first.resume(); err != nil {
		t.Fatal(err)
	}
	for n := range half {
		if err := first.tryOne(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.log.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, journalFile)
	text, err := os.ReadFile(file)
	if err != nil || os.WriteFile(file, text[:len(text)-10], 0o644) != nil {
		t.Fatal(err)
	}
	again := searched(t, p, folder)
	sampled(t, again, sampleEvery(t))
	if err := again.resume(); err != nil || len(again.done) != half-1 {
		t.Fatalf("%d of %d schedules are in the journal, %v", len(again.done), half-1, err)
	}
	if err := again.tryAll(t.Context()); err != nil || !maps.Equal(counted(again), want) {
		t.Errorf("resumed: %v, %v, want %v", counted(again), err, want)
	}
}

// sampleEvery is which of the schedules the tests try: each of so many.
func sampleEvery(t *testing.T) int {
	if testing.Short() {
		return 797
	}
	return 199
}

// compared is which of the equal schedules of a fault the test compares: each of so many.
const compared = 331

// TestReduction: schedules that are called equal come to the same, each tried by itself.
func TestReduction(t *testing.T) {
	x := searched(t, program(t), "")
	x.Unreduced = true
	sampled(t, x, 1)
	var some []schedule
	kinds := map[string]int{}
	for i := 0; i < len(x.all); i++ {
		s := x.all[i]
		if s.Place.At == s.Last {
			continue
		}
		if kinds[s.Host+s.Column]++; kinds[s.Host+s.Column]%compared == 0 { // and the one that it is called equal to
			last := slices.IndexFunc(x.all[i:], func(o schedule) bool { return o.Place.At == s.Last }) + i
			some = append(some, s, x.all[last])
		}
	}
	x.all = some
	if len(some) < 200 { // two of each pair
		t.Fatalf("only %d schedules to compare", len(some))
	}
	if err := x.tryAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(some); i += 2 {
		a, b := x.done[i], x.done[i+1]
		if a.Fate != b.Fate || kindOfFall(a.What) != kindOfFall(b.What) {
			t.Errorf("%s %s at %v is called equal to %v: %s %s, and %s %s", some[i].Host, some[i].Column,
				time.Duration(some[i].Place.At), time.Duration(some[i].Last), a.Fate, a.What, b.Fate, b.What)
		}
	}
}

// TestFindsTheBroken: a lock that asks and then takes falls by a single fault, and the report says
// so: its page, a page of the first schedule, and a reason for each empty cell.
func TestFindsTheBroken(t *testing.T) {
	needed.Simulates(t)
	p, err := load("broken")
	if err != nil {
		t.Fatal(err)
	}
	x := searched(t, p, "")
	sampled(t, x, 1)
	tryUntil(t, x, reports.FellDefect)
	c, dir, err := x.Report(t.Context())
	if err != nil || c.Count(reports.FellDefect) == 0 || Status(c) != 1 {
		t.Fatalf("%v\n%s", err, strings.Join(c.Lines(), "\n"))
	}
	if plan, fell, err := x.FirstDefect(t.Context()); err != nil || !fell || len(plan.Scenario.Faults) != 1 || plan.Simulation == nil {
		t.Errorf("the plan of the defect: %+v", plan)
	}
	html, err := os.ReadFile(filepath.Join(dir, PageFile))
	if err != nil || !strings.Contains(string(html), "fell: a defect") {
		t.Errorf("the page: %v", err)
	}
	schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/complete.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, JSONFile))
	if err != nil {
		t.Fatal(err)
	}
	saved, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = schema.Validate(saved)
	}
	if err != nil {
		t.Errorf("%s: %v", JSONFile, err)
	}
	for _, row := range c.Rows {
		for j, cell := range row.Cells {
			if cell.Tried == 0 && cell.Why == "" {
				t.Error(fmt.Sprint("an empty cell without a reason: ", row.Fault, ", ", c.Steps[j]))
			}
		}
	}
	if !slices.ContainsFunc(c.Falls, func(f studies.Fall) bool { return f.Dir != "" }) {
		t.Error("no fall has a page")
	}
}
