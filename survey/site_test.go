package survey

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
)

// exam is the suite of an exam in which the lock fell by one attack, or stood it.
func exam(seed uint64, defect bool) reports.Suite {
	fell := reports.Scenario{Name: "l/stop-work/unfenced", Fault: "stop-work", Dir: "l.stop-work", About: "the holder is frozen <i>"}
	if defect {
		fell.Verdict = checker.Verdict{Outcome: checker.Violated,
			Properties: []checker.PropertyResult{{Name: checker.StolenRelease, Outcome: checker.Violated, Count: 2}}}
	} else {
		fell.Verdict = checker.Verdict{Outcome: checker.Pass}
	}
	stood := reports.Scenario{Name: "l/kill-work/unfenced", Fault: "kill-work", Verdict: checker.Verdict{Outcome: checker.Pass,
		Stats: checker.Stats{Faults: []checker.FaultStats{{Kind: "kill", Injected: true, Bit: 3}}}}}
	return reports.Suite{Seed: seed, Version: "v1",
		Versions:  []history.Part{{Name: "redis", Version: "7"}, {Name: "l", Version: "lock 1.2"}},
		Scenarios: []reports.Scenario{stood, fell},
		Exam:      &reports.Exam{Lock: "l", Not: []reports.NotApplicable{{Attack: "herd", Why: "no queue"}}}}
}

// TestResult: exams add up, by attack and by defect, and are read as they were kept.
func TestResult(t *testing.T) {
	runs, dir := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(runs, "l.stop-work"), 0o755); err != nil {
		t.Fatal(err)
	}
	h := history.History{Header: history.Header{Format: history.FormatVersion, Scenario: "l/stop-work", Lock: "l"}}
	if err := reports.WriteFile(filepath.Join(runs, "l.stop-work", reports.WitnessFile(checker.StolenRelease)), h.Encode); err != nil {
		t.Fatal(err)
	}
	r := Result{Name: "mine", Day: "2026-01-02"}
	for seed, defect := range []bool{false, true, true} {
		r.Add(exam(uint64(seed+1), defect), runs)
	}
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	back, err := Load(dir, "mine")
	if err != nil || back == nil {
		t.Fatal(err)
	}
	if len(back.Seeds) != 3 || len(back.Attacks) != 2 || len(back.Defects) != 1 || back.Withstood != 9 || len(back.Not) != 1 {
		t.Fatalf("%+v", back)
	}
	if d := back.Defects[0]; d.Exams != 2 || d.Seed != 2 || d.Name != checker.StolenRelease ||
		d.Witness != "mine.stolen-release.jsonl" || d.Words == "" {
		t.Errorf("%+v", d)
	}
	if a := back.Attacks[1]; a.tally() != "fell: a defect 2×, stood 1×" || !strings.HasPrefix(a.Showed, "late releases freed") {
		t.Errorf("%s: %+v", a.tally(), a)
	}
	if l := (Library{Result: back}); l.Stood() != 1 || l.Inherent() != 0 || l.Open() != 0 {
		t.Errorf("stood %d, inherent %d, open %d", l.Stood(), l.Inherent(), l.Open())
	}
	if none, err := Load(dir, "other"); none != nil || err != nil {
		t.Errorf("a library that was not examined: %v %v", none, err)
	}
	theSite(t, dir)
}

// theSite makes the pages of a survey of which one library was examined, and looks at them.
func theSite(t *testing.T, results string) {
	t.Helper()
	dir := surveyOf(t, map[string]string{"mine": rightCard, "told": rightCard, "ready": rightCard,
		"other": strings.Replace(rightCard, "command: ./lock", "not_run: it can't <b>be had", 1)})
	if err := os.Rename(filepath.Join(results, ResultFolder), filepath.Join(dir, ResultFolder)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mine", "told"} {
		card := rightCard + "defects:\n  - {release: lock 1.2, what: \"`Close` <keeps> the lock\"}\n"
		if err := os.WriteFile(filepath.Join(dir, name, CardFile), []byte(card), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "report.md"),
			[]byte("# `Close` <keeps> the lock\n\nIt does.\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	to := filepath.Join(dir, "docs", "survey")
	if err := Site(dir, to); err != nil {
		t.Fatal(err)
	}
	looksAt(t, dir, to, map[string][]string{
		"index.html": {"1 library examined: 1 showed a defect", `href="./mine.html"`, "1 of 2",
			"can&#39;t &lt;b&gt;be had", "For 2 libraries there is a report", ">Close &lt;keeps&gt; the lock</a>",
			`not examined yet</h2>
<div class="panel"><p><a href="./ready.html">`},
		"mine.html": {"lock 1.2", "in 2 of 3 exams", `href="./mine.stolen-release.html"`, "&lt;i&gt;",
			"only one holds it", `href="../../mine/report.md"`, "--attack stop-work --seed 2", "no queue"},
		"told.html":                {"told: 1 defect found by hand</h1>", "<code>Close</code> &lt;keeps&gt; the lock. Found by hand."},
		"other.html":               {"was not run here", "can&#39;t &lt;b&gt;be had"},
		"mine.stolen-release.html": {"l/stop-work"},
	})
	// What is another's is told, and not held against the library. It is
	// another's only under the attack that was looked at.
	mine := filepath.Join(dir, "mine", CardFile)
	for attack, want := range map[string]string{"stop-work": "none showed a defect", "another": "1 showed a defect"} {
		others := "others:\n  - {defect: stolen-release, attack: " + attack +
			", whose: a server, why: it <b>lost it., at: \"https://example.com/bug\"}\n"
		if err := os.WriteFile(mine, []byte(rightCard+others), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Site(dir, to); err != nil {
			t.Fatal(err)
		}
		looksAt(t, dir, to, map[string][]string{"index.html": {want}})
		if attack == "stop-work" {
			looksAt(t, dir, to, map[string][]string{"index.html": {"stolen-release, of a server"},
				"mine.html": {"no defect of its own", "is a defect of a server: it &lt;b&gt;lost it."}})
		}
	}
}

// looksAt holds that each page has some texts.
func looksAt(t *testing.T, dir, to string, pages map[string][]string) {
	t.Helper()
	for file, want := range pages {
		text, err := os.ReadFile(filepath.Join(to, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s lacks %q", file, part)
			}
		}
		if strings.Contains(string(text), dir) && file == "index.html" {
			t.Errorf("%s names a folder of this machine", file)
		}
	}
}
