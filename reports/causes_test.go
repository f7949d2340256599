package reports

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
)

// mixedCase is a corrupted run with overruns, and two violations that are defects of the lock: a grant inside a promise, and false confirmations. The first
// one is far less frequent than the overruns, does no harm to the data, and comes last.
func mixedCase() Scenario {
	s := corruptedCase()
	s.Verdict.Properties = slices.Clone(s.Verdict.Properties)
	p := s.property(checker.MutualExclusion)
	p.Violations = slices.Clone(p.Violations)
	last := p.Violations[len(p.Violations)-1]
	given := last
	given.Kind, given.Pattern, given.Severity, given.Text = checker.KindGrantedWhileValid, checker.PatternStolen, checker.Untested, "the defect that is told"
	given.At++
	p.Violations, p.Count = append(p.Violations, given), p.Count+1
	p.Kinds = map[string]int{checker.KindLeaseOverrun: p.Count - 1, checker.KindGrantedWhileValid: 1}
	confirmed := checker.PropertyResult{Name: checker.Continuity, Outcome: checker.Violated}
	for _, v := range p.Violations[:5] {
		v.Property, v.Kind, v.Severity = checker.Continuity, "", checker.SeverityNone
		v.Pattern, v.Text = checker.PatternOwnerUnchecked, "a false confirmation"
		confirmed.Violations, confirmed.Count = append(confirmed.Violations, v), confirmed.Count+1
	}
	s.Verdict.Properties = append(s.Verdict.Properties, confirmed)
	for i := range p.Violations[:len(p.Violations)-1] {
		p.Violations[i].Pattern = checker.PatternPaused
	}
	s.Verdict.Patterns = []checker.PatternGroup{
		{Pattern: checker.PatternPaused, Says: "holder paused", Counts: []checker.PropertyCount{{Property: checker.MutualExclusion, Count: p.Count - 1}}},
		{Pattern: checker.PatternStolen, Says: "key freed", Counts: []checker.PropertyCount{{Property: checker.MutualExclusion, Count: 1}}},
		{Pattern: checker.PatternOwnerUnchecked, Says: "owner unchecked", Counts: []checker.PropertyCount{{Property: checker.Continuity, Count: 5}}},
	}
	s.Expect, s.Met = nil, false
	return s
}

var tags = regexp.MustCompile(`<[^>]*>`)

// heading is the first heading of a page as text.
func heading(page string) string {
	_, rest, _ := strings.Cut(page, "<h1>")
	text, _, _ := strings.Cut(rest, "</h1>")
	return tags.ReplaceAllString(text, "")
}

// TestDefectsFirst checks that each output tells a certain defect before what no lease prevents.
func TestDefectsFirst(t *testing.T) {
	s := mixedCase()
	const head = "2 defects: the lock gave a key away while it was promised to another client and the lock confirmed a hold that it had given away; and 4 overruns, which no lease " +
		"prevents; the store took 4 stale writes"
	text := reportOf(t, s)
	if got := heading(text); !strings.HasSuffix(got, head) {
		t.Errorf("the headline is %q, want %q", got, head)
	}
	if v := Told(s); v == nil || v.Kind != checker.KindGrantedWhileValid {
		t.Errorf("told is %v, want the grant of a promised key", v)
	}
	if !strings.Contains(text, "<b>granted-while-valid</b>") || strings.Index(text, "key freed") > strings.Index(text, "holder paused") {
		t.Error("the page does not show the group of the defect first")
	}
	if got, want := s.Detail(), "2 defects · 4 overruns · 4 stale writes"; got != want {
		t.Errorf("the cell says %q, want %q", got, want)
	}
	if got := Summary(s); !strings.Contains(got, "corrupted (2 defects · 4 overruns") {
		t.Errorf("the line says %q", got)
	}
	run := suite(s)
	const sentence = "In 1 scenario redis-setnx showed 2 defects: the lock gave a key away while it was promised to another client and the lock confirmed holds that it had given away; and 4 overruns, which no lease prevents."
	if got := run.lede(); !strings.HasPrefix(got, sentence) {
		t.Errorf("the run's last sentences begin with %.200q, want %q", got, sentence)
	}
	if lines := PatternLines(s.Verdict); len(lines) != 3 || !strings.Contains(lines[0], "1 grant of a promised key: key freed") || !strings.Contains(lines[2], "4 overruns: holder paused") {
		t.Errorf("the patterns are told as %q", lines)
	}
	for name, text := range map[string]string{
		"junit": page(t, func(w io.Writer) error { return WriteJUnit(w, run) }), "sarif": page(t, func(w io.Writer) error { return WriteSARIF(w, run) }),
		"markdown": page(t, func(w io.Writer) error { return WriteSummary(w, run) }), "github": page(t, func(w io.Writer) error { return WriteAnnotations(w, run) }),
	} {
		told, overrun := strings.Index(text, "defect that is told"), strings.Index(text, "both held")
		if told < 0 || overrun >= 0 && overrun < told {
			t.Errorf("%s does not tell the defect first: %d, the overrun is at %d", name, told, overrun)
		}
	}
}

