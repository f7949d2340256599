package nemesis

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func single(kind string, t Target) Program {
	aim := Aim{t, Random}
	return Program{Strike: &Strike{Aim: aim, Parts: []Part{{Spec: Spec{Kind: kind, Aim: aim}, For: time.Second}}}}
}

func kindsOf(all []Strike) string {
	var words []string
	for _, s := range all {
		var kinds []string
		for _, p := range s.Parts {
			kinds = append(kinds, p.Kind)
		}
		words = append(words, strings.Join(kinds, "+"))
	}
	return strings.Join(words, " ")
}

func TestSequencesKeepTheirOrderAndPauses(t *testing.T) {
	pausing := single(KindPause, Holder)
	pausing.After = 100 * time.Millisecond
	inner := Program{Sequence: []Program{single(KindClockJump, Holder), single(KindKill, Holder)}, After: 300 * time.Millisecond}
	got := Program{Sequence: []Program{single(KindPartition, Holder), pausing, inner}}.Strikes(rand.New(rand.NewPCG(1, 1)))
	if want := "partition pause clock-jump kill"; kindsOf(got) != want {
		t.Errorf("got %s, want %s", kindsOf(got), want)
	}
	var after []time.Duration
	for _, s := range got {
		after = append(after, s.After)
	}
	if !slices.Equal(after, []time.Duration{0, 1e8, 3e8, 0}) {
		t.Errorf("pauses %v", after)
	}
}

// Each is drawn about as often as its weight says, and a combination as a whole.
func TestMixDrawsByWeight(t *testing.T) {
	both := Program{Sequence: []Program{single(KindKill, Holder), single(KindPause, "redis-1")}}
	mix := Program{Mix: []Choice{{1, single(KindPause, Holder)}, {3, single(KindPartition, Holder)}, {6, both}}}
	count := map[string]int{}
	const draws = 5000
	for round := range uint64(draws) {
		count[kindsOf(mix.Strikes(rand.New(rand.NewPCG(7, round))))]++
	}
	for kinds, share := range map[string]int{"pause": 1, "partition": 3, "kill pause": 6} {
		if n := count[kinds]; n < draws*share/10*85/100 || n > draws*share/10*115/100 {
			t.Errorf("%s was drawn %d times of %d, want about %d: %v", kinds, n, draws, draws*share/10, count)
		}
	}
	if len(count) != 3 {
		t.Errorf("drawn: %v", count)
	}
}

// What strikes together is injected links first, then clocks, stops last,
// however it is written; and the plan stays as it is written.
func TestStrikesTogetherAreInOrder(t *testing.T) {
	var parts []Part
	for _, kind := range []string{KindPause, KindClockJump, KindPartition} {
		parts = append(parts, Part{Spec: Spec{Kind: kind}})
	}
	got := Program{Strike: &Strike{Parts: parts}}.Strikes(nil)
	if want := "partition+clock-jump+pause"; kindsOf(got) != want {
		t.Errorf("got %s, want %s", kindsOf(got), want)
	}
	if parts[0].Kind != KindPause {
		t.Error("the plan was changed")
	}
}

// The same round of the same seed is the same, whatever rounds came before.
func TestRoundsRepeat(t *testing.T) {
	mix := Program{Mix: []Choice{{1, single(KindPause, Holder)}, {1, single(KindKill, Holder)}, {1, single(KindPartition, Holder)}}}
	seen := map[string]bool{}
	for round := range uint64(30) {
		a, b := mix.Strikes(rand.New(rand.NewPCG(7, round))), mix.Strikes(rand.New(rand.NewPCG(7, round)))
		if kindsOf(a) != kindsOf(b) {
			t.Errorf("round %d: %s and %s", round, kindsOf(a), kindsOf(b))
		}
		seen[kindsOf(a)] = true
	}
	if len(seen) != 3 {
		t.Errorf("drawn: %v", seen)
	}
}

func TestWhatCannotStrikeTogether(t *testing.T) {
	for _, c := range []struct {
		kinds []string
		want  string // "": it can
	}{
		{[]string{KindPause, KindClockJump, KindPartition}, ""},
		{[]string{KindPartition, KindClockStrobe}, ""},
		{[]string{KindPause}, "two faults at least"},
		{[]string{KindPause, KindPause}, "could not be told apart"},
		{[]string{KindClockJump, KindPause, KindClockRate}, "what heals one would heal both"},
		{[]string{KindPause, KindClockStrobe}, "a process that is stopped"},
		{[]string{KindClockStrobe, KindPartition, KindPause}, "a process that is stopped"},
		{[]string{KindPartition, KindKill}, "a kill strikes alone"},
	} {
		var specs []Spec
		for _, k := range c.kinds {
			specs = append(specs, Spec{Kind: k})
		}
		err := CheckTogether(specs)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.kinds, err, c.want)
		}
	}
}
