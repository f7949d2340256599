package harness

import (
	"slices"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// watchAt is a watch over one key with a patience of 3 s and a rest of 1 s, and
// the instant at which it begins.
func watchAt() (*stuckWatch, func(seconds float64) int64) {
	began := monotime.Now()
	return newStuckWatch(3*time.Second, time.Second, []string{"k0"}), func(s float64) int64 {
		return began + int64(s*float64(time.Second))
	}
}

var (
	isBusy    = wire.Reply{Result: wire.ResultFail, Busy: true}
	isUnknown = wire.Reply{Result: wire.ResultInfo}
	isError   = wire.Reply{Result: wire.ResultFail}
	isOK      = wire.Reply{Result: wire.ResultOK}
)

func TestWatchNoticesAKeyThatNobodyGets(t *testing.T) {
	for _, x := range []struct {
		name string
		do   func(v *stuckWatch, at func(float64) int64)
		want bool
	}{
		{"nobody asks", func(*stuckWatch, func(float64) int64) {}, false},
		{"one waits", func(v *stuckWatch, at func(float64) int64) { v.noteAsk(1, "k0", at(0)) }, true},
		{"not for long enough", func(v *stuckWatch, at func(float64) int64) { v.noteAsk(1, "k0", at(2)) }, false},
		{"asked again and again", func(v *stuckWatch, at func(float64) int64) {
			for s := 0.; s < 4; s += 0.5 {
				v.noteAsk(1, "k0", at(s))
				v.answered(1, "k0", 1, isBusy, at(s+0.1))
			}
		}, true},
		{"a long rest between", func(v *stuckWatch, at func(float64) int64) {
			v.noteAsk(1, "k0", at(0))
			v.answered(1, "k0", 1, isBusy, at(0.1))
			v.noteAsk(1, "k0", at(2))
		}, false},
		{"an error between", func(v *stuckWatch, at func(float64) int64) {
			v.noteAsk(1, "k0", at(0))
			v.answered(1, "k0", 1, isError, at(2))
			v.noteAsk(1, "k0", at(2.1))
		}, false},
		{"somebody holds it", func(v *stuckWatch, at func(float64) int64) {
			v.noteAsk(2, "k0", at(0))
			v.answered(2, "k0", 7, isOK, at(0))
			v.noteAsk(1, "k0", at(0))
		}, false},
		{"it was held until just now", func(v *stuckWatch, at func(float64) int64) {
			v.noteAsk(2, "k0", at(0))
			v.answered(2, "k0", 7, isOK, at(0))
			v.noteAsk(1, "k0", at(0))
			v.released("k0", 7, at(2))
		}, false},
		{"it was asked for in vain", func(v *stuckWatch, at func(float64) int64) {
			v.noteAsk(1, "k0", at(-9))
			v.tried("k0", true)
			v.keys["k0"].free = at(-9)
		}, false},
		{"the machine stalled", func(v *stuckWatch, at func(float64) int64) {
			v.noteAsk(1, "k0", at(0))
			v.noteStall(2 * time.Second)
		}, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			v, at := watchAt()
			x.do(v, at)
			if _, got := v.stuck(at(4.2), 0); got != x.want {
				t.Errorf("%v, want %v", got, x.want)
			}
			if _, got := v.stuck(at(4.2), at(2)); got {
				t.Error("stuck though a fault was in force just now")
			}
		})
	}
}

// Suspects: losers by when they gave up, then who never asked, who holds
// another key, and the last to hold this one.
func TestSuspectsAreInOrder(t *testing.T) {
	v := newStuckWatch(time.Second, time.Second, []string{"k0", "k1"})
	now := monotime.Now()
	for i, c := range []int32{5, 3, 2, 1} {
		v.noteAsk(c, "k0", now)
		v.answered(c, "k0", int64(c), isUnknown, now+int64(i))
	}
	v.noteAsk(2, "k1", now)
	v.answered(2, "k1", 20, isOK, now)
	v.noteAsk(1, "k0", now)
	v.answered(1, "k0", 10, isOK, now)
	v.released("k0", 10, now)
	if got, want := v.suspects("k0", []int32{1, 2, 3, 4, 5}), []int32{5, 3, 4, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if groups := suspectGroups(slices.Repeat([]int32{1}, 10)); len(groups) != mostAlone+1 || len(groups[mostAlone]) != 10-mostAlone {
		t.Errorf("%v", groups)
	}
}
