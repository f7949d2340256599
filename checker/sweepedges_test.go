package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// Histories at the edges of what is remembered of a key and of its grants: who
// is still compared with whom, and when (see edges_test.go).

// untold is a lock of which nobody knows when its tokens were given: they are taken at their word.
func untold(s script, properties ...string) script {
	return s.with(func(h *history.Header) {
		h.Untold = map[string]string{}
		for _, p := range properties {
			h.Untold[p] = "It is not told."
		}
	})
}

// probeText9 is probeText for locks whose tokens have come no further than 7.
const probeText9 = `
		mark probe [5000]
		P acquire  [5001,5003] tok=8
		P release  [5004,5005]
		mark final [6000]
		Q acquire  [6001,6002] tok=9
		Q release  [6003,6004]`

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

// TestEdgesOfKeys: who is a key's waiter and holder, when processes come and go.
func TestEdgesOfKeys(t *testing.T) {
	run(t, []propertyCase{
		{"what is told of a dead process says nothing of its heir", MutualExclusion, plainLock(), `
		A acquire [0,1] proc=1
		A acquire [10,11] proc=33
		A exit    [12] proc=1
		B acquire [20,21]
		B release [30,31]
		A release [40,41] proc=33` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"what its predecessor does late makes no process an older one", MutualExclusion, plainLock(), `
		A acquire [0,1] proc=1
		A acquire [4,20] run=5,6 key=k1 proc=33
		A renew   [5,6] key=k0 proc=1
		A exit    [10]
		B acquire [30,31] key=k1
		B release [40,41] key=k1` + probeText, Pass, 0, "", ""},
		{"given back twice, the first time unheard", MutualExclusion, plainLock(), `
		A acquire [0,1]
		A release [100,]
		A release [300,]
		B acquire [200,201]
		B release [400,401]` + probeText, Pass, 0, "", ""},
		{"one that was gone waits no more when its answer comes", MutualExclusion, plainLock(), `
		A acquire [0,1]
		B acquire [2,50] run=2,49 busy
		B exit    [20]
		C acquire [60,70] busy
		D acquire [61,71] busy
		E acquire [62,72] busy
		A release [80,81]` + probeText, Pass, 0, "", ""},
	})
}

// TestEdgesOfPairs: two holds whose order is not known, and two grants just
// before a history is cut.
func TestEdgesOfPairs(t *testing.T) {
	unordered := func(a, b string) string {
		return "A acquire [0,10] valid=12\nB acquire [5,12] valid=6\n" + a + " A [20,700]\n" + b + ` B [20,700]
		B write   [702,703]
		A write   [704,705]
		B write   [706,707]
		A release [710,711]
		B release [710,711]` + probeText
	}
	oneOf := func(fault string) string {
		return strings.Replace(unordered(fault, "stall"), "stall B [20,700]\n", "", 1)
	}
	run(t, []propertyCase{
		{"a stall explains the one", MutualExclusion, library(plainLock()), unordered("stall", "pause"), Inconclusive,
			0, "", "A stall of this machine"},
		{"a stall explains the other", MutualExclusion, library(plainLock()), unordered("pause", "stall"), Inconclusive,
			0, "", "A stall of this machine"},
		{"a stall explains it in one order", MutualExclusion, noClaims(plainLock()), oneOf("stall"), Inconclusive, 0,
			"", "A stall of this machine"},
		{"a fault explains it in one order", MutualExclusion, noClaims(plainLock()), oneOf("pause"), Violated, 1, KindLeaseOverrun, ""},
		{"a stall explains neither", MutualExclusion, library(plainLock()), unordered("pause", "pause"), Violated, 1, KindLeaseOverrun, ""},
	})
	for name, x := range map[string]struct {
		lock  script
		text  string
		until string
		count int
	}{
		"long enough before the cut": {plainLock(), "A acquire [0,1]\nB acquire [2,3]", "253", 1},
		"a little less":              {plainLock(), "A acquire [0,1]\nB acquire [2,3]", "252.9", 0},
		"the first by token, long enough before the cut": {fencedLock(),
			"pause A [1,9]\nA acquire [0,10] tok=1\nB acquire [2,3] tok=2", "260", 1},
		"the first by token, a little less": {fencedLock(),
			"pause A [1,9]\nA acquire [0,10] tok=1\nB acquire [2,3] tok=2", "259.9", 0},
		"the second by token, long enough before the cut": {fencedLock(), "A acquire [0,10] tok=2\nB acquire [2,3] tok=1", "260", 1},
	} {
		h := untilCut(x.lock).history(x.text + "\nC acquire [20," + x.until + "] busy key=k1")
		h.Events = h.Events[:len(h.Events)-1]
		if v := Judge(h, Options{}); v.Property(MutualExclusion).Count != x.count {
			t.Errorf("%s: %+v", name, v.Property(MutualExclusion))
		}
	}
}

