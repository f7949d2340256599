// Package studies has what several runs teach together: what changed between
// two, and from which value of a parameter a lock falls.
package studies

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Change says how a scenario's second result relates to its first.
type Change uint8

// The changes, in the order in which they concern a reader.
const (
	// Worse: more harm was found than before.
	Worse Change = iota
	// Undecided: there was a verdict, and now there is none.
	Undecided
	// Better: less harm was found, or none.
	Better
	// Decided: there was no verdict, and now there is one.
	Decided
	// OnlyFirst and OnlySecond: the other run has no such scenario.
	OnlyFirst
	OnlySecond
	// Same: the same result.
	Same
)

var changeNames = [...]string{Worse: "worse", Undecided: "no longer decided", Better: "better", Decided: "decided now",
	OnlyFirst: "only in A", OnlySecond: "only in B", Same: "same"}

func (c Change) String() string { return changeNames[c] }

// severityRank ranks the results that are decided.
var severityRank = map[reports.Result]int{reports.Pass: 0, reports.Contained: 1, reports.Violated: 2, reports.Corrupted: 3}

// change relates two results.
func change(a, b reports.Result) Change {
	before, decidedBefore := severityRank[a]
	now, decidedNow := severityRank[b]
	switch {
	case a == b, !decidedBefore && !decidedNow:
		return Same
	case decidedBefore && !decidedNow:
		return Undecided
	case !decidedBefore:
		return Decided
	case now > before:
		return Worse
	}
	return Better
}

// Compared is one scenario in two runs.
type Compared struct {
	Name   string
	Change Change
	// A and B are nil where the run has no such scenario.
	A, B *reports.Scenario
	// Properties are those whose outcomes differ.
	Properties []ComparedProperty
	Figures    []ComparedFigure
}

// ComparedProperty is a property whose outcome is another in the second run,
// with how often it was violated in each.
type ComparedProperty struct {
	Name           string
	A, B           checker.Outcome
	CountA, CountB int
}

// Words tells the property's two outcomes.
func (p ComparedProperty) Words() string {
	text := p.A.String() + " → " + p.B.String()
	if p.CountA+p.CountB > 0 {
		text += fmt.Sprintf(" (%d → %d times)", p.CountA, p.CountB)
	}
	return text
}

// ComparedFigure is a figure of both runs.
type ComparedFigure struct {
	Name string
	A, B int64
}

// Comparison is two runs side by side.
type Comparison struct {
	A, B reports.Suite
	// Scenarios are in the order of concern, then of the runs.
	Scenarios []Compared
	// Versions are the parts whose versions differ, or that only one run has.
	Versions []ComparedVersion
}

// ComparedVersion is a part in two versions; "" where a run has it not.
type ComparedVersion struct{ Name, A, B string }

// Compare sets two runs side by side. Scenarios are the same when their names are.
func Compare(a, b reports.Suite) Comparison {
	c := Comparison{A: a, B: b, Versions: versions(a.Versions, b.Versions)}
	for i := range a.Scenarios {
		c.Scenarios = append(c.Scenarios, Compared{Name: a.Scenarios[i].Name, A: &a.Scenarios[i], Change: OnlyFirst})
	}
	for i := range b.Scenarios {
		now := &b.Scenarios[i]
		at := slices.IndexFunc(c.Scenarios, func(x Compared) bool { return x.Name == now.Name && x.B == nil })
		if at < 0 {
			c.Scenarios = append(c.Scenarios, Compared{Name: now.Name, B: now, Change: OnlySecond})
			continue
		}
		x := &c.Scenarios[at]
		x.B, x.Change = now, change(x.A.Result(), now.Result())
		x.Properties, x.Figures = differingProperties(x.A, now), sideFigures(x.A, now)
	}
	slices.SortStableFunc(c.Scenarios, func(x, y Compared) int { return cmp.Compare(x.Change, y.Change) })
	return c
}

// differingProperties are the properties whose outcomes differ.
func differingProperties(a, b *reports.Scenario) (out []ComparedProperty) {
	for _, now := range b.Verdict.Properties {
		before := a.Property(now.Name)
		if before == nil || before.Outcome == now.Outcome {
			continue
		}
		out = append(out, ComparedProperty{now.Name, before.Outcome, now.Outcome, a.Causes(now.Name).N,
			b.Causes(now.Name).N})
	}
	return out
}

// sideFigures are those that a verdict rests on.
func sideFigures(a, b *reports.Scenario) []ComparedFigure {
	x, y := a.Verdict.Stats, b.Verdict.Stats
	return []ComparedFigure{
		{"grants", x.Grants, y.Grants}, {"faults that bit", int64(x.Bites), int64(y.Bites)},
		{"defects", int64(len(a.Defects())), int64(len(b.Defects()))},
		{"overruns", int64(a.Overruns().N), int64(b.Overruns().N)},
		{"stale writes", x.Stale, y.Stale}, {"lost updates", int64(a.Causes(checker.LostUpdate).N),
			int64(b.Causes(checker.LostUpdate).N)}, {"refused", x.Refused, y.Refused},
	}
}

// versions lists the parts that are not the same in both. A part may run in more than one version.
func versions(a, b []history.Part) (out []ComparedVersion) {
	of := func(parts []history.Part, name string) string {
		var all []string
		for _, p := range parts {
			if p.Name == name && !slices.Contains(all, p.Version) {
				all = append(all, p.Version)
			}
		}
		return strings.Join(all, ", ")
	}
	for _, p := range slices.Concat(a, b) {
		v := ComparedVersion{p.Name, of(a, p.Name), of(b, p.Name)}
		if v.A != v.B && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// Count is how many scenarios changed so.
func (c Comparison) Count(of ...Change) (n int) {
	for _, x := range c.Scenarios {
		if slices.Contains(of, x.Change) {
			n++
		}
	}
	return n
}

// Headline says what the comparison shows.
func (c Comparison) Headline() string {
	var parts []string
	for _, change := range []Change{Worse, Undecided, Better, Decided, OnlyFirst, OnlySecond} {
		if n := c.Count(change); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, change))
		}
	}
	same := c.Count(Same)
	if len(parts) == 0 {
		if same == 1 {
			return "The verdict is the same."
		}
		return fmt.Sprintf("All %d verdicts are the same.", same)
	}
	if same > 0 {
		parts = append(parts, fmt.Sprintf("%d the same", same))
	}
	return fmt.Sprintf("Of %s: %s.", phrase.Plural(len(c.Scenarios), "scenario"), strings.Join(parts, ", "))
}

// InAWord is a scenario's result in a word, with its mark.
func InAWord(x *reports.Scenario) string {
	if x == nil {
		return "–"
	}
	return x.Result().Mark() + " " + x.Result().String()
}
