package checker

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestEdgesOfTheLedger: what a ledger must have before its silence means anything.
func TestEdgesOfTheLedger(t *testing.T) {
	const text = `
		A acquire [0,1]
		A read    [2,3]
		A write   [4,5]
		A read    [6,7]
		A write   [8,9]
		A release [10,11]`
	drop := func(h *history.History, gone func(history.Event) bool) { h.Events = slices.DeleteFunc(h.Events, gone) }
	entryOf := func(op int64) func(history.Event) bool {
		return func(e history.Event) bool { return e.Type == history.Ledger && e.Op == op }
	}
	marks := func(e history.Event) bool { return e.Type == history.Watermark }
	markedAt := func(h *history.History, t int64) {
		for i := range h.Events {
			if h.Events[i].Type == history.Watermark {
				h.Events[i].Start = t
			}
		}
	}
	for name, x := range map[string]struct {
		text   string
		change func(*history.History)
		says   string // why lost-update is inconclusive; empty: it passes
	}{
		"whole":                       {text, func(*history.History) {}, ""},
		"the last write is not in it": {text, func(h *history.History) { drop(h, entryOf(5)) }, "the store answered 1 op that"},
		"the last read is not in it": {strings.Replace(text, "A write   [8,9]", "", 1),
			func(h *history.History) { drop(h, entryOf(4)) }, "the store answered 1 op that"},
		"two are not in it": {text,
			func(h *history.History) { drop(h, entryOf(5)); drop(h, entryOf(4)) }, "the store answered 2 ops that"},
		"what failed need not be in it": {text + "\nA read [6.5,6.6] fail", func(*history.History) {}, ""},
		"nobody knows of one, nor how far": {strings.Replace(text, "[8,9]", "[8,]", 1),
			func(h *history.History) { drop(h, marks) }, "the fate of 1 op is open"},
		"nor of a read": {strings.Replace(strings.Replace(text, "[6,7]", "[6,]", 1),
			"A write   [8,9]", "", 1), func(h *history.History) { drop(h, marks) }, "the fate of 1 op is open"},
		"one timed out, and nobody knows": {strings.Replace(text, "[8,9]", "[8,9] info", 1),
			func(h *history.History) { drop(h, marks) }, "the fate of 1 op is open"},
		"nobody knows of one, but how far": {strings.Replace(text, "[8,9]", "[8,]", 1), func(*history.History) {}, ""},
		"just as far": {strings.Replace(text, "[8,9]", "[8,]", 1),
			func(h *history.History) { markedAt(h, at(8)) }, ""},
		"a little less": {strings.Replace(text, "[8,9]", "[8,]", 1),
			func(h *history.History) { markedAt(h, at(8)-1) }, "the fate of 1 op is open"},
		"it has what never was answered": {strings.Replace(text, "[8,9]", "[8,] @8.5", 1),
			func(h *history.History) { drop(h, marks) }, ""},
		"not a lock's op": {text + "\nB acquire [20,]\nC renew [8.5,] g=none\nD held [8.6,]",
			func(h *history.History) { drop(h, marks) }, ""},
		"one is missing in the midst of it": {text, func(h *history.History) { drop(h, entryOf(3)) }, "the store answered 1 op that"},
		"a gap, and every op is in it": {strings.Replace(text, "[8,9]", "[8,9] @8.5,8.6", 1),
			func(h *history.History) { h.Events = slices.Delete(h.Events, len(h.Events)-3, len(h.Events)-2) }, ""},
		"there is one, though none was told": {text, func(h *history.History) { h.Header.Store = history.Store{} },
			"The ledger has 4 entries"},
	} {
		h := plainLock().history(x.text + "\n" + probeText)
		x.change(h)
		v := Judge(h, Options{})
		r := v.Property(LostUpdate)
		if want := map[bool]Outcome{true: Pass, false: Inconclusive}[x.says == ""]; r.Outcome != want || !strings.Contains(r.Why, x.says) {
			t.Errorf("%s: %v (%s), want %v (%s)", name, r.Outcome, r.Why, want, x.says)
		}
	}
}

// TestALedgerWithoutVersions: where the store numbers no versions, a hold's own
// writes are in nobody's way.
func TestALedgerWithoutVersions(t *testing.T) {
	for name, lock := range map[string]script{"plain": noClaims(plainLock()), "reentrant": reentrant(noClaims(plainLock()))} {
		h := lock.history("A acquire [0,1]\nA write [2,3]\nA write [4,5]\nA release [6,7]" + probeText)
		for i := range h.Events {
			h.Events[i].Version, h.Events[i].Replaced, h.Events[i].Seq = 0, 0, 0
		}
		if v := Judge(h, Options{}); v.Property(UnfencedWrite).Outcome != Pass || v.Property(LostUpdate).Outcome != Pass {
			t.Errorf("%s: %+v", name, v.Properties)
		}
	}
	h := noClaims(plainLock()).history("A acquire [0,10]\nB acquire [0,10]\nA write [11,12]\nB write [13,14]\nA write [15,16]")
	for i := range h.Events {
		h.Events[i].Version, h.Events[i].Replaced = 0, 0
	}
	if v := Judge(h, Options{}); v.Property(UnfencedWrite).Count != 1 {
		t.Errorf("one write between two of another: %+v", v.Property(UnfencedWrite))
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
