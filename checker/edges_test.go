package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// Histories at the edges of the rules: each differs from one that is judged
// otherwise by a stamp, an answer or a claim. Most of them were written since
// no other test noticed a mutant of the checker (see docs/checker.md).

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
		if v.Outcome != Inconclusive || !strings.Contains(strings.Join(v.Reasons, "\n"),
			"1 event that make no sense") && !strings.Contains(strings.Join(v.Reasons, "\n"), "make no sense") {
			t.Errorf("%s: %v %q", name, v.Outcome, v.Reasons)
		}
	}
}

func TestEdgesOfDeadlocks(t *testing.T) {
	crossed := func(a, b, rest string) string {
		return "A acquire [0,1] key=k0\nB acquire [0,1] key=k1\nA acquire " + a + " busy key=k1\nB acquire " + b +
			" busy key=k0\n" + rest + probeText
	}
	for2 := claim(noClaims(plainLock()), func(c *history.Claims) { c.NoExpiry = true })
	never := claim(plainLock(), func(c *history.Claims) { c.NoExpiry = true })
	run(t, []propertyCase{
		{"for just as long as the bound", Deadlock, plainLock(), crossed("[2,253]", "[3,404]", ""), Violated, 1, "", ""},
		{"for a little less", Deadlock, plainLock(), crossed("[2,252.9]", "[3,404]", ""), Pass, 0, "", ""},
		{"both for just as long as the bound", Deadlock, plainLock(), crossed("[3,253]", "[3,253]", ""), Violated, 1, "", ""},
		{"one wait was too short", Deadlock, plainLock(), crossed("[3,252]", "[3,253]", ""), Pass, 0, "", ""},
		{"the waits met for too short a time", Deadlock, plainLock(), crossed("[2,300]", "[100,404]", ""), Pass, 0, "", ""},
		{"one was granted late: the cycle began then", Deadlock, plainLock(), `
		A acquire [0,1] key=k0
		B acquire [0,1] key=k1
		A acquire [2,300] busy key=k1
		B acquire [60,404] busy key=k0` + probeText, Pass, 0, "", ""},
		{"the service was disturbed", Deadlock, plainLock(), crossed("[2,403]", "[3,404]", "service x [50,60]"), Pass, 0, "", ""},
		{"before they had anything, one was stopped", Deadlock, plainLock(),
			crossed("[2,403]", "[3,404]", "pause A [-600,-10]"), Violated, 1, "", ""},
		{"a fault that ended as the grant began", Deadlock, plainLock(),
			crossed("[2,403]", "[3,404]", "pause A [-100,0]"), Pass, 0, "", ""},
		{"stopped twice", Deadlock, plainLock(), crossed("[2,403]", "[3,404]", "pause A [300,310]\npause A [200,210]"), Pass, 0, "", ""},
		{"a lock without expiry", Deadlock, for2, crossed("[2,903]", "[600,904]", ""), Violated, 1, "", ""},
		{"a lock without expiry, released meanwhile", Deadlock, for2,
			crossed("[2,403]", "[3,404]", "A release [100,] key=k0"), Pass, 0, "", ""},
		{"a lock without expiry, released later", Deadlock, for2,
			crossed("[2,403]", "[3,404]", "A release [300,] key=k0"), Violated, 1, "", "to 1.300 s"},
		{"a lock without expiry, lost meanwhile", Deadlock, for2,
			crossed("[2,403]", "[3,404]", "A release [400,] key=k0\nA lost [100] key=k0"), Pass, 0, "", ""},
		{"what declares both, by its lease", Deadlock, never, crossed("[2,903]", "[600,904]", ""), Pass, 0, "", ""},
		{"cut off in the midst of it", Deadlock, cut(plainLock()),
			"A acquire [0,1] key=k0\nB acquire [0,1] key=k1\nA acquire [2,403] busy key=k1\nB acquire [3,404] busy key=k0", Violated, 1, "", ""},
		{"each waits for its own key", Deadlock, noClaims(for2), `
		A acquire [0,1] key=k0
		A2=A acquire [2,403] busy key=k0` + probeText, NotJudged, 0, "", ""},
		{"two of four wait in a circle", Deadlock, plainLock(), `
		A acquire [0,1] key=k0
		B acquire [0,1] key=k1
		C acquire [0,1] key=k2
		A acquire [2,403] busy key=k1
		C acquire [2,403] busy key=k1
		B acquire [3,404] busy key=k0` + probeText, Violated, 1, "", "client 2 had k1"},
		{"one holds two keys, and two wait for it", Deadlock, plainLock(), `
		A acquire [0,1] key=k0
		A acquire [1,2] key=k2
		B acquire [0,1] key=k1
		A acquire [3,403] busy key=k1
		B acquire [3,404] busy key=k0` + probeText, Violated, 1, "", ""},
		{"two holders of one key, who ask for it again", Deadlock, reentrant(plainLock()), `
		A acquire [0,1] key=k0
		B acquire [0,1] key=k0
		A acquire [2,403] busy key=k0
		B acquire [3,404] busy key=k0` + probeText, NotJudged, 0, "", "while it had another"},
		{"a fault more than a TTL before, in a long session", Deadlock, session(plainLock()), `
		pause A   [100,110]
		A acquire [0,1] key=k0
		B acquire [0,1] key=k1
		A acquire [1000,1403] busy key=k1
		B acquire [1000,1404] busy key=k0` + probeText, Violated, 1, "", ""},
		{"it waits for what it had a moment ago", Deadlock, plainLock(), `
		A acquire [0,1] key=k0
		B acquire [0,1] key=k1
		A release [2,3] key=k0
		A acquire [4,404] busy key=k1
		B acquire [4,404] busy key=k0` + probeText, Pass, 0, "", ""},
	})
	// The end of a history that is cut: what withdrew a promise may lie behind the cut.
	h := untilCut(plainLock()).history("A acquire [0,1] key=k0\nB acquire [0,1] key=k1\nA acquire [2,403] busy key=k1\nB acquire [3,404] busy key=k0")
	h.Events = h.Events[:len(h.Events)-1]
	if r := Judge(h, Options{}); r.Property(Deadlock).Count != 0 {
		t.Errorf("just before the cut: %+v", r.Property(Deadlock))
	}
	h.Truncated = false
	if r := Judge(h, Options{}); r.Property(Deadlock).Count != 1 {
		t.Errorf("just before the end: %+v", r.Property(Deadlock))
	}
	for _, waits := range [2]string{"A acquire [2,903] busy key=k1\nB acquire [3,904] busy key=k0",
		"A acquire [2,700] busy key=k1\nB acquire [3,748] busy key=k0"} {
		h := untilCut(plainLock()).history("A acquire [0,1] key=k0\nB acquire [0,1] key=k1\n" + waits)
		h.Events = h.Events[:len(h.Events)-1]
		if r := Judge(h, Options{}); r.Property(Deadlock).Count != 1 {
			t.Errorf("long enough before the cut (%s): %+v", waits, r.Property(Deadlock))
		}
	}
}

