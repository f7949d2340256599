package checker

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// Histories at the edges of the rules: each differs from one that is judged otherwise by a stamp, an answer or a claim. Most of them were written since no
// other test noticed a mutant of the checker (see docs/checker.md).

func reentrant(s script) script { return claim(s, func(c *history.Claims) { c.Reentrant = true }) }

func TestEdgesOfAcquires(t *testing.T) {
	twice := reentrant(plainLock())
	run(t, []propertyCase{
		{"an acquire that fails is no busy one, and denies nobody", StuckLock, plainLock(), `
		A acquire [0,1]
		B acquire [0,100] fail
		A release [2,3]
		mark probe [900]
		P acquire  [901,2000] busy
		mark final [3000]
		Q acquire  [3001,3002]`, Violated, 1, "", ""},
		{"a client of the run is no fresh one", StuckLock, plainLock(), `
		A acquire [0,1]
		A release [2,3]
		mark final [900]
		B acquire [901,902]`, Inconclusive, 0, "", "not probed"},
		{"a reentrant owner gave back all", StuckLock, twice, `
		A1=A acquire [0,1]
		A2=A acquire [2,3]
		A release [4,5] g=A2
		A release [6,7] g=A1
		mark final [900]
		Q acquire [901,2900] busy`, Violated, 1, "", ""},
		{"a reentrant owner gave back one", StuckLock, twice, `
		A1=A acquire [0,1]
		A2=A acquire [2,3]
		A release [4,5] g=A2
		mark final [900]
		Q acquire [901,2900] busy`, Inconclusive, 0, "", ""},
		{"a nested acquire renews the promise", MutualExclusion, twice, `
		A1=A acquire [0,1]
		A2=A acquire [400,401]
		B acquire [600,601]
		kill A [700,701]
		A exit [701]` + probeText, Violated, 1, KindGrantedWhileValid, "until 1.898 s"},
		{"a nested acquire does not shorten it", MutualExclusion, library(twice), `
		A1=A acquire [0,1] valid=490
		A2=A acquire [2,3] valid=10
		B acquire [300,301] valid=490
		kill A [400,401]
		A exit [401]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"what is nested belongs to the hold", MutualExclusion, noClaims(twice), `
		A1=A acquire [0,1]
		A2=A acquire [2,3]
		A write [4,5] g=A2
		A release [6,7] g=A2 info
		B acquire [8,9]
		B write [10,11]
		A write [20,21] g=A2
		B write [22,23]` + probeText, Violated, 1, KindUnexplained, ""},
		{"an attempt before the invocation is none", MutualExclusion, plainLock(), `
		A acquire [0,20]
		A release [20.5,30]
		B acquire [25,26] first=5
		B release [40,41]` + probeText, Pass, 0, "", ""},
		{"nor is one after the end", TokenOrder, fencedLock(), `
		A acquire [0,10] tok=2
		B acquire [2,8] tok=1 first=20
		A release [30,31]
		B release [30,31]` + probeText, Pass, 0, "", ""},
		{"a call that began late is a late grant", TokenOrder, fencedLock(), `
		pause B   [5,100]
		A acquire [0,10] tok=2
		B acquire [5,100] run=50,60 tok=1
		A release [30,31]
		B release [110,111]` + probeText, Violated, 1, "", "smaller than token 2"},
		{"in the queue before it asked", FIFO, fair(plainLock()), `
		A acquire [0,1] enq=0.5
		B acquire [2,40] run=10,40 enq=3 first=38
		C acquire [4,20] enq=5 first=18
		A release [15,16]
		C release [30,31]
		B release [50,51]` + probeText, Pass, 0, "", ""},
		{"the number of an acquire that is over", MutualExclusion, plainLock(), `
		A acquire [0,1]
		A release [2,3]
		B acquire [4,5]
		B release [6,7]` + probeText, Pass, 0, "", ""},
	})
}

// TestAnOpWhoseNumberIsUsedAgain is counted, and not judged.
func TestAnOpWhoseNumberIsUsedAgain(t *testing.T) {
	for name, lock := range map[string]script{"plain": plainLock(), "reentrant": reentrant(plainLock())} {
		h := lock.history("A acquire [0,1]\nB acquire [10,]" + probeText)
		again := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Type == history.OK }) + 1
		twice := slices.Clone(h.Events[again-2 : again])
		for i := range twice {
			twice[i].Time, twice[i].Start, twice[i].End = twice[i].Time+2*ms, 0, 0
		}
		h.Events = slices.Insert(h.Events, again, twice...)
		v := Judge(h, Options{})
		if v.Outcome != Inconclusive || !strings.Contains(strings.Join(v.Reasons, "\n"), "1 event that make no sense") && !strings.Contains(strings.Join(v.Reasons, "\n"), "make no sense") {
			t.Errorf("%s: %v %q", name, v.Outcome, v.Reasons)
		}
	}
}
