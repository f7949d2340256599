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
// many side by side, and those that do not fit. Both begin with the most telling; before
// those that are made comes the one that measures the lock's pace, by which the others go.
func (e Exam) Within(budget time.Duration, parallel int, all []Scenario) (made, left []Scenario) {
	usable := time.Duration(float64(budget) * (1 - triedAgain))
	var plans []Plan
	order := e.byTelling(all)
	if i := slices.IndexFunc(all, Scenario.Contended); i >= 0 {
		pace := slices.IndexFunc(order, func(s Scenario) bool { return s.Name == all[i].Name })
		order = slices.Insert(slices.Delete(order, pace, pace+1), 0, all[i])
	}
	for _, s := range order {
		with := append(plans, Plan{Scenario: s})
		if LengthOfAll(with, parallel) > usable {
			left = append(left, s)
			continue
		}
		plans, made = with, append(made, s)
	}
	return made, left
}

// byTelling puts scenarios of attacks in the order of what they tell. Those come first that most
// often showed a defect of the survey's libraries, by their share of those on which they were made.
// Behind them come the only ones that find some broken lock of the table, then those of --short,
// then the others. What few attacks find comes before what many find.
func (e Exam) byTelling(all []Scenario) []Scenario {
	type rank struct {
		share float64
		class int
		found int
	}
	ranks := map[string]rank{}
	for _, a := range e.Attacks {
		r := rank{share: a.Survey.share(), class: 2, found: e.alsoFound(a)}
		switch {
		case r.found == 1:
			r.class = 0
		case a.Short:
			r.class = 1
		}
		ranks[a.Name] = r
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Scenario) int {
		x, y := ranks[a.Attack], ranks[b.Attack]
		return cmp.Or(cmp.Compare(y.share, x.share), cmp.Compare(x.class, y.class), cmp.Compare(x.found, y.found))
	})
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
