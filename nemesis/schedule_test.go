package nemesis

import (
	"math/rand/v2"
	"testing"
	"time"
)

func cues(s Schedule, seed uint64) (all []Trigger) {
	for n := range 50 {
		c, ok := s.Trigger(n, rand.New(rand.NewPCG(seed, uint64(n))))
		if !ok {
			break
		}
		all = append(all, c)
	}
	return all
}

// Every: first the quiet time, then a time from the range after the end of each, without end.
func TestEverySoOften(t *testing.T) {
	s := Schedule{After: 100 * time.Millisecond, Every: Interval{200 * time.Millisecond, 400 * time.Millisecond}}
	all := cues(s, 1)
	if len(all) != 50 || all[0] != (Trigger{Wait: s.After}) {
		t.Fatalf("%d cues, %+v", len(all), all[0])
	}
	seen := map[time.Duration]bool{}
	for _, c := range all[1:] {
		if c.Timed || c.Grant != 0 || c.Wait < s.Every.Min || c.Wait > s.Every.Max {
			t.Errorf("%+v", c)
		}
		seen[c.Wait] = true
	}
	if len(seen) < 40 {
		t.Errorf("only %d different times were drawn", len(seen))
	}
	if fixed := cues(Schedule{Every: Interval{time.Second, time.Second}}, 1); fixed[0].Wait != 0 || fixed[9].Wait != time.Second {
		t.Errorf("%+v", fixed[:10])
	}
}

// At: once for each time, as far off as the jitter says, on both sides, and never before the run.
func TestAtTimesOfTheRun(t *testing.T) {
	s := Schedule{At: []Instant{{At: 50 * time.Millisecond, Jitter: 100 * time.Millisecond},
		{At: 2 * time.Second, Jitter: 100 * time.Millisecond}, {At: 3 * time.Second}}}
	early, late := false, false
	for seed := range uint64(200) {
		all := cues(s, seed)
		if len(all) != 3 {
			t.Fatalf("%d cues", len(all))
		}
		for i, c := range all {
			off := c.At - s.At[i].At
			if !c.Timed || c.Grant != 0 || c.At < 0 || off.Abs() > s.At[i].Jitter {
				t.Errorf("%+v for %+v", c, s.At[i])
			}
			if i == 1 {
				early, late = early || off < -50*time.Millisecond, late || off > 50*time.Millisecond
			}
		}
	}
	if !early || !late {
		t.Errorf("drawn early %v, late %v", early, late)
	}
}

func TestAfterGrants(t *testing.T) {
	all := cues(Schedule{Grants: []int64{5, 20}}, 1)
	if len(all) != 2 || all[0] != (Trigger{Grant: 5}) || all[1] != (Trigger{Grant: 20}) {
		t.Errorf("%+v", all)
	}
}

// The same seed gives the same times, another one others.
func TestSchedulesRepeat(t *testing.T) {
	for _, s := range []Schedule{{Every: Interval{1, 1e9}}, {At: []Instant{{2e9, 1e9}}}} {
		a, b, other := cues(s, 7), cues(s, 7), cues(s, 8)
		differs := false
		for i := range a {
			if a[i] != b[i] {
				t.Errorf("cue %d: %+v and %+v", i, a[i], b[i])
			}
			differs = differs || a[i] != other[i]
		}
		if !differs {
			t.Error("another seed draws the same")
		}
	}
}
