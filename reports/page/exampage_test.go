package page

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// TestMendedSection: the page of an exam says what the lock comes to without its first defect, and
// leads to the attacks that show it, inside the run's folder.
func TestMendedSection(t *testing.T) {
	s := reporttest.Suite(reporttest.CorruptedCase())
	s.Exam = &reports.Exam{Lock: "any"}
	if text := indexOf(t, s); strings.Contains(text, `id="mended"`) {
		t.Error("what was not tried has a section")
	}
	const link = `<a href="./mended/index.html">`
	for dir, want := range map[string]string{"mended": link, "../mended": link,
		"": "made again on an application that &lt;waits&gt;).</dd>"} {
		s.Exam.Mended = &reports.Mended{Defect: checker.KeptKey, Fell: 1, Attacks: []string{"stop-work"}, Avoids: "<waits>",
			Outcome: reports.MendedStands, Dir: dir}
		if text := indexOf(t, s); !strings.Contains(text, `id="mended"`) || !strings.Contains(text, want) {
			t.Errorf("folder %q: no %s", dir, want)
		}
	}
}
