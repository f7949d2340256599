package exhaustive

import (
	"bytes"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// TestStartsAreKept: schedules have the same histories when their programs begin where earlier ones
// first waited.
func TestStartsAreKept(t *testing.T) {
	needed.Simulates(t)
	p, err := load("redislock")
	if err != nil {
		t.Fatal(err)
	}
	x := searched(t, p, "")
	x.Say = func(text string) { t.Error(text) }
	sampled(t, x, 1)
	for i := 0; i < len(x.all); i += 3 * sampleEvery(t) {
		plan := x.planOf(x.all[i])
		var texts [2][]byte
		for n := range texts {
			p.KeepStarts(n == 1)
			if texts[n], err = x.text(t.Context(), plan, nil); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(texts[0], texts[1]) {
			t.Errorf("%s %s at %d: another history", x.all[i].Host, x.all[i].Column, x.all[i].Place.At)
		}
	}
}