func TestEdgesOfDeadGrants(t *testing.T) {
	lib := library(plainLock())
	run(t, []propertyCase{
		{"exactly a stall beyond the lease", DeadGrant, plainLock(), "A acquire [0,550] attempt=0" + probeText, Pass, 0, "", ""},
		{"and a little more", DeadGrant, plainLock(), "A acquire [0,550.1] attempt=0" + probeText, Violated, 1, "", ""},
		{"a stall less than nothing left, after a while", DeadGrant, lib,
			"A acquire [0,480] attempt=0 valid=-50" + probeText, Violated, 1, "", ""},
		{"nothing left, after half a TTL", DeadGrant, lib, "A acquire [0,250] attempt=0 valid=0" + probeText, Violated, 1, "", ""},
		{"nothing left, after a little more", DeadGrant, lib, "A acquire [0,251] attempt=0 valid=0" + probeText, Pass, 0, "", ""},
		{"what another kind of lock says is not asked", DeadGrant, plainLock(),
			"A acquire [0,1] attempt=0 valid=0" + probeText, Pass, 0, "", ""},
		{"told by the library alone", DeadGrant, lib, "A acquire [0,901] valid=100" + probeText, Pass, 0, "", ""},
		{"told by the time alone, at its very end", DeadGrant, plainLock(), "A acquire [0,500]" + probeText, Pass, 0, "", ""},
		{"told by nobody", DeadGrant, lib, "A acquire [0,901]", Inconclusive, 0, "", "No grant told"},
		{"a stall that takes it to the bound", DeadGrant, plainLock(),
			"stall A [100,150]\nA acquire [0,700] attempt=0" + probeText, Inconclusive, 0, "", ""},
		{"a stall that takes it almost there", DeadGrant, plainLock(),
			"stall A [100,149]\nA acquire [0,700] attempt=0" + probeText, Violated, 1, "", ""},
		{"far less than nothing, and a stall", DeadGrant, lib,
			"stall A [100,150]\nA acquire [0,480] attempt=0 valid=-260" + probeText, Violated, 1, "", ""},
		{"less than nothing, and a stall that explains it", DeadGrant, lib,
			"stall A [100,150]\nA acquire [0,480] attempt=0 valid=-200" + probeText, Inconclusive, 0, "", ""},
		{"without an attempt, the library's word counts", DeadGrant, lib,
			"stall A [100,150]\nA acquire [0,480] valid=-260" + probeText, Violated, 1, "", ""},
		{"a waiter's attempt in time, and no other grant", DeadGrant, plainLock(), "A acquire [0,901] attempt=900", Pass, 0, "", ""},
		{"the library's word, and no other grant", DeadGrant, lib, "A acquire [0,901] valid=400", Pass, 0, "", ""},
		{"just a TTL, and no other grant", DeadGrant, plainLock(), "A acquire [0,500]", Pass, 0, "", ""},
		{"nothing left after half a TTL, stall or not", DeadGrant, lib,
			"stall A [0,60]\nA acquire [0,250] attempt=0 valid=0" + probeText, Violated, 1, "", ""},
		{"without an attempt, a stall may explain the library's word", DeadGrant, lib,
			"stall A [100,150]\nA acquire [0,480] valid=-100" + probeText, Inconclusive, 0, "", ""},
		{"what another kind of lock says does not outweigh a stall", DeadGrant, plainLock(),
			"stall A [2,599]\nA acquire [0,601] attempt=0 valid=-2000" + probeText, Inconclusive, 0, "", ""},
		{"over for longer than the library says", DeadGrant, lib,
			"stall A [100,150]\nA acquire [0,900] attempt=0 valid=-60" + probeText, Violated, 1, "", ""},
		{"others were granted it before it was decided", DeadGrant, plainLock(), `
		A acquire [0,601] attempt=0
		A release [602,603]
		B acquire [610,611]
		B release [612,613]
		C acquire [620,621]
		C release [622,623]
		D acquire [630,631]
		D release [632,633]` + probeText, Violated, 1, "", ""},
		{"a stall of somebody else", DeadGrant, plainLock(), "stall B [2,599]\nA acquire [0,601] attempt=0" + probeText,
			Violated, 1, "", ""},
	})
}

