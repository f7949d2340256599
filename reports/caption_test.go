package reports

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
)

// Two holders are named on the timeline where there were two, and nowhere else.
func TestTwoHoldersAreCaptionedByTheDoubleHold(t *testing.T) {
	r := newRecord(corruptedCase().History, corruptedCase().Verdict)
	held := checker.Violation{Property: checker.MutualExclusion, From: 100 * ms, To: 200 * ms, At: 200 * ms,
		A: &checker.GrantRef{LastAct: 200 * ms}, B: &checker.GrantRef{LastAct: 300 * ms}}
	given, dead := held, held
	given.A = &checker.GrantRef{}
	dead.Property = checker.DeadGrant
	for want, v := range map[string]checker.Violation{"two holders": held, "given to two": given, "": dead} {
		if got := r.placeOf(&v).Word; got != want {
			t.Errorf("%s: caption %q, want %q", v.Property, got, want)
		}
	}
}

// The script says who held the key in the words of the data, and has none of its own.
func TestTheScriptNamesNoHolders(t *testing.T) {
	if strings.Contains(string(timelineScript), "two holders") {
		t.Error("the script says by itself that there were two holders")
	}
}

// A write that lost an update is called stale only where the verdict says that the store took a stale write.
func TestALostUpdateIsNoStaleWrite(t *testing.T) {
	for _, c := range []struct {
		stale bool
		says  string
	}{{true, "overwrote the work"}, {false, "an update was lost"}} {
		s := corruptedCase()
		for i := range s.Verdict.Properties {
			if p := &s.Verdict.Properties[i]; p.Name == checker.UnfencedWrite && !c.stale {
				*p = checker.PropertyResult{Name: p.Name, Outcome: checker.Pass}
			}
		}
		r := newRecord(s.History, s.Verdict)
		v := s.property(checker.MutualExclusion).First()
		told := r.retell(s, v, nil)
		if told.lostUpdate = c.stale; len(told.stale) == 0 {
			t.Fatal("the story has no write that did harm")
		}
		text, _ := r.lede(s, &told)
		if got := text.String(); !strings.Contains(got, c.says) || !c.stale && strings.Contains(got, "stale") {
			t.Errorf("stale: %v: %q, want %q", c.stale, got, c.says)
		}
	}
}
