package experiments

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// corpus is what a search has learned: the orders of events that were seen, and the plans that
// showed one first. With a folder the next search starts from it.
type corpus struct {
	dir    string // "": it is forgotten
	stamp  scenarios.Simulation
	orders map[uint64]bool
	plans  []scenarios.Plan
}

// mostCorpus bounds the plans that are kept.
const mostCorpus = 500

const (
	corpusPlans = ".plan.yaml" // the end of their names
	ordersFile  = "orders.json"
)

// seenOrders is what ordersFile holds. They are of one adapter and simulator, as plans are.
type seenOrders struct {
	Program   string   `json:"program"`
	Simulator string   `json:"simulator"`
	Orders    []uint64 `json:"orders"`
}

// openCorpus reads the folder of an earlier search; there need be none. say is
// told what is taken from it, and what is not. What was found with another
// adapter or simulator would run differently, and is left out.
func openCorpus(dir string, stamp scenarios.Simulation, fit func(*scenarios.Plan) error, known scenarios.Catalogue,
	say func(string)) (*corpus, error) {
	c := &corpus{dir: dir, stamp: stamp, orders: map[uint64]bool{}}
	if dir == "" {
		return c, nil
	}
	files, err := plansIn(dir)
	if err != nil {
		return nil, err
	}
	other := 0
	for _, file := range files {
		plan, err := scenarios.LoadPlanIn(dir, file, known)
		switch {
		case err == nil && (plan.Simulation == nil || !plan.Simulation.Same(stamp)):
			other++
			continue
		case err == nil:
			err = fit(plan)
		}
		if err != nil {
			say(fmt.Sprintf("left out of the corpus: %v", err))
		} else if len(c.plans) < mostCorpus {
			c.plans = append(c.plans, *plan)
		}
	}
	if err := c.readOrders(); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("corpus: %d plan%s and %d orders of events from earlier searches, in %s", len(c.plans),
		spelling.Plural(len(c.plans)), len(c.orders), dir)
	if other > 0 {
		text += fmt.Sprintf("; %d plan%s of another adapter or simulator left out", other, spelling.Plural(other))
	}
	say(text)
	return c, nil
}

// readOrders reads the orders that were seen, unless they are another adapter's or simulator's.
func (c *corpus) readOrders() error {
	var seen seenOrders
	if err := reports.ReadRecord(c.dir, ordersFile, &seen); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the corpus: %w", err)
	}
	if c.stamp.Same(scenarios.Simulation{Program: seen.Program, Simulator: seen.Simulator}) {
		for _, o := range seen.Orders {
			c.orders[o] = true
		}
	}
	return nil
}

// plansIn lists the names of the plans in a folder, which need not exist.
func plansIn(dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the corpus: %w", err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), corpusPlans) {
			files = append(files, e.Name())
		}
	}
	return files, nil
}

// emptyCorpus deletes the plans and orders in a folder, and nothing else.
func emptyCorpus(dir string) error {
	files, err := plansIn(dir)
	for _, file := range append(files, ordersFile) {
		if gone := os.Remove(filepath.Join(dir, file)); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// keep takes a plan into the corpus that showed an order first.
func (c *corpus) keep(plan scenarios.Plan) error {
	if len(c.plans) >= mostCorpus {
		return nil
	}
	c.plans = append(c.plans, plan)
	if c.dir == "" {
		return nil
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the corpus: %w", err)
	}
	plan.Simulation = &c.stamp
	name := fmt.Sprintf("%d-%.6x%s", plan.Seed, sha256.Sum256(fmt.Appendf(nil, "%+v", plan.Scenario)), corpusPlans)
	var text bytes.Buffer
	if err := plan.Write(&text); err != nil {
		return err
	}
	return outside.Replace(c.dir, name, text.Bytes())
}

// save writes the orders.
func (c *corpus) save() error {
	if c.dir == "" || len(c.plans) == 0 {
		return nil
	}
	seen := seenOrders{Program: c.stamp.Program, Simulator: c.stamp.Simulator}
	for o := range c.orders {
		seen.Orders = append(seen.Orders, o)
	}
	slices.SortFunc(seen.Orders, cmp.Compare)
	text, err := json.Marshal(seen)
	if err != nil {
		return err
	}
	return outside.Replace(c.dir, ordersFile, append(text, '\n'))
}

// orderLength is how many events in a row make an order.
const orderLength = 4

// fresh notes the orders of events on each key, and reports whether one was not seen before. An
// event is what happened and whether its client had the last grant, not when and whose it was.
func (c *corpus) fresh(h *history.History) (fresh bool) {
	last := map[history.KeyID]int64{}
	row := map[history.KeyID]uint64{}
	for i := range h.Events {
		e := &h.Events[i]
		var code uint64
		switch {
		case e.Type == history.Fault && e.Fault != nil:
			code = 64 + uint64(len(e.Fault.Kind))
		case e.Type == history.Lost, e.Type == history.Exit:
			code = 48 + uint64(e.Type)
		case e.Type == history.OK || e.Type == history.Info || e.Type == history.Fail:
			code = uint64(e.Type)<<4 | uint64(e.Kind)
			if e.Kind == history.Acquire && e.Type == history.OK {
				last[e.Key] = e.Grant
			}
			if e.Grant != last[e.Key] {
				code |= 1 << 7
			}
		default:
			continue
		}
		const bits = 8
		row[e.Key] = (row[e.Key]<<bits | code) & (1<<(bits*orderLength) - 1)
		if !c.orders[row[e.Key]] {
			c.orders[row[e.Key]], fresh = true, true
		}
	}
	return fresh
}
