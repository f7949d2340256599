package checker

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestEdgesOfStaleWrites: what is known of a write that came too late, and of the acts beside it.
func TestEdgesOfStaleWrites(t *testing.T) {
	lock := plainLock()
	const later = "B acquire [600,601]\nB write [602,603]\n"
	const slow = "A acquire [0,1]\nstall A [2,302]\n" + later + "A write [700,701]\n"
	overran := func(fault, acts string) string {
		return fault + "\nA acquire [0,1]\nA read [410,411]\nB acquire [610,611]\n" + acts +
			"B write [1350,1351]\nB release [1360,1361]" + probeText
	}
	// too many to know whether it acted in between
	many := strings.Repeat("A write [700,701] refused\n", keptActs+2) + "A write [1500,1501] refused\n"
	run(t, []propertyCase{
		{"invoked as the other one was granted it, and never answered", UnfencedWrite, lock,
			"A acquire [0,1]\n" + later + "A write [601,] @604", Violated, 1, "", ""},
		{"a stall explains the write", UnfencedWrite, lock, slow, Inconclusive, 0, "", "A stall of this machine"},
		{"a stall explains the write, and not what it did next", UnfencedWrite, lock, slow + "A read [920,921]",
			Violated, 1, KindStale, ""},
		{"a library that did not say how long its lease is good", MutualExclusion, library(lock), wentOn + probeText,
			Violated, 1, KindLeaseOverrun, "outlived its lease of 0.500 s"},
		{"two stalls, and the longer one came first", MutualExclusion, lock,
			overran("stall A [2,402]\nstall A [503,603]", "A write [700,701] refused\nA write [1300,1301] refused\n"),
			Violated, 1, KindLeaseOverrun,
			"was starved by this machine for 0.400 s"},
		{"a connection was lost, and nobody injected it", MutualExclusion, lock,
			overran("fault reset [650,650] on=A links +own", many), Violated, 1, KindLeaseOverrun,
			"lost its connection, outlived"},
	})
	// B's token, and no clock, tells that it held the key before its late
	// reply: A acted in between, and not after.
	hasPattern(t, "it did not act once the other one had its answer", library(untold(fencedLock(), TokenOrder)), MutualExclusion, `
		A acquire [0,1] tok=1 valid=500
		A read    [2,3]
		B acquire [600,900] tok=2 valid=1
		C acquire [650,701] tok=3 valid=1
		A read    [800,801]
		B read    [910,911]
		B release [920,921]`, PatternWorkedPast)
}

// TestHoldsThatWriteToSeveralKeys: what a hold read and wrote is kept apart by key.
func TestHoldsThatWriteToSeveralKeys(t *testing.T) {
	run(t, []propertyCase{
		{"each key has a version of its own", LostUpdate, plainLock(), `
		C=C acquire [-100,-99]
		C write   [-98,-97] g=C
		C write   [-96,-95] g=C
		C release [-94,-93] g=C
		G=A acquire [0,1]
		A read    [2,3] key=k2 g=G
		A read    [4,5] key=k1 g=G
		A read    [6,7] key=k0 g=G
		pause A   [10,700]
		H=B acquire [600,601]
		B write   [602,603] key=k1 g=H
		B write   [604,605] key=k2 g=H
		A write   [701,702] key=k1 g=G
		A write   [703,704] key=k2 g=G
		A write   [705,706] key=k0 g=G
		B release [710,711] g=H` + probeText, Violated, 2, "", "read version 0 of k1"},
		{"a hold may go on where another one wrote elsewhere", UnfencedWrite, noClaims(plainLock()), `
		G=A acquire [0,10]
		H=B acquire [0,10]
		A write   [11,12] key=k1 g=G
		B write   [13,14] key=k2 g=H
		A write   [15,16] key=k1 g=G
		B write   [17,18] key=k2 g=H
		A release [50,51] g=G
		B release [50,51] g=H` + probeText, Pass, 0, "", ""},
		{"no protected resource, no effects", DuplicateEffect,
			workload(plainLock(), "payment").with(func(h *history.Header) { h.Store = history.Store{} }), "A acquire [0,1]" + probeText,
			NotJudged, 0, "", "no protected resource"},
		{"an act as the loss is told", MutualExclusion, grace(session(plainLock())), `
		A acquire [0,1]
		pause A   [2,620]
		B acquire [600,601]
		B release [960,961]
		A lost    [850]
		A write   [850,851] refused` + probeText, Violated, 1, KindLeaseOverrun, ""},
		{"lost before it was given back", MutualExclusion, plainLock(), `
		A acquire [0,1]
		A lost    [100]
		A release [300,]
		B acquire [200,201]
		B release [400,401]` + probeText, Pass, 0, "", ""},
	})
}

