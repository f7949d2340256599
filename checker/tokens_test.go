package checker

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

func TestEdgesOfTokensAndNotices(t *testing.T) {
	patient := grace(session(plainLock()))
	run(t, []propertyCase{
		{"a grant without a token has no place among them", Continuity, confirms(fencedLock(), "held"), `
		pause A   [1,699]
		A acquire [0,700]
		B acquire [10,601] tok=2
		A held    [702,703]` + probeText2, Pass, 0, "", ""},
		{"two shared one, a smaller one came, and the first has it again", TokenOrder, fencedLock(), `
		A acquire [0,1] tok=7
		A release [2,3]
		B acquire [10,11] tok=7
		B release [12,13]
		C acquire [20,21] tok=3
		C release [22,23]
		A acquire [30,31] tok=7
		A release [32,33]`, Violated, 3, "", "both given token 7"},
		{"two shared one, and the first has it again and again", TokenOrder, fencedLock(), `
		A acquire [0,1] tok=7
		A release [2,3]
		B acquire [10,11] tok=7
		B release [12,13]
		A acquire [20,21] tok=7
		A release [22,23]
		A acquire [30,31] tok=7
		A release [32,33]`, Violated, 3, "", "both given token 7"},
		{"begun before the loss was told, reported after", MutualExclusion, patient, `
		A acquire [0,1]
		pause A   [2,620]
		B acquire [600,601]
		B release [980,981]
		A lost    [950]
		A write   [900,960] start=900 refused` + probeText, Violated, 1, KindLateNotice, ""},
		{"an earlier act, reported last", MutualExclusion, patient, `
		A acquire [0,1]
		pause A   [2,620]
		B acquire [600,601]
		B release [980,981]
		A write   [890,891] refused
		A write   [630,960] start=640 refused
		A exit    [1000]` + probeText, Violated, 1, KindLateNotice, ""},
	})
}

// TestReadingsOfTheTokens: of what only one reading of a key's tokens shows,
// room is kept for what counts, and what does not is left out.
func TestReadingsOfTheTokens(t *testing.T) {
	lock := noClaims(fencedLock())
	text := strings.NewReplacer("A acquire [0,1]", "A acquire [0,1] tok=1", "B acquire [600,601]", "B acquire [600,601] tok=2", probeText, "").Replace(stalled("stall")) + `
		pause C   [2001,2019]
		C acquire [2000,2020] tok=3
		C write   [2021,2022] refused
		D acquire [2000,2005] tok=4
		D write   [2010,2011]
		D write   [2012,2013]`
	v := Judge(lock.history(text), Options{Keep: 1})
	if r := v.Property(MutualExclusion); r.Count != 1 || len(r.Violations) != 1 || r.Violations[0].A.Client != 3 {
		t.Errorf("a stall explains the first, and tokens show the second: %+v", r)
	}
	v = lock.judge(t, `
		G acquire [0,10] tok=2
		H acquire [0,10] tok=1
		G write   [11,12]
		H write   [13,14]
		G write   [15,16]`)
	if r := v.Property(UnfencedWrite); r.Count != 1 || len(r.Violations) != 1 || r.Violations[0].At != at(13.5) {
		t.Errorf("by time the third write is one too many, by the tokens the second: %+v", r)
	}
	v = workload(noClaims(plainLock()), "payment").with(func(h *history.Header) { h.Store = history.Store{} }).judge(t, `
		A acquire [0,1]
		A write   [2,3] value=1
		B acquire [10,11]
		B write   [12,13] value=1 atomic`)
	if r := v.Property(DuplicateEffect); r.Count != 1 || r.Violations[0].Kind != "" {
		t.Errorf("charged twice, in a ledger that nobody announced: %+v", r)
	}
}

// untold is a lock of which nobody knows when its tokens were given: they are taken at their word.
func untold(s script, properties ...string) script {
	return s.with(func(h *history.Header) {
		h.Untold = map[string]string{}
		for _, p := range properties {
			h.Untold[p] = "It is not told."
		}
	})
}