// TestDefectBeforeInherentProperty checks the order of findings: a property that shows a defect comes before mutual-exclusion where that is overruns only.
func TestDefectBeforeInherentProperty(t *testing.T) {
	s := mixedCase()
	p := s.property(checker.MutualExclusion)
	p.Violations, p.Count = p.Violations[:p.Count-1], p.Count-1
	p.Kinds = map[string]int{checker.KindLeaseOverrun: p.Count}
	if got := s.findings(); got[0].Rule != checker.Continuity {
		t.Errorf("without expectations the first finding is of %s", got[0].Rule)
	}
	for _, x := range s.Verdict.Properties {
		s.Expect = append(s.Expect, Expectation{Property: x.Name, Want: "pass", Got: x.Outcome.String(), Met: x.Outcome != checker.Violated})
	}
	if got := s.findings(); got[0].Rule != checker.Continuity || !strings.HasPrefix(got[0].Text, "continuity violated once. ") {
		t.Errorf("the first finding is of %s: %s", got[0].Rule, got[0].Text)
	}
	if got := s.missed(); got[0].Property != checker.Continuity {
		t.Errorf("the first expectation that was missed is of %s", got[0].Property)
	}
	if v := Told(s); v == nil || v.Property != checker.Continuity {
		t.Errorf("told is %v, want a false confirmation", v)
	}
}

// TestOneFigure checks that an overrun is one in every place, and the pairs that it makes stand behind details only.
func TestOneFigure(t *testing.T) {
	s := corruptedCase()
	pairs := grouped(s.count(checker.MutualExclusion))
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
	if main, _, _ := strings.Cut(open, "<script"); strings.Contains(main, pairs+" double-hold") || strings.Contains(main, pairs+" pairs") || strings.Contains(main, ">"+pairs+"<") {
		t.Errorf("the page says %s beside 4 overruns", pairs)
	}
	if !strings.Contains(page, "lease-overrun: 4 grants, in "+pairs+" pairs of grants") {
		t.Error("the details do not say how many pairs there are")
	}
	if got := s.Times(checker.MutualExclusion); got != "4 times (lease-overrun, which no lease prevents)" {
		t.Errorf("in words: %q", got)
	}
}

// TestCorruptedSaysWhat checks that a cell names what was corrupted where no write was stale.
func TestCorruptedSaysWhat(t *testing.T) {
	s := corruptedCase()
	s.Verdict.Stats.Stale = 0
	if got := s.Detail(); strings.Contains(got, "0 stale") || !regexp.MustCompile(`· \d+ increments lost$`).MatchString(got) {
		t.Errorf("of a counter: %q", got)
	}
	s.History.Header.Workload = "register"
	if got := s.Detail(); !strings.HasSuffix(got, "4 lost updates") {
		t.Errorf("of another workload: %q", got)
	}
}
