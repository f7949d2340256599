package experiments

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestCorpusOnDisk: what one search keeps the next one finds, unless it is of another adapter or
// simulator, or does not fit; and emptying leaves what is not the corpus's.
func TestCorpusOnDisk(t *testing.T) {
	known := runs.NewTool("test", "lockchaos", nil).Catalogue()
	dir := filepath.Join(t.TempDir(), "corpus")
	mine := scenarios.Simulation{Program: "p", Simulator: "s"}
	fit := func(*scenarios.Plan) error { return nil }
	var said string
	open := func(stamp scenarios.Simulation) *corpus {
		t.Helper()
		said = ""
		c, err := openCorpus(dir, stamp, fit, known, func(line string) { said += line + "\n" })
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := open(mine)
	h := &history.History{Events: []history.Event{{Type: history.OK, Kind: history.Acquire, Grant: 1},
		{Type: history.OK, Kind: history.Release, Grant: 1}}}
	if !c.fresh(h) || c.fresh(h) {
		t.Error("an order is new once")
	}
	between := scenarios.Range{Min: scenarios.Duration(time.Millisecond), Max: scenarios.Duration(time.Millisecond)}
	plan := scenarios.Plan{Seed: 7, Scenario: scenarios.Scenario{Name: "explore/mine", Lock: "mine",
		Adapter: scenarios.Adapter{Go: dir, Service: "redis"}, TTL: scenarios.Duration(time.Second),
		Clients: 1, Keys: 1, Duration: scenarios.Duration(2 * time.Second), Store: scenarios.Store{Kind: "unfenced"},
		Workload: scenarios.Workload{Kind: "counter", Guard: "none", Think: between, Rest: between,
			AcquireTimeout: scenarios.Duration(time.Second), OpTimeout: scenarios.Duration(time.Second)}}}
	if err := errors.Join(c.keep(plan), c.save()); err != nil {
		t.Fatal(err)
	}
	if c = open(mine); len(c.plans) != 1 || c.plans[0].Seed != 7 || len(c.orders) != 2 || c.fresh(h) ||
		!strings.Contains(said, "corpus: 1 plan and 2 orders of events") {
		t.Errorf("%d plans, %d orders: %s", len(c.plans), len(c.orders), said)
	}
	if c = open(scenarios.Simulation{Program: "p", Simulator: "another"}); len(c.plans)+len(c.orders) != 0 ||
		!strings.Contains(said, "1 plan of another adapter or simulator left out") {
		t.Errorf("%d plans, %d orders: %s", len(c.plans), len(c.orders), said)
	}
	fit = func(*scenarios.Plan) error { return errors.New("it has a throttle") }
	if c = open(mine); len(c.plans) != 0 || !strings.Contains(said, "it has a throttle") {
		t.Errorf("%d plans: %s", len(c.plans), said)
	}
	if err := os.WriteFile(filepath.Join(dir, "0"+corpusPlans), []byte("seed: nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	if open(mine); !strings.Contains(said, "left out of the corpus: ") || !strings.Contains(said, "0"+corpusPlans+":1:") {
		t.Errorf("a file that is no plan: %s", said)
	}
	note := filepath.Join(dir, "note.txt")
	if err := errors.Join(os.WriteFile(note, nil, 0o644), emptyCorpus(dir)); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 || left[0].Name() != "note.txt" {
		t.Errorf("%v is left", left)
	}
	if err := emptyCorpus(filepath.Join(dir, "missing")); err != nil {
		t.Error(err)
	}
}

// TestCorpusIsBounded: what is beyond the bound is not kept.
func TestCorpusIsBounded(t *testing.T) {
	c, err := openCorpus("", scenarios.Simulation{}, nil, scenarios.Catalogue{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range mostCorpus + 1 {
		if err := c.keep(scenarios.Plan{Seed: uint64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.plans) != mostCorpus || c.save() != nil {
		t.Errorf("%d plans", len(c.plans))
	}
}