func TestEdgesOfDeaths(t *testing.T) {
	run(t, []propertyCase{
		{"granted, and dead before it was known: owed nothing since", MutualExclusion, plainLock(), `
		A acquire [0,20] run=0,5 proc=1
		kill A    [8,9]
		A exit    [10] proc=1
		B acquire [30,31]
		B release [40,41]` + probeText, Pass, 0, "", ""},
		{"granted while the dead one was owed it", MutualExclusion, plainLock(), `
		A acquire [0,20] run=0,5 proc=1
		kill A    [12,13]
		A exit    [14] proc=1
		B acquire [3,4]
		B release [40,41]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"it gave a later sign of life", MutualExclusion, plainLock(), `
		A acquire [0,20] run=0,5 proc=1
		A acquire [1,9] run=1,8 key=k1 proc=1
		A exit    [14] proc=1
		B acquire [6,7]
		B release [40,41]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"a dead owner's heir has a hold of its own", MutualExclusion, reentrant(noClaims(plainLock())), `
		A acquire [0,1] proc=1
		A write   [2,] proc=1
		A exit    [10] proc=1
		B acquire [100,101]
		B write   [102,103]
		B release [110,111]
		A acquire [600,601] proc=33
		A write   [602,603] proc=33
		A release [604,605] proc=33` + probeText, Pass, 0, "", ""},
		{"a pause is no kill", MutualExclusion, plainLock(), `
		A acquire [0,1]
		pause A   [300,400]
		A exit    [401]
		B acquire [200,201]
		B release [500,501]` + probeText, Pass, 0, "", ""},
		{"killed at the very instant", MutualExclusion, plainLock(), `
		A acquire [0,1]
		kill A    [401,402]
		A exit    [401]
		B acquire [300,301]
		B release [500,501]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"killed twice", MutualExclusion, plainLock(), `
		A acquire [0,1]
		kill A    [200,395]
		kill A    [390,401]
		A exit    [398]
		B acquire [300,301]
		B release [500,501]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"the dead one may hold until its lease is over", StuckLock, plainLock(), `
		A acquire [990,1010] run=991,1005 proc=1
		A exit    [1000] proc=1
		mark final [1100]
		Q acquire  [1101,2002] busy`, Inconclusive, 0, "", ""},
		{"what was handed over as it was given back", MutualExclusion, plainLock(), `
		A acquire [0,1]
		A release [10,11]
		B acquire [10,12]
		B release [20,21]` + probeText, Pass, 0, "", ""},
		{"a renewal that began with the one before", Continuity, plainLock(),
			handedOver + "A renew [700,701]\nA renew [700,702]\nA release [703,704] notheld" + probeText, Violated, 1, "", ""},
		{"a renewal, then a release that began before it", Continuity, plainLock(),
			handedOver + "A renew [700,703]\nA release [699,702]" + probeText, Violated, 1, "", ""},
		{"one client's two grants", Continuity, plainLock(), `
		A1=A acquire [0,1]
		A2=A acquire [10,11]
		A release [20,21] g=A1
		A release [30,31] g=A2` + probeText, Pass, 0, "", ""},
		{"a lock that confirms renewals alone", Continuity, confirms(plainLock(), "renew"),
			handedOver + "A renew [700,701]" + probeText, Violated, 1, "", ""},
		{"a semaphore in a workload of payments", DuplicateEffect, permits(workload(plainLock(), "payment"), 2),
			"A acquire [0,1]\nA write [2,3]" + probeText, NotJudged, 0, "", "more than one permit"},
		{"no claim about exclusion", UnfencedWrite, permits(plainLock(), 0),
			"A acquire [0,1]\nA write [2,3]" + probeText, NotJudged, 0, "", "no lock"},
		{"a lock that is never over", Deadlock, claim(noClaims(plainLock()),
			func(c *history.Claims) { c.NoExpiry = true }), healthy, NotJudged, 0, "", "while it had another"},
	})
}

