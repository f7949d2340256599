package checker

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestEdgesOfSemaphores: who counts together where the order of grants is not known.
func TestEdgesOfSemaphores(t *testing.T) {
	two := permits(plainLock(), 2)
	both := claim(two, func(c *history.Claims) { c.PerAcquire = 2 })
	translated := two.with(func(h *history.Header) { h.Translated = true })
	const crowd = `
		A acquire [0,1] valid=20 tok=1
		C acquire [30,60] valid=20 tok=2
		B acquire [40,61] valid=20 tok=3
		A write   [100,101]
		C write   [110,111]
		B write   [120,121]
		A release [130,131]
		C release [132,133]
		B release [134,135]` + probeText
	run(t, []propertyCase{
		{"the first for certain, the others in either order", MutualExclusion, two, `
		A acquire [0,1]
		B acquire [4,5]
		C acquire [5,6]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"one client with both permits, alone", MutualExclusion, both, `
		A acquire [0,1] permits=2
		A write   [2,3]
		A release [4,5]
		B acquire [6,7]
		C acquire [8,9]` + probeText, Pass, 0, "", ""},
		{"a third permit beside the two of one client", MutualExclusion, both, `
		A acquire [0,1] permits=2
		B acquire [4,5]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"both permits beside one that is promised", MutualExclusion, both, `
		A acquire [0,1]
		B acquire [4,5] permits=2` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"one with both permits, and one with one, in either order", MutualExclusion, noClaims(both), `
		A acquire [0,10] permits=2
		B acquire [0,11]
		A write   [12,13]
		B write   [14,15]
		A write   [16,17]` + probeText, Violated, 1, KindUnexplained, ""},
		{"a stall explains how both permits overran", MutualExclusion, both, `
		A acquire [0,1] permits=2
		stall A   [10,700]
		C acquire [550,551]
		A write   [701,702]
		C write   [703,704]
		A release [710,711] notheld
		C release [712,713]` + probeText, Inconclusive, 0, "", "A stall of this machine"},
		{"two grants of one translated client", MutualExclusion, translated, `
		A acquire [0,1]
		A2=A acquire [12,13]
		B acquire [10,29]` + probeText, Pass, 0, "", ""},
		{"three grants of one translated client, and one that counts with two of them", MutualExclusion, confirms(permits(translated, 3)), `
		A1=A acquire [0,1]
		A2=A acquire [2,3]
		A3=A acquire [12,13]
		C acquire [11,12]
		B acquire [10,29]
		C release [50,50.5]
		A release [52,52.5] g=A3
		A release [54,54.5] g=A2
		A release [56,56.5] g=A1
		B release [60,61]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"tokens order nothing", MutualExclusion, confirms(library(two)), `
		A acquire [0,1] valid=490 tok=1
		C acquire [10,20] valid=490 tok=2
		B acquire [15,30] valid=1 tok=3` + probeText, Pass, 0, "", ""},
		{"what a stall explains is no overlap", MutualExclusion, two, `
		A acquire [0,1]
		stall A   [10,700]
		C acquire [550,551]
		B acquire [600,601]
		A write   [701,702]
		C write   [703,704]
		B write   [705,706]
		A release [710,711] notheld
		C release [712,713]
		B release [714,715]` + probeText, Inconclusive, 0, "", "A stall of this machine"},
		{"one crowd after another, and one that settles between them", MutualExclusion, two, `
		D acquire [-5,60] busy
		A acquire [0,1]
		B acquire [2,3]
		C acquire [4,5]
		A release [10,11]
		B release [12,13]
		C release [14,15]
		A acquire [40,41]
		B acquire [42,43]
		C acquire [44,45]
		C release [50,51]
		D acquire [61,62] busy
		A release [100,101]
		B release [102,103]` + probeText, Violated, 2, KindGrantedWhileValid, ""},
		{"what explains it is certainly earlier", MutualExclusion, library(two), crowd, Violated, 1, KindLeaseOverrun,
			"client 1 worked for longer than its lease"},
	})
}

// TestHoldersThatExcludeEachOther: D's session says nothing for the time in
// which C was granted the semaphore, but C's does for that in which D was.
func TestHoldersThatExcludeEachOther(t *testing.T) {
	run(t, []propertyCase{{"by the promise of the earlier one alone", MutualExclusion, permits(confirms(session(plainLock())), 2), `
		C acquire [0,1]
		pause D   [0.5,905]
		D acquire [900,1501]
		B acquire [1495,1502]
		B release [1510,1511]
		C release [1510,1511]
		D release [1512,1513]` + probeText, Violated, 1, KindGrantedWhileValid, ""}})
}

// TestEdgesOfCrowds: which grants of a semaphore count together.
func TestEdgesOfCrowds(t *testing.T) {
	lease, held := permits(plainLock(), 2), permits(confirms(session(plainLock())), 2)
	run(t, []propertyCase{
		{"one before, and one of unknown order", MutualExclusion, lease, `
		C acquire [0,1]
		A acquire [100,110]
		B acquire [105,112]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"the one before may have lost it between", MutualExclusion, held, `
		pause C   [998,1000]
		C acquire [0,1]
		A acquire [1490,1499]
		B acquire [1495,1502]
		A release [1510,1511]
		B release [1510,1511]
		C release [1510,1511]` + probeText, Pass, 0, "", ""},
		{"of two of unknown order, the other one counts with the one before", MutualExclusion, held, `
		pause C   [998,1000]
		pause D   [998,1000]
		C acquire [0,1]
		D acquire [900,1501]
		A acquire [1490,1499]
		B acquire [1495,1502]
		A release [1512,1513]
		B release [1510,1511]
		C release [1510,1511]
		D release [1510,1511]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"a stall explains the one too many", MutualExclusion, lease,
			"stall A [4,705]\nD acquire [300,301]\nD write [650,651]\nD release [760,761]\n" + wentOn + probeText,
			Inconclusive, 0, "", "stall"},
		{"tokens tell nothing of a semaphore", MutualExclusion, permits(noClaims(fencedLock()), 2), `
		C acquire [0,5] tok=1
		A acquire [0,10] tok=2
		pause A   [12,20]
		B acquire [0,11] tok=3
		B write   [50,51]
		A write   [90,91]
		C write   [100,101]` + probeText, Violated, 1, KindLeaseOverrun, "if it was granted the key first"},
	})
}
