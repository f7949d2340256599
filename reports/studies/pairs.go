package studies

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Pairs is what runs with two faults came to. A nil *Pairs has none.
type Pairs struct {
	// Firsts is how many first faults there are: those that the lock stood by themselves. Ways is
	// in how many ways they changed what the clients saw.
	Firsts int `json:"firsts"`
	Ways   int `json:"ways"`
	// About is about how many pairs there are, those that are equal to another one left out. Tried
	// were tried, and Equal are equal to one of these.
	About int            `json:"about"`
	Tried int            `json:"tried"`
	Equal int            `json:"equal"`
	Fates map[string]int `json:"fates"`
	Falls []PairFall     `json:"falls,omitempty"`
}

// PairFall is one way in which pairs fell, or showed nothing, with the first of them.
type PairFall struct {
	Fate string `json:"fate"`
	What string `json:"what"`
	// New: no single fault shows it.
	New   bool `json:"new"`
	Count int  `json:"count"`
	// Dir is the folder of its page; "": it has none.
	Dir       string `json:"dir,omitempty"`
	Schedules [2]int `json:"schedules"`
	First     Mark   `json:"first"`
	Second    Mark   `json:"second"`
}

// Count is how many pairs came to a fate.
func (p *Pairs) Count(fate reports.Fate) int {
	if p == nil {
		return 0
	}
	return p.Fates[fate.String()]
}

// Each are the ways in which pairs fell.
func (p *Pairs) Each() []PairFall {
	if p == nil {
		return nil
	}
	return p.Falls
}

// verdict goes on with the verdict on single faults.
func (p *Pairs) verdict() string {
	switch n := p.Count(reports.FellDefect); {
	case p == nil || p.Tried == 0:
		return ""
	case n == 0:
		return fmt.Sprintf(", and none of %s with two", phrase.Grouped(p.Tried))
	default:
		return fmt.Sprintf(", and %s of %s with two", phrase.Grouped(n), phrase.Grouped(p.Tried))
	}
}

// Headline says in a line what was tried of pairs, and what it came to.
func (p *Pairs) Headline() string {
	var words []string
	for i, f := range fates {
		if n := p.Count(f); n > 0 || i < 3 {
			words = append(words, phrase.Grouped(n)+" "+f.String())
		}
	}
	all := max(p.Tried, p.About)
	return fmt.Sprintf("pairs: %s tried, of about %s (%s): %s; the first fault is one of %s that the lock stood, which changed what clients see in %s",
		phrase.Grouped(p.Tried), phrase.Grouped(all), reports.Percent(reports.Rate{Hits: p.Tried, Of: all}.Share()),
		strings.Join(words, ", "), phrase.Grouped(p.Firsts), phrase.Plural(p.Ways, "way"))
}

// Told says what the pairs of a way to fall are.
func (f PairFall) Told() string {
	by := ""
	if f.New {
		by = ", which no single fault shows"
	}
	return fmt.Sprintf("%s%s", phrase.OneLine(phrase.Clip(f.What, phrase.MostText)), by)
}

// lines are what a terminal is told.
func (p *Pairs) lines() (lines []string) {
	if p == nil {
		return nil
	}
	lines = append(lines, p.Headline())
	for _, f := range p.Falls {
		lines = append(lines, fmt.Sprintf("%s, %s: %s; the first: %v, then %v", f.Fate, phrase.Plural(f.Count, "pair"), f.Told(), f.First, f.Second))
	}
	return lines
}

// String names the place of a fault.
func (m Mark) String() string {
	return m.at(time.Duration(m.At).String())
}

// Told is String with a time as pages tell it.
func (m Mark) Told() string { return m.at(phrase.Span(m.At)) }

func (m Mark) at(time string) string {
	order := ""
	if m.Order != nil {
		order = fmt.Sprint(", events in the order ", m.Order)
	}
	return fmt.Sprintf("%s, %s at %s (%s%s)", m.Host, m.Fault, time, m.Step, order)
}
