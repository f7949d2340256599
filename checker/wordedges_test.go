package checker

import (
	"strings"
	"testing"
)

// TestEdgesOfPlights: of the faults on a client that outlived its lease, the
// injected and longer one is told of.
func TestEdgesOfPlights(t *testing.T) {
	// The earlier holder acts last at 1300.
	late := func(faults string) string {
		return "A acquire [0,1]\nA read [1.2,1.4]\n" + faults + `
		B acquire [1205,1206] first=1205
		A write   [1300,1301] refused
		B write   [1350,1351]
		B release [1360,1361]` + probeText
	}
	cases := []propertyCase{
		{"a reader and a writer", MutualExclusion, readWrite(plainLock()),
			strings.NewReplacer("A acquire [0,1]", "A acquire [0,1] mode=read").Replace(late("")), Violated, 1, KindLeaseOverrun,
			"client 1 (a reader) and client 2 (a writer) both held"},
	}
	for _, x := range []struct{ name, faults, says string }{
		{"a short one, then a long one", "pause A [4,204]\npause A [210,910]", "was frozen for 0.700 s"},
		{"a long one, then a short one", "pause A [4,804]\nfault throttle [810,910] on=A", "was frozen for 0.800 s"},
		{"two of a length", "pause A [4,604]\nfault throttle [610,1210] on=A", "was frozen for 0.600 s"},
		{"what nobody injected comes first", "stall A [2,702]\npause A [703,1203]", "was frozen for 0.500 s"},
		{"what nobody injected comes last", "pause A [2,502]\nstall A [503,1203]", "was frozen for 0.500 s"},
		{"a longer one was over when it asked", "pause A [-990,-1]\npause A [2,902]", "was frozen for 0.900 s"},
		{"a longer one came when it had acted", "pause A [2,902]\npause A [1310,9000]", "was frozen for 0.900 s"},
		{"it never ended", "pause A [100,]", "was frozen to the end"},
		{"it was noticed late", "pause A [100,1290] from=90", "was frozen for 1.200 s"},
	} {
		cases = append(cases, propertyCase{x.name, MutualExclusion, plainLock(), late(x.faults), Violated, 1,
			KindLeaseOverrun, "client 1 " + x.says + ", outlived its lease of 0.500 s"})
	}
	run(t, cases)
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
