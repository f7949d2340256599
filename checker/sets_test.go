package checker

import (
	"fmt"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// setsLock is plainLock, of which one acquire may ask for three keys.
func setsLock() script {
	return plainLock().with(func(h *history.Header) {
		h.Claims.MultiKey, h.Claims.Confirms = 3, []string{"release", "renew", "held"}
	})
}

// TestSets: each key of a set is judged as if it had been asked for alone, and
// an answer to a set is explained by any of its keys.
func TestSets(t *testing.T) {
	fair := func(h *history.Header) { h.Claims.Fair, h.Clients = true, 2 }
	others := ""
	for t := 20; t < 350; t += 10 {
		others += fmt.Sprintf("B acquire [%d,%d] key=k0\nB release [%d,%d] key=k0\n", t, t+1, t+2, t+3)
	}
	for _, c := range []struct {
		name string
		lock script
		text string
		want map[string]int
	}{
		{"one after the other", setsLock(), `
			A acquire [0,1] key=k0+k1
			A write [2,3] key=k0
			A write [4,5] key=k1
			A release [6,7] key=k0+k1
			B acquire [10,11] key=k1+k2
			B write [12,13] key=k1`, nil},
		{"one key of two sets is held twice", setsLock(), `
			A acquire [0,1] key=k0+k1
			B acquire [10,11] key=k1+k2
			B write [12,13] key=k1
			A write [20,21] key=k1
			A write [22,23] key=k0`, map[string]int{MutualExclusion: 1, UnfencedWrite: 1}},
		{"a set is refused while one of its keys is held", setsLock(), `
			A acquire [0,1] key=k0
			B acquire [10,20] key=k0+k1 busy`, nil},
		{"the same, the keys in the other order", setsLock(), `
			A acquire [0,1] key=k0
			B acquire [10,20] key=k1+k0 busy`, nil},
		{"a set is refused while none of its keys is held", setsLock(), `
			A acquire [0,1] key=k0+k1
			A release [2,3] key=k0+k1
			B acquire [10,20] key=k0+k1 busy`, map[string]int{FalseBusy: 1}},
		{"a refused set has kept one of its keys", setsLock(), `
			A acquire [0,1] key=k0
			B acquire [10,20] key=k1+k0 busy
			C acquire [30,40] key=k1 busy`, map[string]int{FalseBusy: 1}},
		{"another key of the set may stand, of unknown fate", setsLock(), `
			A acquire [0,1] key=k2+k1 info run=0,1
			B acquire [10,20] key=k0+k1 busy
			B acquire [30,40] key=k0 busy`, map[string]int{FalseBusy: 1}},
		{"another key of the set is asked for meanwhile", setsLock(), `
			A acquire [5,12] key=k1 busy
			B acquire [10,20] key=k0+k1 busy`, map[string]int{FalseBusy: 0}},
		{"a released key stays taken until its lease is over", setsLock(), `
			A acquire [0,1] key=k0+k1
			A release [2,3] key=k0+k1
			B acquire [10,501] key=k0+k2`, map[string]int{KeptKey: 1}},
		{"another key of the set was held until then", setsLock(), `
			A acquire [0,1] key=k0+k1
			A release [2,3] key=k0+k1
			C acquire [4,5] key=k2
			C release [498,499] key=k2
			B acquire [10,501] key=k0+k2`, nil},
		{"a set is lost though it stood", setsLock(), `
			A acquire [0,1] key=k0+k1
			A held [100,101] key=k0+k1 notheld`, map[string]int{FalseLoss: 1}},
		{"one key of a set may be lost", setsLock(), `
			A acquire [0,1] key=k0+k1
			B acquire [50,51] key=k1
			B release [52,53] key=k1
			A held [100,101] key=k0+k1 notheld`, map[string]int{MutualExclusion: 1}},
		{"a set passed over, of which one key was held", setsLock().with(fair), `
			A acquire [0,500] key=k0+k1
` + others, nil},
		{"a single key passed over", setsLock().with(fair), `
			A acquire [0,500] key=k0
` + others, map[string]int{Starvation: 1}},
		{"a set overtaken, of which one key was held", setsLock().with(fair), `
			A acquire [0,500] key=k0+k1 enq=2 first=490 attempt=490
			B acquire [20,21] key=k0 enq=20
			B release [22,23] key=k0`, nil},
		{"a single key overtaken by a set", setsLock().with(fair), `
			A acquire [0,500] key=k0 enq=2 first=490 attempt=490
			B acquire [20,21] key=k0+k1 enq=20
			B release [22,23] key=k0+k1`, map[string]int{FIFO: 1}},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, c.lock.judge(t, c.text), c.want) })
	}
}

// TestStuckSets: a key may be kept by an acquire of a set that waits for another
// key, so a key is stuck only if all are free that it may wait for in the end.
func TestStuckSets(t *testing.T) {
	answers, taken, polls := "", "C acquire [0,1] key=k2\n", ""
	for t := 20; t < 4400; t += 400 {
		answers += fmt.Sprintf("D acquire [%d,%d] key=k0\nD release [%d,%d] key=k0\n", t, t+1, t+2, t+3)
		taken += fmt.Sprintf("C renew [%d,%d] key=k2\n", t, t+1)
	}
	for t := 10; t < 4000; t += 200 {
		polls += fmt.Sprintf("B acquire [%d,%d] key=k2+k1 busy\n", t, t+190)
	}
	for _, c := range []struct {
		name string
		text string
		want int
	}{
		{"nobody holds a key of the set", "A acquire [10,4000] key=k1+k2 busy", 1},
		{"somebody holds one of them", taken + "A acquire [10,4000] key=k1+k2 busy", 0},
		{"a set that waits for it may keep another", taken + "B acquire [5,4200] key=k1+k2 busy\nA acquire [10,4000] key=k1+k3 busy", 0},
		{"and the one alone that it may keep", taken + "B acquire [5,4200] key=k1+k2 busy\nA acquire [10,4000] key=k1 busy", 0},
		{"two sets that wait for each other", "B acquire [5,4200] key=k1+k2 busy\nA acquire [10,4000] key=k2+k1 busy", 1},
		{"sets are refused again and again, of which one key is held", taken + polls + "A acquire [15,4000] key=k1 busy", 0},
		{"sets are refused again and again, of which none is held", polls, 1},
		{"the other key became free in the midst",
			"C acquire [0,1] key=k2\nC release [2000,2001] key=k2\n" + "A acquire [10,4000] key=k1+k2 busy", 0},
		{"a client that asks later is granted one of them at once", "A acquire [10,4100] key=k1+k2 busy\nB acquire [4000,4001] key=k1", 1},
		{"the same, while the other one is held", taken + "A acquire [10,4100] key=k1+k2 busy\nB acquire [4000,4001] key=k1", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := setsLock().judge(t, answers+c.text)
			if got := v.Property(StuckLock).Count; got != c.want {
				t.Errorf("stuck %d times, want %d: %v", got, c.want, v.Property(StuckLock).Violations)
			}
		})
	}
}
