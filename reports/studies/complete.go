package studies

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Complete is what a lock came to under each fault of a list, at each place of the smallest
// application, in virtual time.
type Complete struct {
	Lock    string `json:"lock"`
	Service string `json:"service"`
	// Program is the SHA-256 of the lock's program as it was simulated, in hexadecimal.
	Program string        `json:"program"`
	Version string        `json:"lockchaos"`
	Command string        `json:"command"`
	Started time.Time     `json:"started"`
	Elapsed time.Duration `json:"elapsed_ns"`
	Seed    uint64        `json:"seed"`
	TTL     time.Duration `json:"ttl_ns"`
	// Clients and Keys are those of the application, Length how long its undisturbed run took until
	// the last place.
	Clients int           `json:"clients"`
	Keys    int           `json:"keys"`
	Length  time.Duration `json:"length_ns"`
	// Places is how many there are, Faults how many are tried at them, Schedules how many that
	// makes. Of these Equal are equal to another one, and Tried were tried; the rest is left.
	Places    int `json:"places"`
	Faults    int `json:"faults"`
	Schedules int `json:"schedules"`
	// Reordered is in how many of them the events of an instant come in another order.
	Reordered int `json:"reordered"`
	Equal     int `json:"equal"`
	Tried     int `json:"tried"`
	// Lacking says of a fault why it is not tried.
	Lacking []Lacking `json:"lacking,omitempty"`
	// Steps are the columns of the table, Rows have a cell for each.
	Steps []string      `json:"steps"`
	Rows  []CompleteRow `json:"rows"`
	// Falls are what tried schedules fell by, the worst first; each of them has marks.
	Falls []Fall `json:"falls,omitempty"`
	// Spans are what clients do in the undisturbed run.
	Spans []StepSpan `json:"spans"`
	// Pairs are two faults in one run; nil: none were tried.
	Pairs *Pairs `json:"pairs,omitempty"`
}

// Lacking is a fault that is not tried.
type Lacking struct {
	Fault string `json:"fault"`
	Why   string `json:"why"`
}

// CompleteRow is a fault, and what it came to at each step.
type CompleteRow struct {
	Fault string         `json:"fault"`
	Cells []CompleteCell `json:"cells"`
}

// CompleteCell is what a fault came to at a step. Why says why nothing was tried there.
type CompleteCell struct {
	// Tried schedules came to Fates, by the exam's words; Left were not tried. Equal are equal to
	// one of these.
	Tried int            `json:"tried"`
	Left  int            `json:"left,omitempty"`
	Equal int            `json:"equal,omitempty"`
	Fates map[string]int `json:"fates,omitempty"`
	Why   string         `json:"why,omitempty"`
}

// Fall is one way in which schedules fell, or showed nothing.
type Fall struct {
	Fate string `json:"fate"`
	What string `json:"what"`
	// Dir is the folder of the first schedule's page; "": it has none.
	Dir   string `json:"dir,omitempty"`
	Marks []Mark `json:"marks"`
}

// Mark is a place at which a schedule fell.
type Mark struct {
	At    int64  `json:"at_ns"` // from the workload's start
	Host  string `json:"host"`
	Fault string `json:"fault"`
	Step  string `json:"step"`
	// Order is another one of the events of the instant, by their numbers from 1, the fault first;
	// nil: they come as they were caused.
	Order []int `json:"order,omitempty"`
}

// StepSpan is a step of a client, from the workload's start (ns).
type StepSpan struct {
	Host string `json:"host"`
	Step string `json:"step"`
	From int64  `json:"from_ns"`
	To   int64  `json:"to_ns"`
}

// Count is how many tried schedules came to a fate.
func (c Complete) Count(fate reports.Fate) (n int) {
	for _, row := range c.Rows {
		for _, cell := range row.Cells {
			n += cell.Fates[fate.String()]
		}
	}
	return n
}

// Left is how many schedules were neither tried nor are equal to another one.
func (c Complete) Left() int { return c.Schedules - c.Equal - c.Tried }

// fates are told in this order, those behind the first three only where there are any.
var fates = []reports.Fate{reports.Stood, reports.FellDefect, reports.FellInherent, reports.FellUnclear,
	reports.FellRelied, reports.NothingFollows, reports.NotRun}

// Verdict says in a line what users ask first.
func (c Complete) Verdict() string {
	switch n := c.Count(reports.FellDefect); {
	case c.Tried == 0:
		return "nothing was tried"
	case n == 0:
		return fmt.Sprintf("none of %s runs with one fault or none shows a defect", phrase.Grouped(c.Tried)) + c.Pairs.verdict()
	default:
		return fmt.Sprintf("%s of %s runs with one fault or none show a defect", phrase.Grouped(n), phrase.Grouped(c.Tried)) + c.Pairs.verdict()
	}
}

// Headline says in a line what was tried, and what it came to.
func (c Complete) Headline() string {
	words := []string{fmt.Sprintf("%s places × %d faults: %s tried, %s equal", phrase.Grouped(c.Places), c.Faults,
		phrase.Grouped(c.Tried), phrase.Grouped(c.Equal))}
	for i, f := range fates {
		if n := c.Count(f); n > 0 || i < 3 {
			words = append(words, phrase.Grouped(n)+" "+f.String())
		}
	}
	return strings.Join(words, ", ")
}

// Share says how much of it was tried.
func (c Complete) Share() string {
	all := c.Schedules - c.Equal
	switch {
	case c.Left() == 0:
		return "complete for single faults in the simulation, within the bounds below"
	case all == 0:
		return "nothing was tried"
	}
	return fmt.Sprintf("not complete: %d %% of the schedules were tried, %s are left; the same command goes on", 100*c.Tried/all,
		phrase.Grouped(c.Left()))
}

// Bounds says what is bounded.
func (c Complete) Bounds() string {
	number, more := "one fault", "two faults"
	if c.Pairs != nil {
		number, more = "one fault, and two as far as the time went", "three faults"
	}
	return fmt.Sprintf("Bounds: %d clients, %s, a lease of %v; %s, of the lengths in the table. Each host takes the middle of its range to run a program, and each segment to arrive. Events of one instant come in the order in which they were caused, and in %s in another one. Nothing is said of %s, of other orders at two instants, of more clients or keys, and of a real service.",
		c.Clients, phrase.Plural(c.Keys, "key"), c.TTL, number, phrase.Plural(c.Reordered, "schedule"), more)
}

// Told says how much was tried, what that came to, and what is bounded.
func (c Complete) Told() string {
	return strings.Join([]string{c.Share(), c.Headline(), c.Bounds()}, ". ")
}

// Lines are what a terminal is told at the end.
func (c Complete) Lines() (lines []string) {
	lines = append(lines, c.Headline(), c.Share(), c.Bounds())
	for _, f := range c.Falls {
		lines = append(lines, fmt.Sprintf("%s, %s schedules: %s; the first: %v", f.Fate,
			phrase.Grouped(len(f.Marks)), phrase.OneLine(phrase.Clip(f.What, phrase.MostText)), f.Marks[0]))
	}
	lines = append(lines, c.Pairs.lines()...)
	for _, l := range c.Lacking {
		lines = append(lines, "not tried: "+l.Fault+": "+l.Why)
	}
	return lines
}

// SavedComplete is the form of complete.json (docs/schema/complete.json).
type SavedComplete struct {
	Format int `json:"lockchaos_complete"`
	Complete
}

// completeFormat counts changes of that form that a reader must know of.
const completeFormat = 1

// WriteCompleteJSON writes complete.json.
func WriteCompleteJSON(w io.Writer, c Complete) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(SavedComplete{completeFormat, c})
}