// TestEdgesOfStalls: for how long the machine stalled a client, and whether
// that explains that it was late.
func TestEdgesOfStalls(t *testing.T) {
	late := func(act int, stall string) string {
		return fmt.Sprintf("A acquire [0,1]\nB acquire [%d,%d]\nA write [%d,%d] refused\nB write [930,931]\nB release [940,941]\n%s", act-60, act-59, act, act+1, stall) + probeText
	}
	const grace1 = "A acquire [0,1]\nB acquire [600,601]\nB release [960,961]\nA exit [1000]\n"
	run(t, []propertyCase{
		{"what stalls it later explains nothing", MutualExclusion, plainLock(),
			late(660, "stall A [10,80]\nstall A [850,860]"), Inconclusive, 0, "", "stall"},
		{"a stall that begins with the act", MutualExclusion, plainLock(), late(590, "stall A [590,600]"), Inconclusive, 0, "", "stall"},
		{"a stall that ends with the attempt", MutualExclusion, plainLock(), late(590, "stall A [-10,0]"), Inconclusive, 0, "", "stall"},
		{"a stall counts up to the act", MutualExclusion, plainLock(), late(700, "stall A [690,900]"), Violated, 1, KindLeaseOverrun, ""},
		{"a stall counts from the attempt", MutualExclusion, plainLock(), late(700, "stall A [-400,5]"), Violated, 1, KindLeaseOverrun, ""},
		{"stopped at the very act", MutualExclusion, grace(session(plainLock())),
			grace1 + "pause A [2,600]\npause A [950,960]\nA write [950,951] refused" + probeText,
			Violated, 1, KindLeaseOverrun, ""},
		{"a fault of the service, long before", MutualExclusion, grace(session(plainLock())),
			grace1 + "service x [3,4]\npause A [2,700]\nA write [850,851] refused" + probeText,
			Violated, 1, KindLeaseOverrun, ""},
		{"told twice, the second time of an earlier loss", MutualExclusion, session(plainLock()),
			grace1 + "pause A [2,700]\nA lost [720]\nA lost [800]\nA write [850,851] refused" + probeText,
			Violated, 1, KindLeaseOverrun, "told of the loss at 1.720 s"},
		{"only the tokens know that the one who asked later was first", FIFO, fair(fencedLock()), `
		A acquire [0,1] enq=0.5
		B acquire [2,20] enq=3 tok=2
		C acquire [4,40] enq=5 tok=1
		pause C   [5,39]
		B release [50,51]` + probeText, Violated, 1, "", ""},
		{"only the tokens know that the waiter, whose hold is long over, was passed", FIFO, fair(fencedLock()), `
		A acquire [2,40] enq=3 tok=2
		B acquire [4,60] tok=1
		pause B   [5,59]
		A release [41,42]
		B release [70,71]` + probeText, Violated, 1, "", ""},
		{"a token below zero is not smaller than none", FIFO, fair(fencedLock()), `
		A acquire [0,10] enq=1
		B acquire [5,20] first=5 tok=-5
		A release [11,12]
		B release [21,22]` + probeText, Pass, 0, "", ""},
		{"nor is what has none a later writer", UnfencedWrite, noClaims(fencedLock()), `
		A acquire [0,10]
		B acquire [0,10] tok=-5
		A write   [11,12]
		B write   [13,14]
		A release [20,21]
		B release [22,23]` + probeText2, Pass, 0, "", ""},
		{"its next request takes back what it gave up, whatever the stamps say", MutualExclusion, confirms(plainLock()), `
		A acquire [0,1]
		A write   [2,3] @90
		A release [4,5] run=400,5
		A acquire [10,11] busy
		B acquire [20,21]
		B release [30,31]` + probeText, Pass, 0, "", ""},
		{"a stamp of a start behind its end", TokenOrder, fencedLock(), `
		A acquire [27,28] run=46,28 tok=1
		B acquire [36,37] tok=2` + probeText2, Violated, 1, "", ""},
		{"granted first, recorded last", FIFO, fair(plainLock()), `
		B acquire [2,20] run=2,20 first=18 enq=3
		C acquire [4,21] run=4,10 enq=5
		B release [50,51]` + probeText, Violated, 1, "", ""},
		{"a client does not overtake itself", FIFO, fair(reentrant(plainLock())), `
		A1=A acquire [2,40] enq=3 first=38
		A release [41,42] g=A1
		A2=A acquire [4,20] enq=5 first=18
		A release [21,22] g=A2` + probeText, Pass, 0, "", ""},
	})
	many := plainLock()
	text := healthy
	for i := range 12 {
		text += fmt.Sprintf("\npause C [%d,%d] +miss", 30+i, 31+i)
	}
	for range 3 {
		text = "stall D [5,6] +miss\n" + text
	}
	if v := many.judge(t, text); len(v.Reasons) != 8 {
		t.Errorf("twelve faults without proof, and %d reasons: %q", len(v.Reasons), v.Reasons)
	}
}

