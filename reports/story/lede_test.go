package story

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

func TestSentences(t *testing.T) {
	for text, want := range map[string]int{"": 0, "One": 1, "One. Two.": 2, "It took 1.5 s. Then? Yes!": 3,
		"See a.b.c, e.g. this one.": 1, `He said "no." Then (at last.) He went.`: 3, "A. B. C. D. E": 5} {
		if n := (Prose{}.t(text)).sentences(); n != want {
			t.Errorf("%q has %d sentences, want %d", text, n, want)
		}
	}
	p := Prose{}.t("One ").b("two. Three").t(" four. ").b("Five.")
	for n, want := range map[int]string{1: "One <b>two.</b>", 2: "One <b>two. Three</b> four.",
		3: "One <b>two. Three</b> four. <b>Five.</b>", 9: "One <b>two. Three</b> four. <b>Five.</b>"} {
		if got := string(p.atMost(n).HTML()); got != want {
			t.Errorf("the first %d: %q, want %q", n, got, want)
		}
	}
}

// TestFrozenWhileItWaited: a client whose fault was over before its grant did
// not hold the key meanwhile.
func TestFrozenWhileItWaited(t *testing.T) {
	for to, want := range map[int64]string{99: "waited for", 100: "waited for", 101: "held"} {
		told := &Story{A: &history.Grant{Op: &history.Op{End: 100}}}
		if got := told.had(&history.FaultSpan{FaultInfo: history.FaultInfo{From: 10, To: to}}); got != want {
			t.Errorf("a fault until %d, a grant at 100: %q", to, got)
		}
	}
}
