package reports

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
)

func TestSpark(t *testing.T) {
	s := Scenario{Length: 3200 * ms, Verdict: checker.Verdict{Outcome: checker.Violated, Properties: []checker.PropertyResult{
		{Name: checker.MutualExclusion, Outcome: checker.Violated, Count: 3, Violations: []checker.Violation{{At: 0}, {At: 50 * ms}, {At: 3200 * ms}}},
		{Name: checker.LostUpdate, Outcome: checker.Pass}}}}
	text := string(spark(s))
	if !strings.Contains(text, "3 violations over the 3.2 s of the run, first at 0.000 s") {
		t.Errorf("%s", text)
	}
	// Two in the first part at full height, one at the last instant in the last part.
	if !strings.Contains(text, `d="M0 0h2v12h-2zM93 3.5h2v8.5h-2z"`) {
		t.Errorf("%s", text)
	}
	s.Verdict.Properties[0].Count = 5000
	if text := string(spark(s)); !strings.Contains(text, "the first 3 of 5,000 violations") {
		t.Errorf("%s", text)
	}
	for name, s := range map[string]Scenario{"a pass": passCase(), "one that was skipped": skippedCase(), "one without a length": {Verdict: s.Verdict}} {
		if spark(s) != "" {
			t.Errorf("%s has a sparkline", name)
		}
	}
}

// TestControlsApart checks that what is broken on purpose is not counted among the locks that are for use.
func TestControlsApart(t *testing.T) {
	control := corruptedCase()
	control.Name, control.Lock, control.Control = "broken-del/pause-holder/unfenced", "broken-del", true
	missed := control
	missed.Name, missed.Met = "broken-del/none/unfenced", false
	s := suite(corruptedCase(), passCase(), control, missed)
	text := indexOf(t, s)
	if i, j := strings.Index(text, `id="controls"`), strings.Index(text, "broken-del"); i < 0 || strings.Count(text[:i], `class="cell`) != 2 || j < 0 {
		t.Error("the controls are not apart")
	}
	for _, want := range []string{`<b class="v">1</b><span>data corrupted</span>`, `<b class="u">1 / 2</b><span>controls as expected</span>`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	if text := indexOf(t, suite(control, missed)); strings.Contains(text, `id="controls"`) || !strings.Contains(text, `<b class="v">2</b><span>data corrupted</span>`) {
		t.Error("a suite of controls only is parted")
	}
}
