package scenarios

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// triedAgain is the share of a budget that is kept for attacks that are made again.
const triedAgain = 0.1

// Within returns the most telling of the attacks that fit into the budget, so
// many side by side, and those that do not fit. Both begin with the most telling.
func (e Exam) Within(budget time.Duration, parallel int, all []Scenario) (made, left []Scenario) {
	usable := time.Duration(float64(budget) * (1 - triedAgain))
	var plans []Plan
	for _, s := range e.byTelling(all) {
		with := append(plans, Plan{Scenario: s})
		if LengthOfAll(with, parallel) > usable {
			left = append(left, s)
			continue
		}
		plans, made = with, append(made, s)
	}
	return made, left
}

// byTelling puts scenarios of attacks in the order of what they tell. Those
// come first that disturb nothing, since what they show needs no fault. Then
// come the only ones that find some broken lock of the table, then those of
// --short, then the others. What few attacks find comes before what many find.
func (e Exam) byTelling(all []Scenario) []Scenario {
	rank := map[string]int{}
	for _, a := range e.Attacks {
		n := e.alsoFound(a)
		class := 3
		switch {
		case !a.disturbs():
			class = 0
		case n == 1:
			class = 1
		case a.Short:
			class = 2
		}
		rank[a.Name] = class*(len(e.Attacks)+1) + min(n, len(e.Attacks))
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Scenario) int { return cmp.Compare(rank[a.Attack], rank[b.Attack]) })
	return all
}

// alsoFound counts the attacks by which the table has the same broken lock fall,
// the attack itself included. Of an attack without one it is the greatest number.
func (e Exam) alsoFound(a Attack) int {
	least := math.MaxInt
	for lock := range a.Falls {
		n := 0
		for _, other := range e.Attacks {
			if other.Falls[lock] != "" {
				n++
			}
		}
		least = min(least, n)
	}
	return least
}