// TestWritesUnderSeveralLocks: what is written under another lock key is in
// nobody's way, and tokens order the writes of owners too.
func TestWritesUnderSeveralLocks(t *testing.T) {
	for _, lock := range []script{noClaims(fencedLock()), reentrant(noClaims(fencedLock()))} {
		run(t, []propertyCase{
			{"by the tokens it is the earlier one", UnfencedWrite, lock, `
			A acquire [0,10] tok=2
			B acquire [0,10] tok=1
			A write   [11,11.5]
			A write   [11.6,12]
			B write   [13,14]`, Violated, 1, KindStale, "(token 1) to k0 (version 3) after one of client 1 (token 2) (version 2)"},
			{"two keys lock one resource", UnfencedWrite, lock, `
			G=B acquire [0,1] key=k2 tok=1
			B write   [2,3] g=G
			H=A acquire [5,6] key=k1 tok=9
			A write   [7,8] g=H
			B write   [9,10] g=G
			A write   [11,12] g=H`, Pass, 0, "", ""},
			{"two keys lock one resource, and nobody knows which was first", UnfencedWrite, lock, `
			G=B acquire [0,5] key=k2 tok=1
			H=A acquire [0,6] key=k1 tok=9
			B write   [7,8] g=G
			A write   [9,10] g=H
			B write   [11,12] g=G`, Pass, 0, "", ""},
			{"a late write, behind one under the other lock", UnfencedWrite, lock, `
			G=A acquire [0,1] key=k1 tok=1
			H=B acquire [600,601] key=k1 tok=2
			B write   [602,603] g=H
			I=C acquire [604,605] key=k2 tok=1
			C write   [606,607] g=I
			A write   [608,609] g=G`, Violated, 1, KindStale, "after one of client 2"},
			{"not contiguous, with one under the other lock between them", UnfencedWrite, lock, `
			G=A acquire [0,10] key=k1
			H=B acquire [0,10] key=k1
			I=C acquire [0,10] key=k2
			A write   [11,12] g=G
			B write   [13,14] g=H
			C write   [15,16] g=I
			A write   [17,18] g=G`, Violated, 1, KindStale, "after one of client 2"},
			{"the tokens of the lock are in no order, those of the other lock are", UnfencedWrite, lock, `
			A acquire [-100,-99] key=k1 tok=50
			A release [-98,-97] key=k1
			G=A acquire [0,10] key=k1 tok=1
			H=B acquire [0,10] key=k1 tok=2
			B write   [11,12] g=H
			A write   [13,14] g=G`, Pass, 0, "", ""},
		})
	}
	pay := workload(noClaims(fencedLock()), workloadPayment)
	run(t, []propertyCase{
		{"both under the second lock", UnfencedWrite, noClaims(fencedLock()), `
		I=C acquire [0,1] key=k2 tok=1
		C write   [2,3] g=I
		G=A acquire [4,5] key=k1 tok=1
		H=B acquire [600,601] key=k1 tok=2
		B write   [602,603] g=H
		A write   [608,609] g=G`, Violated, 1, KindStale, "after one of client 2"},
		{"lost by a write under the other lock", LostUpdate, noClaims(plainLock()), `
		I=C acquire [0,1] key=k1
		C write   [2,3] g=I
		C release [4,5] key=k1 g=I
		G=A acquire [6,7] key=k1
		A read    [8,9] g=G
		H=B acquire [8,9] key=k2
		B write   [10,11] g=H
		A write   [12,13] g=G` + probeText, Violated, 1, "", "over version 2 of client 2"},
		{"lost by a nested hold of the other lock", LostUpdate, reentrant(noClaims(plainLock())), `
		I=A acquire [0,1] key=k1
		G=A acquire [2,3] key=k2
		A read    [4,5] g=G
		H=B acquire [4,5] key=k1
		B write   [6,7] g=H
		A write   [8,9] g=I
		A write   [10,11] g=G` + probeText, Violated, 1, "", "over version 1 of client 2"},
		{"the tokens of two locks tell nothing of each other", DuplicateEffect, pay, `
		G=A acquire [0,10] key=k1 tok=1
		H=B acquire [0,10] key=k2 tok=2
		B write   [11,12] value=1 g=H
		A write   [13,14] value=1 g=G`, Violated, 1, "", "at 1.014 s."},
		{"a stall is no excuse for an effect that two locks allow", DuplicateEffect, pay, `
		G=A acquire [0,1] key=k1 tok=1
		stall A   [4,650]
		H=B acquire [600,601] key=k2 tok=2
		B write   [602,603] value=1 g=H
		A write   [651,652] value=1 g=G`, Violated, 1, KindStale, ""},
		{"it is one where they share the lock", DuplicateEffect, pay, `
		G=A acquire [0,1] key=k1 tok=1
		stall A   [4,650]
		H=B acquire [600,601] key=k1 tok=2
		B write   [602,603] value=1 g=H
		A write   [651,652] value=1 g=G`, Inconclusive, 0, "", ""},
		{"a stall is no excuse for what two locks allow", LostUpdate, noClaims(plainLock()), `
		G=A acquire [0,1] key=k1
		A read    [2,3] g=G
		stall A   [4,650]
		H=B acquire [600,601] key=k2
		B write   [602,603] g=H
		A write   [651,652] g=G` + probeText, Violated, 1, "", ""},
		{"a stall is one where they share the lock", LostUpdate, noClaims(plainLock()), `
		G=A acquire [0,1] key=k1
		A read    [2,3] g=G
		stall A   [4,650]
		H=B acquire [600,601] key=k1
		B write   [602,603] g=H
		A write   [651,652] g=G` + probeText, Inconclusive, 0, "", ""},
	})
}
