package page

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/ci"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/reporttest"
	"github.com/lockchaos/lockchaos/reports/story"
)

var tags = regexp.MustCompile(`<[^>]*>`)

// heading is the first heading of a page as text.
func heading(page string) string {
	_, rest, _ := strings.Cut(page, "<h1>")
	text, _, _ := strings.Cut(rest, "</h1>")
	return tags.ReplaceAllString(text, "")
}

// TestDefectsFirst checks that each output tells a certain defect before what no lease prevents.
func TestDefectsFirst(t *testing.T) {
	s := reporttest.MixedCase()
	const head = "2 defects: the lock gave a key away while it was promised to another client and the lock confirmed a hold that it had given away; and 4 overruns, which no lease " +
		"prevents; the store took 4 stale writes"
	text := reportOf(t, s)
	if got := heading(text); !strings.HasSuffix(got, head) {
		t.Errorf("the headline is %q, want %q", got, head)
	}
	if v := reports.Told(s); v == nil || v.Kind != checker.KindGrantedWhileValid {
		t.Errorf("told is %v, want the grant of a promised key", v)
	}
	if !strings.Contains(text, "<b>granted-while-valid</b>") || strings.Index(text, "key freed") > strings.Index(text, "holder paused") {
		t.Error("the page does not show the group of the defect first")
	}
	if got, want := s.Detail(), "2 defects · 4 overruns · 4 stale writes"; got != want {
		t.Errorf("the cell says %q, want %q", got, want)
	}
	if got := story.Summary(s); !strings.Contains(got, "corrupted (2 defects · 4 overruns") {
		t.Errorf("the line says %q", got)
	}
	run := reporttest.Suite(s)
	const sentence = "In 1 scenario redis-setnx showed 2 defects: the lock gave a key away while it was promised to another client and the lock confirmed holds that it had given away; and 4 overruns, which no lease prevents."
	if got := story.SuiteLede(run); !strings.HasPrefix(got, sentence) {
		t.Errorf("the run's last sentences begin with %.200q, want %q", got, sentence)
	}
	if lines := story.PatternLines(s.Verdict); len(lines) != 3 ||
		!strings.Contains(lines[0], "1 grant of a promised key: key freed") || !strings.Contains(lines[2], "4 overruns: holder paused") {
		t.Errorf("the patterns are told as %q", lines)
	}
	for name, text := range map[string]string{
		"junit":    reporttest.Text(t, func(w io.Writer) error { return ci.WriteJUnit(w, run) }),
		"sarif":    reporttest.Text(t, func(w io.Writer) error { return ci.WriteSARIF(w, run) }),
		"markdown": reporttest.Text(t, func(w io.Writer) error { return ci.WriteSummary(w, run) }),
		"github":   reporttest.Text(t, func(w io.Writer) error { return ci.WriteAnnotations(w, run) }),
	} {
		told, overrun := strings.Index(text, "defect that is told"), strings.Index(text, "both held")
		if told < 0 || overrun >= 0 && overrun < told {
			t.Errorf("%s does not tell the defect first: %d, the overrun is at %d", name, told, overrun)
		}
	}
}

// TestOneFigure checks that an overrun is one in every place, and the pairs
// that it makes stand behind details only.
func TestOneFigure(t *testing.T) {
	s := reporttest.CorruptedCase()
	pairs := phrase.Grouped(s.Count(checker.MutualExclusion))
	if pairs == "4" {
		t.Fatal("each overrun makes one pair: nothing to tell apart")
	}
	page := reportOf(t, s)
	if !strings.Contains(tags.ReplaceAllString(page, ""), "4 holders of k0 went on past their lease") {
		t.Errorf("the headline is %q", heading(page))
	}
	open := page
	for {
		from := strings.LastIndex(open, "<details>")
		if from < 0 {
			break
		}
		to := strings.Index(open[from:], "</details>")
		open = open[:from] + open[from+to+len("</details>"):]
	}
	if main, _, _ := strings.Cut(open, "<script"); strings.Contains(main, pairs+" double-hold") ||
		strings.Contains(main, pairs+" pairs") || strings.Contains(main, ">"+pairs+"<") {
		t.Errorf("the page says %s beside 4 overruns", pairs)
	}
	if !strings.Contains(page, "lease-overrun: 4 grants, in "+pairs+" pairs of grants") {
		t.Error("the details do not say how many pairs there are")
	}
	if got := s.Times(checker.MutualExclusion); got != "4 times (lease-overrun, which no lease prevents)" {
		t.Errorf("in words: %q", got)
	}
}
