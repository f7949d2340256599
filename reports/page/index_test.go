package page

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// TestControlsApart checks that what is broken on purpose is not counted among
// the locks that are for use.
func TestControlsApart(t *testing.T) {
	control := reporttest.CorruptedCase()
	control.Name, control.Lock, control.Control = "broken-del/pause-holder/unfenced", "broken-del", true
	missed := control
	missed.Name, missed.Met = "broken-del/none/unfenced", false
	s := reporttest.Suite(reporttest.CorruptedCase(), reporttest.PassCase(), control, missed)
	text := indexOf(t, s)
	if i, j := strings.Index(text, `id="controls"`), strings.Index(text, "broken-del"); i < 0 ||
		strings.Count(text[:i], `class="cell`) != 2 || j < 0 {
		t.Error("the controls are not apart")
	}
	for _, want := range []string{`<b class="v">1</b><span>data corrupted</span>`,
		`<b class="u">1 / 2</b><span>controls as expected</span>`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	if text := indexOf(t, reporttest.Suite(control, missed)); strings.Contains(text, `id="controls"`) ||
		!strings.Contains(text, `<b class="v">2</b><span>data corrupted</span>`) {
		t.Error("a suite of controls only is parted")
	}
}