// TestEdgesOfFaults: what is told of a fault at its beginning, at its end, and never.
func TestEdgesOfFaults(t *testing.T) {
	fault := func(phase string, id int, f history.FaultInfo) history.Event {
		f.ID, f.Phase = id, phase
		return history.Event{Type: history.Fault, Time: at(1000), Fault: &f}
	}
	base := history.FaultInfo{Kind: "pause", Injected: true, Clients: []int32{1}, When: "random"}
	with := func(change func(*history.FaultInfo)) history.FaultInfo { f := base; change(&f); return f }
	lock := plainLock()
	stale := func(faults ...history.Event) Verdict {
		h := lock.history(strings.Replace(stalled("pause"), "pause A   [10,700]", "", 1))
		first := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Time > at(9) })
		for _, e := range faults {
			e.Time = at(10)
			if e.Fault.Phase == "end" {
				e.Time = at(700)
			}
			place := slices.IndexFunc(h.Events[first:], func(x history.Event) bool { return x.Time > e.Time })
			h.Events = slices.Insert(h.Events, first+place, e)
		}
		return Judge(h, Options{})
	}
	for name, x := range map[string]struct {
		faults   []history.Event
		disturbs bool
		outcome  Outcome
		stats    FaultStats
		says     string
		bites    int
	}{
		"begun and ended": {[]history.Event{fault("begin", 7, base),
			fault("end", 7, with(func(f *history.FaultInfo) {
				f.Bit, f.From, f.To, f.Holding = true, at(12), at(690),
					1
			}))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 1, Bit: 1, MetHolder: 1,
				Shortest: 678 * ms, Longest: 678 * ms}, "frozen for 0.678 s", 1},
		"whose end alone is there": {[]history.Event{fault("end", 7,
			with(func(f *history.FaultInfo) { f.Bit, f.From, f.To, f.Waiting = true, at(12), at(690), true }))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 1, Bit: 1, Shortest: 678 * ms,
				Longest: 678 * ms}, "frozen for 0.678 s", 1},
		"whose end does not say whom it touched": {[]history.Event{fault("begin", 7, base),
			fault("end", 7, with(func(f *history.FaultInfo) { f.Bit, f.Clients, f.To = true, nil, at(650) }))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 1, Bit: 1}, "frozen for 0.640 s", 0},
		"whose end says otherwise": {[]history.Event{fault("begin", 7, base),
			fault("end", 7, with(func(f *history.FaultInfo) { f.Bit, f.Clients, f.Service = true, nil, true }))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 1, Bit: 1}, "worked for longer than its lease", 1},
		"whose end adds the service": {[]history.Event{fault("begin", 7,
			with(func(f *history.FaultInfo) { f.Clients = []int32{2} })),
			fault("end", 7, with(func(f *history.FaultInfo) { f.Bit, f.Service = true, true }))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 1, Bit: 1}, "frozen for 0.690 s", 1},
		"that ends before it began": {[]history.Event{fault("begin", 7, base),
			fault("end", 7, with(func(f *history.FaultInfo) { f.Bit, f.From, f.To = true, at(690), at(12) }))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 1, Bit: 1}, "frozen for 0.690 s", 0},
		"that began before it was told": {[]history.Event{fault("begin", 7,
			with(func(f *history.FaultInfo) { f.From = at(4) })),
			fault("end", 7, with(func(f *history.FaultInfo) { f.Bit = true }))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 1, Bit: 1}, "frozen for 0.696 s", 0},
		"of which nothing is proven": {[]history.Event{fault("begin", 7, base),
			fault("end", 7, with(func(f *history.FaultInfo) { f.From, f.To, f.Target = at(12), at(690), "holder" }))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 1}, "took effect: pause of holder", 0},
		"that struck an acquire": {[]history.Event{fault("begin", 7,
			with(func(f *history.FaultInfo) { f.When = history.MomentAcquiring })),
			fault("end", 7, with(func(f *history.FaultInfo) { f.Bit, f.When = true, history.MomentAcquiring }))}, true, Violated,
			FaultStats{Kind: "pause", When: history.MomentAcquiring, Injected: true, Begun: 1, Bit: 1}, "frozen for 0.690 s", 1},
		"that nobody injected": {[]history.Event{fault("begin", 7,
			with(func(f *history.FaultInfo) { f.Injected = false })),
			fault("end", 7, with(func(f *history.FaultInfo) { f.Bit, f.Injected, f.Holding = true, false, 1 }))}, false, Inconclusive,
			FaultStats{Kind: "pause", When: "random", Begun: 1, Bit: 1, MetHolder: 1}, "A stall of this machine", 0},
		"two, one within the other": {[]history.Event{fault("begin", 7, base), fault("begin", 8, base),
			fault("end", 8, with(func(f *history.FaultInfo) { f.Bit, f.From, f.To, f.Evidence = true, at(20), at(40), "first" })),
			fault("end", 7, with(func(f *history.FaultInfo) {
				f.Bit, f.From, f.To, f.Evidence = true, at(12), at(690),
					"second"
			}))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 2, Bit: 2, Shortest: 20 * ms,
				Longest: 678 * ms, Evidence: "first"}, "frozen for 0.678 s", 0},
	} {
		v := stale(x.faults...)
		said := strings.Join(v.Reasons, "\n")
		touched := false
		for _, double := range v.Property(MutualExclusion).Violations {
			said += double.Text
			touched = touched || len(double.Faults) > 0
		}
		if touched != x.disturbs || v.Outcome != x.outcome || !strings.Contains(said, x.says) || v.Stats.Bites != x.bites {
			t.Errorf("%s: it touched the holder: %v, %v, %d bites; want %v, %v, %d; %q does not say %q", name, touched,
				v.Outcome, v.Stats.Bites, x.disturbs, x.outcome, x.bites, said, x.says)
		}
		if len(v.Stats.Faults) != 1 || v.Stats.Faults[0] != x.stats {
			t.Errorf("%s: %+v, want %+v", name, v.Stats.Faults, x.stats)
		}
	}
}

// TestFaultsAreToldApart by all that the plan says of them.
func TestFaultsAreToldApart(t *testing.T) {
	s := New(plainLock().header, nil, Options{})
	for i, f := range []history.FaultInfo{{Kind: "pause", When: "random", Injected: true},
		{Kind: "pause", When: "before-write", Injected: true}, {Kind: "pause", When: "random"},
		{Kind: "kill", When: "random", Injected: true}, {Kind: "pause", When: "random", Injected: true, Plan: 2},
		{Kind: "pause", When: "random", Injected: true, Clients: []int32{-1, 1 << 30}}} {
		f.ID, f.Phase = i, "begin"
		end := f
		end.Phase, end.Bit, end.To = "end", true, at(4)
		s.Add(&history.Event{Type: history.Fault, Time: at(3), Fault: &f})
		s.Add(&history.Event{Type: history.Fault, Time: at(5), Fault: &end})
	}
	faults := s.Finish(false).Stats.Faults
	if len(faults) != 5 || faults[0].Begun != 2 || faults[0].Longest != 0 {
		t.Errorf("%d kinds of faults: %+v", len(faults), faults)
	}
}