// TestEdgesOfTheLastRequest: how far the ledger must have come before its
// silence about an open request means that it was not carried out.
func TestEdgesOfTheLastRequest(t *testing.T) {
	for text, want := range map[string]Outcome{
		"B read  [20,21]": Inconclusive,
		"B write [20,21]": Inconclusive,
		"B renew [20,21]": Pass,
		"B read  [14,15]": Pass,
		"B write [14,15]": Pass,
		"A read  [20,21]": Inconclusive, // under a grant that is long over
		"A write [20,21]": Inconclusive,
		"A held  [20,21]": Pass,
	} {
		lock := confirms(plainLock(), "renew")
		lock.header.Untold = map[string]string{StuckLock: "Nobody probed."}
		h := lock.history("A acquire [0,1]\nA write [1.5,1.6]\nA release [2,3]\nB acquire [4,5]\nB write [8,]\n" +
			text + "\nB release [30,31]")
		for i := range h.Events {
			if h.Events[i].Type == history.Watermark {
				h.Events[i].Start = at(15)
			}
		}
		v := Judge(h, Options{})
		if r := v.Property(LostUpdate); (r.Outcome == Pass) != (want == Pass) {
			t.Errorf("%s: %v (%s), want %v", text, r.Outcome, r.Why, want)
		}
	}
}

// TestOpsThatMakeNoSense are counted, each of them.
func TestOpsThatMakeNoSense(t *testing.T) {
	for name, change := range map[string]func(*history.Event){
		"no number":       func(e *history.Event) { e.Op = 0 },
		"a negative one":  func(e *history.Event) { e.Op = -1 },
		"no such key":     func(e *history.Event) { e.Key = -1 },
		"too great a key": func(e *history.Event) { e.Key = maxKeys },
		"no such client":  func(e *history.Event) { e.Client = -1 },
		"too many":        func(e *history.Event) { e.Client = maxClients },
	} {
		h := plainLock().history("A acquire [0,1]\nA release [2,3]\nB acquire [4,5]\nB release [6,7]" + probeText)
		for i := range h.Events {
			// its invocation and its completion
			if e := &h.Events[i]; e.Op == 3 && e.Kind == history.Acquire {
				change(e)
			}
		}
		if v := Judge(h, Options{}); !strings.Contains(strings.Join(v.Reasons, "\n"), "2 events that make no sense") {
			t.Errorf("%s: %q", name, v.Reasons)
		}
	}
	h := plainLock().history("A acquire [0,1]\nA write [2,3]\nA release [4,5]" + probeText)
	answer := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Type == history.OK && e.Kind == history.Write })
	h.Events = slices.Insert(h.Events, answer, h.Events[answer]) // the ledger has yet to tell of it
	if v := Judge(h, Options{}); !strings.Contains(strings.Join(v.Reasons, "\n"), "1 event that make no sense") {
		t.Errorf("a second answer: %q", v.Reasons)
	}
}

// TestSettledGrantsAreForgotten: what a key remembers of grants that are over does not grow with their
// number, neither where each is over when the next one begins, nor where some always overlap.
func TestSettledGrantsAreForgotten(t *testing.T) {
	for name, overlap := range map[string]float64{"one after the other": 0, "always two at once": 15} {
		var text strings.Builder
		for i := range 400 {
			from := 10 * float64(i)
			fmt.Fprintf(&text, "%c acquire [%g,%g]\n%[1]c write [%[4]g,%[5]g]\n%[1]c release [%[6]g,%[7]g]\n",
				'A'+rune(i%8), from, from+1, from+2, from+3, from+4+overlap, from+5+overlap)
		}
		h := noClaims(plainLock()).history(text.String())
		s := New(h.Header, h.Keys, Options{})
		most := 0
		for i := range h.Events {
			s.Add(&h.Events[i])
			if len(s.book.keys) > 0 {
				most = max(most, len(s.book.keys[0].settled.blocks)*settledBlockSize)
			}
		}
		if most > 100 {
			t.Errorf("%s: %d grants that are over are remembered", name, most)
		}
	}
}
