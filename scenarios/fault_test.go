package scenarios

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// combined is good with other faults.
func combined(faults string) string {
	return strings.Replace(good, "      - {kind: pause, target: holder, when: random, for: 1s, every: 1s}\n", faults, 1)
}

const combination = `      - sequence:
          - {kind: pause, for: 1s}
          - together: [{kind: pause}, {kind: kill, for: 2s}]
            after: 100ms
          - mix:
              - {weight: 3, kind: pause, when: before-write}
              - {kind: kill}
        target: holder
        when: random
        for: 300ms
        at: [1s, 2s±100ms, 3s+-1ms]
      - {kind: pause, target: holder, when: random, for: 1s, grant: 5}
      - {kind: pause, target: holder, when: random, for: 1s, grant: [5, 7]}
`

// Combinations are read, a saved plan reads back as the same, and parts have what the whole says.
func TestCombinations(t *testing.T) {
	s, err := Parse([]byte(combined(combination)), "my.yaml", catalogue)
	if err != nil {
		t.Fatal(err)
	}
	plan := Plan{Seed: 7, Scenario: s.Scenarios[0]}
	file := filepath.Join(t.TempDir(), "plan.yaml")
	if err := plan.Save(file); err != nil {
		t.Fatal(err)
	}
	again, err := LoadPlan(file, catalogue)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*again, plan) {
		t.Errorf("read back\n%+v\nwant\n%+v", *again, plan)
	}
	f := plan.Scenario.Faults[0]
	const ms = Duration(time.Millisecond)
	if want := (Instants{{At: 1000 * ms}, {2000 * ms, 100 * ms}, {3000 * ms, ms}}); !reflect.DeepEqual(f.At, want) {
		t.Errorf("at %v", f.At)
	}
	if want := (Numbers{5, 7}); !reflect.DeepEqual(plan.Scenario.Faults[2].Grant, want) {
		t.Errorf("grant %v", plan.Scenario.Faults[2].Grant)
	}
	var got []Fault
	for _, one := range f.Singles() {
		got = append(got, Fault{Kind: one.Kind, Target: one.Target, When: one.When, For: one.For})
	}
	want := []Fault{{Kind: "pause", Target: "holder", When: "random", For: 1000 * ms},
		{Kind: "pause", Target: "holder", When: "random", For: 300 * ms},
		{Kind: "kill", Target: "holder", When: "random", For: 2000 * ms},
		{Kind: "pause", Target: "holder", When: "before-write", For: 300 * ms},
		{Kind: "kill", Target: "holder", When: "random"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("parts\n%+v\nwant\n%+v", got, want)
	}
	var words []string
	for _, p := range f.Planned() {
		words = append(words, p.Kind+" "+p.Text)
	}
	if want := []string{"pause for 1s (sequence, at [1s, 2s±100ms, 3s±1ms])",
		"pause for 300ms (together, after 100ms) (sequence, at [1s, 2s±100ms, 3s±1ms])",
		"kill for 2s (together, after 100ms) (sequence, at [1s, 2s±100ms, 3s±1ms])",
		"pause for 300ms, weight 3 (mix) (sequence, at [1s, 2s±100ms, 3s±1ms])",
		"kill (mix) (sequence, at [1s, 2s±100ms, 3s±1ms])"}; !reflect.DeepEqual(words, want) {
		t.Errorf("in words: %q", words)
	}
	if f.Longest() != 3300*ms {
		t.Errorf("it lasts %v", f.Longest())
	}
	if want := "pause-then-pause-and-kill-then-mix-of-2-holder"; f.Label() != want {
		t.Errorf("label %s", f.Label())
	}
}

// The scale of production reaches every part.
func TestCombinationsAtTheScaleOfProduction(t *testing.T) {
	s, err := Parse([]byte(combined(combination)), "my.yaml", catalogue)
	if err != nil {
		t.Fatal(err)
	}
	before := s.Scenarios[0].Faults[0]
	p := Plan{Seed: 7, Scenario: s.Scenarios[0]}.Real()
	f := p.Scenario.Faults[0]
	if f.Sequence[0].For != RealFreeze || f.For != Duration(6*time.Second) ||
		f.Sequence[1].After != Duration(2*time.Second) || f.Sequence[1].Together[1].For != RealFreeze {
		t.Errorf("%+v", f)
	}
	if f.At[1] != (Instant{Duration(40 * time.Second), Duration(2 * time.Second)}) || p.Scenario.Duration < f.At[2].At+f.Longest() {
		t.Errorf("at %v in %v", f.At, p.Scenario.Duration)
	}
	if before.At[1].At != Duration(2*time.Second) || before.Sequence[0].For != Duration(time.Second) {
		t.Error("the scenario itself was changed")
	}
}

