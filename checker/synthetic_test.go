package checker

import (
	"fmt"
	"testing"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/synthetic"
)

// judgeSynthetic judges a generated history while it is being written.
func judgeSynthetic(t testing.TB, c synthetic.Config) (Verdict, []synthetic.Planted) {
	t.Helper()
	header, keys, err := synthetic.Header(c)
	if err != nil {
		t.Fatal(err)
	}
	s := New(header, keys, Options{Keep: 1000})
	planted, err := synthetic.Generate(c, func(e *history.Event) error { s.Add(e); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return s.Finish(false), planted
}

// TestSyntheticHistories: a generated history passes, or violates exactly what
// was planted, by the property and the grant that are at fault.
func TestSyntheticHistories(t *testing.T) {
	property := map[synthetic.Defect]string{synthetic.DoubleGrant: MutualExclusion, synthetic.SmallToken: TokenOrder,
		synthetic.LateWrite: UnfencedWrite}
	seen := map[synthetic.Defect]int{}
	for seed := range uint64(60) {
		c := synthetic.Config{Events: 20_000, Clients: []int{2, 5, 20, 100}[seed%4], Bad: []int{0, 1, 7, 100}[seed/4%4], Seed: seed}
		if c.Clients > 2 {
			c.Unknown = int(seed % 5)
			c.Keys = []int{0, 1, c.Clients / 3}[seed%3]
		}
		if c.Bad == 0 && c.Unknown == 0 {
			c.Keys = c.Clients // each has a key to itself: nobody is told that it is taken
		}
		v, planted := judgeSynthetic(t, c)
		if len(planted) != c.Bad {
			t.Fatalf("%+v: %d violations were planted", c, len(planted))
		}
		want, got := map[string]bool{}, map[string]bool{}
		for _, p := range planted {
			seen[p.Defect]++
			want[fmt.Sprintf("%s by grant %d of k%d", property[p.Defect], p.Grant, p.Key)] = true
		}
		n := 0
		for _, r := range v.Properties {
			n += r.Count
			for _, found := range r.Violations {
				culprit := found.B
				if r.Name == UnfencedWrite {
					culprit = found.A
				}
				got[fmt.Sprintf("%s by grant %d of %s", r.Name, culprit.Grant, found.Key)] = true
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || n != c.Bad {
			t.Fatalf("%+v: planted %v\nfound %d: %v", c, want, n, got)
		}
		if outcome := v.Outcome; c.Bad == 0 && outcome != Pass || c.Bad > 0 && outcome != Violated {
			t.Fatalf("%+v: %v, %v", c, outcome, v.Reasons)
		}
	}
	for d, name := range property {
		if seen[d] == 0 {
			t.Errorf("no %v was planted, which violates %s", d, name)
		}
	}
}
