package scenarios

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// smallExam is a table in which two attacks find one broken lock, one finds another alone, and one
// has shown defects of real libraries. "nothing" measures the pace.
func smallExam() Exam {
	e := Exam{}
	for _, a := range []struct {
		name, finds string
		short       bool
	}{{"often", "a", false}, {"short", "a", true}, {"inherent", "", false}, {"alone", "b", false}, {"nothing", "a", false}, {"seldom", "a", false}, {"real", "a", false}} {
		attack := Attack{Name: a.name, Short: a.short, Falls: map[string]string{}}
		if a.finds != "" {
			attack.Falls[a.finds] = "stuck-lock"
		}
		switch a.name {
		case "real":
			attack.Survey = Measured{Fell: 2, Of: 4}
		case "seldom":
			attack.Survey = Measured{Fell: 3, Of: 40}
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
	for _, a := range smallExam().Attacks {
		s := Scenario{Name: a.Name, Attack: a.Name, Duration: minute - Duration(Overhead), Faults: []Fault{a.Fault}}
		if a.Name == "nothing" {
			s.Faults, s.Keys, s.Workload = nil, 1, Workload{Kind: "counter", Think: Range{milli, milli}}
		}
		all = append(all, s)
	}
	long := slices.Clone(all)
	long[6].Duration = 10 * minute // "real"
	for _, c := range []struct {
		name       string
		all        []Scenario
		budget     time.Duration
		parallel   int
		made, left string
	}{
		{"time for all", all, time.Hour, 1, "nothing real seldom alone short often inherent", ""},
		{"for two after each other", all, 150 * time.Second, 1, "nothing real", "seldom alone short often inherent"},
		{"for two after each other, two at once", all, 150 * time.Second, 2, "nothing real seldom alone", "short often inherent"},
		{"a part is kept for those that are made again", all, 2 * time.Minute, 1, "nothing", "real seldom alone short often inherent"},
		{"what is too long gives way to what fits", long, 150 * time.Second, 1, "nothing seldom", "real alone short often inherent"},
		{"for none", all, time.Second, 4, "", "nothing real seldom alone short often inherent"},
	} {
		made, left := smallExam().Within(c.budget, c.parallel, c.all)
		if names(made) != c.made || names(left) != c.left {
			t.Errorf("%s: made %s, left %s; not %s and %s", c.name, names(made), names(left), c.made, c.left)
		}
	}
}

// TestTableByTelling: of the whole table the attacks come first that have shown defects of real
// libraries, the likeliest before the others, and none is lost.
func TestTableByTelling(t *testing.T) {
	e, err := Attacks()
	if err != nil {
		t.Fatal(err)
	}
	var all []Scenario
	shares := map[string]float64{}
	for _, a := range e.Attacks {
		all, shares[a.Name] = append(all, Scenario{Attack: a.Name}), a.Survey.share()
	}
	order := e.byTelling(all)
	if len(order) != len(all) || shares[order[0].Attack] == 0 {
		t.Errorf("%d of %d attacks, first %s", len(order), len(all), order[0].Attack)
	}
	for i := range order[1:] {
		if a, b := order[i].Attack, order[i+1].Attack; shares[a] < shares[b] {
			t.Errorf("%s comes before %s: %.2f of the libraries fell by it, and %.2f by that", a, b, shares[a], shares[b])
		}
	}
}
