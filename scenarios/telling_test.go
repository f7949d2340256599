package scenarios

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// telling is a table in which two attacks find one broken lock, and one finds another alone.
func telling() Exam {
	e := Exam{}
	for _, a := range []struct {
		name, finds string
		short       bool
	}{{"often", "a", false}, {"short", "a", true}, {"inherent", "", false}, {"alone", "b", false}, {"nothing", "a", false}} {
		attack := Attack{Name: a.name, Short: a.short, Falls: map[string]string{}}
		if a.finds != "" {
			attack.Falls[a.finds] = "stuck-lock"
		}
		if a.name != "nothing" {
			attack.Fault.Kind = "kill"
		}
		e.Attacks = append(e.Attacks, attack)
	}
	return e
}

// names are the attacks, in their order.
func names(all []Scenario) string {
	var words []string
	for _, s := range all {
		words = append(words, s.Attack)
	}
	return strings.Join(words, " ")
}

// TestWithin: the most telling attacks that fit are made, and each of the others is left.
func TestWithin(t *testing.T) {
	const minute = Duration(time.Minute)
	var all []Scenario
	for _, a := range telling().Attacks {
		all = append(all, Scenario{Attack: a.Name, Duration: minute - Duration(Overhead)})
	}
	long := slices.Clone(all)
	long[3].Duration = 10 * minute // "alone"
	for _, c := range []struct {
		name       string
		all        []Scenario
		budget     time.Duration
		parallel   int
		made, left string
	}{
		{"time for all", all, time.Hour, 1, "nothing alone short often inherent", ""},
		{"for two after each other", all, 150 * time.Second, 1, "nothing alone", "short often inherent"},
		{"for two after each other, two at once", all, 150 * time.Second, 2, "nothing alone short often", "inherent"},
		{"a part is kept for those that are made again", all, 2 * time.Minute, 1, "nothing", "alone short often inherent"},
		{"what is too long gives way to what fits", long, 150 * time.Second, 1, "nothing short", "alone often inherent"},
		{"for none", all, time.Second, 4, "", "nothing alone short often inherent"},
	} {
		made, left := telling().Within(c.budget, c.parallel, c.all)
		if names(made) != c.made || names(left) != c.left {
			t.Errorf("%s: made %s, left %s; not %s and %s", c.name, names(made), names(left), c.made, c.left)
		}
	}
}

// TestTableByTelling: of the whole table the attacks that disturb nothing come
// first, and none is lost.
func TestTableByTelling(t *testing.T) {
	e, err := Attacks()
	if err != nil {
		t.Fatal(err)
	}
	var all []Scenario
	for _, a := range e.Attacks {
		all = append(all, Scenario{Attack: a.Name})
	}
	order := names(e.byTelling(all))
	undisturbed := 0
	for _, a := range e.Attacks {
		if !strings.Contains(" "+order+" ", " "+a.Name+" ") {
			t.Errorf("%s is lost", a.Name)
		}
		if !a.disturbs() {
			undisturbed++
		}
	}
	for i, name := range strings.Fields(order) {
		if strings.HasPrefix(name, "nothing-") != (i < undisturbed) {
			t.Errorf("%s is number %d: %s", name, i, order)
		}
	}
}
