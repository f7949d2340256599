package checker

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestStampsInTheFuture: a worker's stamp far behind its event hides no
// double-hold, and the verdict says that the history makes no sense there.
func TestStampsInTheFuture(t *testing.T) {
	h := fencedLock().history(`
		A acquire [0,1] tok=5
		B acquire [30,31] tok=6
		B write   [32,33]
		A write   [40,41]
		B write   [42,43]`)
	v := Judge(h, Options{})
	want := v.Property(MutualExclusion).Count
	if want != 1 {
		t.Fatalf("%d double-holds before any stamp was touched", want)
	}
	for i := range h.Events {
		if e := &h.Events[i]; e.Type == history.OK && e.Kind == history.Acquire && e.Client == 1 {
			e.End = 1e18
		}
	}
	v = Judge(h, Options{})
	if got := v.Property(MutualExclusion).Count; got != want || !strings.Contains(strings.Join(v.Reasons, " "), "make no sense") {
		t.Errorf("%d double-holds, want %d; %q", got, want, v.Reasons)
	}
	h.Header.Translated = true // its stamps are all that there is
	if v = Judge(h, Options{}); strings.Contains(strings.Join(v.Reasons, " "), "make no sense") {
		t.Errorf("translated: %q", v.Reasons)
	}
}
