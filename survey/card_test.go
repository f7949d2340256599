package survey

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const rightCard = `library: example.com/lock
language: Go
home: https://example.com/lock
service: redis
promises:
  - {says: only one holds it, at: "https://example.com/lock#one"}
command: ./lock
`

// surveyOf writes a survey whose libraries have these cards.
func surveyOf(t *testing.T, cards map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range cards {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, CardFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCards(t *testing.T) {
	dir := surveyOf(t, map[string]string{"b": rightCard, "a": strings.Replace(rightCard, "command: ./lock", "not_run: it can't be had", 1)})
	all, err := Cards(dir)
	if err != nil || len(all) != 2 || all[0].Name != "a" || all[0].NotRun == "" ||
		all[1].Adapter() != "cd "+filepath.Join(dir, "b")+" && ./lock" {
		t.Fatalf("%+v %v", all, err)
	}
	if chosen, err := Select(all, []string{"b", "a"}); err != nil || chosen[0].Name != "b" || len(chosen) != 2 {
		t.Errorf("%+v %v", chosen, err)
	}
	if _, err := Select(all, []string{"bb"}); err == nil || !strings.Contains(err.Error(), "did you mean b") {
		t.Errorf("a mistyped name: %v", err)
	}
}

// TestWrongCards: each mistake is told with its file.
func TestWrongCards(t *testing.T) {
	for _, c := range []struct{ name, old, now, want string }{
		{"no library", "library: example.com/lock\n", "", "no library"},
		{"an unknown key", "language:", "tongue:", "tongue"},
		{"no promises", "promises:\n  - {says: only one holds it, at: \"https://example.com/lock#one\"}\n", "", "no promises"},
		{"a promise without a place", ", at: \"https://example.com/lock#one\"", "", "at which address"},
		{"a place that is a script", "https://example.com/lock#one", "javascript:alert(1)", "at which address"},
		{"a home that is a script", "home: https://example.com/lock", "home: \"javascript:alert(1)\"", "home is an address"},
		{"another's defect, and not whose", "command: ./lock\n",
			"command: ./lock\nothers:\n  - {defect: stuck-lock, attack: leader-cut-off, why: it is, at: \"https://example.com\"}\n", "card.yaml:9:5: a defect that is not the library's own"},
		{"a defect without a release", "command: ./lock\n",
			"command: ./lock\ndefects:\n  - {what: it breaks, report: card.yaml}\n", "card.yaml:9:5: a defect has the release"},
		{"a defect without a report", "command: ./lock\n",
			"command: ./lock\ndefects:\n  - {release: lock 1, what: it breaks}\n", "there is no report of it"},
		{"what an exam shows, and not which", "command: ./lock\n",
			"command: ./lock\ndefects:\n  - {release: lock 1, what: it breaks, shows: [stuck-lock], report: card.yaml}\n", "by which attacks"},
		{"no command", "command: ./lock\n", "", "either a command"},
		{"a command of what is not run", "command: ./lock\n", "command: ./lock\nnot_run: no\n", "either a command"},
	} {
		text := strings.Replace(rightCard, c.old, c.now, 1)
		_, err := Cards(surveyOf(t, map[string]string{"mine": text}))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), filepath.Join("mine", CardFile)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := Cards(t.TempDir()); err == nil || !strings.Contains(err.Error(), "--dir") {
		t.Errorf("no survey: %v", err)
	}
}