// TestHoldsThatTurnOutToBeOlder: the reply to C's acquire comes late, and its
// token tells that A, which was stopped, had been granted the key before.
func TestHoldsThatTurnOutToBeOlder(t *testing.T) {
	lock := confirms(noClaims(fencedLock()), "renew")
	late := func(a, b, c string) string {
		return "pause A [1,149]\nA acquire [0,200] run=0,150 tok=2 " + a + "\nB acquire [10,20] " + b +
			"\nD acquire [1500,1501] key=k1\nC acquire [30," + c + "] run=30,50 tok=3\nC release [2500,2501]" + probeText9
	}
	const acts, acted = "\nA write [210,211]\nA release [220,221]", "tok=1\nB write [80,81]\nB release [100,101]"
	const promised = "run=10,60 valid=490\nB write [80,81]\nB release [480,481]"
	inPromise := func(a string) string { return strings.Replace(late(a+acts, promised, "2000"), "[10,20]", "[10,60]", 1) }
	run(t, []propertyCase{
		{"while the other one acted", MutualExclusion, lock, late(acts, acted, "2000"), Violated, 1, KindUnexplained,
			"both held k0 from 1.050 s to 1.080 s"},
		{"when the other one had acted", MutualExclusion, lock,
			late(acts, "tok=1\nB write [50,51]\nB release [100,101]", "2000"), Pass, 0, "", ""},
		{"it never acted", MutualExclusion, lock, late("\nA release [220,221]", acted, "2000"), Pass, 0, "", ""},
		{"before its own acquire was answered", MutualExclusion, lock, late(acts, acted, "190"), Violated, 1, KindUnexplained, ""},
		{"while it still acts", MutualExclusion, lock,
			late("\nA write [2110,2111]\nA release [2120,2121]", acted, "2000"), Violated, 1, KindUnexplained, ""},
		{"while it acts on", MutualExclusion, lock,
			late("\nA write [210,211]\nA write [2110,2111]\nA release [2120,2121]", acted, "2000"), Violated, 1, KindUnexplained, ""},
		{"while two others acted", MutualExclusion, lock,
			late(acts, acted+"\nE acquire [110,111]\nE write [120,121]\nE release [130,131]", "2000"), Violated, 2, KindLeaseOverrun, ""},
		{"it acted just as its own acquire ended", MutualExclusion, lock,
			late("\nA write [205,211] start=150 @208\nA release [220,221]",
				"tok=1\nB write [50,51]\nB release [100,101]", "2000"), Pass, 0, "", ""},
		{"no conflict is counted twice", MutualExclusion, lock,
			late(acts, "tok=1\nB write [180,181]\nB release [190,191]", "2000"), Violated, 1, KindUnexplained, ""},
		{"in the promise of one that has no token", MutualExclusion, library(lock), inPromise("valid=1"), Violated, 1,
			KindLeaseOverrun, ""},
		{"just after the promise of one that has no token", MutualExclusion, library(lock),
			strings.Replace(inPromise("valid=489"), "490", "142", 1), Violated, 2, KindUnexplained, ""},
		{"in the promise of one that was granted just after its own", MutualExclusion, library(lock),
			inPromise("valid=62"), Violated, 2, KindLeaseOverrun, ""},
		{"in the promise of its own client", MutualExclusion, library(lock),
			strings.NewReplacer("B acq", "A1=A acq", "B write [80,81]", "A write [80,81] g=A1", "B rel", "A rel",
				"A acquire [0", "A2=A acquire [0",
				"[480,481]", "[480,481] g=A1", "[210,211]", "[210,211] g=A2", "[220,221]",
				"[220,221] g=A2").Replace(inPromise("valid=490")), Violated, 2, KindLeaseOverrun, ""},
		{"in the promise of one that has no token, and in its own", MutualExclusion, library(lock),
			inPromise("valid=490"), Violated, 2, KindGrantedWhileValid, ""},
	})
}

// TestEdgesOfTokens: grants without tokens, with the same ones, and with ones that ran over.
func TestEdgesOfTokens(t *testing.T) {
	silent := confirms(noClaims(fencedLock()), "renew")
	taken := untold(silent, TokenOrder)
	const after = "\nB release [50,51]\nA release [50,51]" + probeText9
	run(t, []propertyCase{
		{"a token that ran over falls", TokenOrder, fencedLock(), `
		A acquire [0,1]
		A release [2,3]
		B acquire [4,5] tok=-5
		B release [6,7]
		C acquire [8,9] tok=-7
		C release [10,11]`, Violated, 1, "", ""},
		{"a later grant without a token", MutualExclusion, silent, `
		B acquire [0,1] tok=7
		B write   [2,3]
		A acquire [10,11]
		A write   [12,13]` + after, Pass, 0, "", ""},
		{"an earlier grant without a token", MutualExclusion, silent, `
		B acquire [0,1]
		B write   [2,3]
		A acquire [10,11] tok=7
		A write   [12,13]` + after, Pass, 0, "", ""},
		{"a later grant with a smaller token, taken at its word", MutualExclusion, taken, `
		A acquire [0,1] tok=5
		B acquire [10,11] tok=3
		B write   [20,21]` + after, Pass, 0, "", ""},
		{"and if the earlier one did act", MutualExclusion, taken, `
		A acquire [0,1] tok=5
		A write   [2,3]
		B acquire [10,11] tok=3
		B write   [20,21]` + after, Pass, 0, "", ""},
		{"two that share one, of which one acts no longer than the other begins", MutualExclusion, taken, `
		A acquire [0,10] tok=7
		B acquire [0,10] tok=7
		B write   [10,11]
		A write   [20,21]` + after, Pass, 0, "", ""},
		{"of two that share one, the later one is not known", MutualExclusion, confirms(untold(fencedLock(), TokenOrder), "renew"), `
		A acquire [0,10] tok=7
		B acquire [0,8] tok=7
		A lost    [7]
		B release [20,21]
		A release [50,51]` + probeText9, Pass, 0, "", ""},
	})
}