func TestMistakesOfCombinationsAreLocated(t *testing.T) {
	cat := catalogue
	cat.CheckTogether = func(parts []Fault) error {
		if parts[0].Kind == parts[1].Kind {
			return errors.New("both are alike")
		}
		return nil
	}
	if _, err := Parse([]byte(combined(combination)), "my.yaml", cat); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, from, to, want string }{
		{"two ways at once", "    at: [1s,", "    every: 1s\n        at: [1s,",
			"my.yaml:23:13: every and at: each says when the fault comes"},
		{"no way", "        at: [1s, 2s±100ms, 3s+-1ms]\n", "", "when the fault comes must be given: every (longer than 0"},
		{"after what", "at: [1s", "after: 1s\n        at: [1s", "after is the time before the first of every"},
		{"times fall", "[1s, 2s±100ms", "[3s, 2s±100ms", "times of the run must rise"},
		{"no time", "2s±100ms", "2s±soon", `my.yaml:22:18: "soon" is not a duration`},
		{"no number", "grant: [5, 7]", "grant: [5, x]", `my.yaml:24:73: "x" is not the number of a grant`},
		{"grant 0", "grant: 5", "grant: 0", "my.yaml:23:69: grant 0: numbers of grants must rise, from 1"},
		{"kind and parts", "      - sequence:", "      - kind: pause\n        sequence:", "kind and sequence: a fault is one of them"},
		{"unknown part", "{kind: kill}", "{kind: hug}", `my.yaml:18:24: unknown fault "hug"`},
		{"unknown target of a part", "{kind: kill}", "{kind: kill, target: redis-9}", `my.yaml:18:38: no target "redis-9"`},
		{"part by itself", "{kind: kill}", "{kind: kill, every: 1s}", "my.yaml:18:17: when a part of a mix comes is said of the whole"},
		{"what a whole does", "        target: holder\n        when: random\n        for: 300ms",
			"        target: holder\n        when: random\n        clock: wall\n        for: 300ms", "a sequence has target, when, for"},
		{"weight in a sequence", "{kind: pause, for: 1s}\n          - together",
			"{kind: pause, for: 1s, weight: 2}\n          - together", "weight is for the parts of a mix"},
		{"weight of a whole", "{kind: pause, target: holder, when: random, for: 1s, grant: 5}",
			"{kind: pause, target: holder, when: random, for: 1s, grant: 5, weight: 3}", "weight is for the parts of a mix"},
		{"too heavy", "weight: 3", "weight: 3000", "my.yaml:17:26: weight 3000: 1 to 1000"},
		{"pause before the first", "{kind: pause, for: 1s}\n          - together",
			"{kind: pause, for: 1s, after: 1s}\n          - together", "after is a pause between the parts of a sequence"},
		{"alone together", "[{kind: pause}, {kind: kill, for: 2s}]", "[{kind: pause}]", "a together needs two faults at least"},
		{"alike together", "[{kind: pause}, {kind: kill, for: 2s}]", "[{kind: pause}, {kind: pause}]", "both are alike"},
		{"two targets together", "[{kind: pause}, {kind: kill, for: 2s}]",
			"[{kind: pause, when: before-write}, {kind: kill}]", "one target and one moment"},
		{"combination together", "[{kind: pause}, {kind: kill, for: 2s}]",
			"[{kind: pause}, {mix: [{kind: kill}, {kind: pause}]}]", "single faults, no combinations"},
		{"endless", "for: 300ms", "for: 0s", "a fault must last longer than 0"},
		{"too quiet", "    duration: 1s", "    duration: 1s\n    quiet: 1s",
			"my.yaml:11:12: quiet 1s: faults need time before it, and the workload lasts 1s"},
		{"renewing what", "when: before-write", "when: while-renewing", `my.yaml:17:48: unknown moment "while-renewing"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(combined(combination), c.from, c.to, 1)
			_, err := Parse([]byte(text), "my.yaml", cat)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got  %v\nwant …%s…", err, c.want)
			}
		})
	}
}

// A moment that nobody passes is refused: the application must renew, under a
// lock that is renewed by it.
func TestRenewalsNeedARenewingApplication(t *testing.T) {
	cat := catalogue
	cat.Moments = append([]string{"while-renewing"}, cat.Moments...)
	text := combined("      - {kind: pause, target: holder, when: while-renewing, for: 1s, every: 1s}\n")
	renewing := strings.Replace(text, "guard: none", "guard: none, renew: true", 1)
	for _, c := range []struct {
		text   string
		renews bool
		ok     bool
	}{{text, true, false}, {renewing, false, false}, {renewing, true, true}} {
		cat.Renews = map[string]bool{"redis-setnx": c.renews, "redlock": true}
		_, err := Parse([]byte(c.text), "my.yaml", cat)
		if (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(),
			"my.yaml:12:45: while-renewing is a moment of applications that renew") {
			t.Errorf("renews %v: %v", c.renews, err)
		}
	}
}
