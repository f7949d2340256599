package saved

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// native is a history of ours in which one client holds a lock.
func native(t *testing.T) []byte {
	t.Helper()
	h := &history.History{Header: history.Header{Format: history.FormatVersion, Lock: "mine", Scenario: "mine/none",
		Claims: history.Claims{Permits: 1, Token: "none"}}, Keys: []string{"k"}, Events: []history.Event{
		{Type: history.Invoke, Kind: history.Acquire, Op: 1, Client: 1, Time: 10},
		{Type: history.OK, Kind: history.Acquire, Op: 1, Grant: 1, Client: 1, Time: 20, Start: 11, End: 19},
		{Type: history.Invoke, Kind: history.Release, Op: 2, Grant: 1, Client: 1, Time: 30},
		{Type: history.OK, Kind: history.Release, Op: 2, Grant: 1, Client: 1, Time: 40, Start: 31, End: 39},
		{Type: history.End, Time: 99}}}
	var text bytes.Buffer
	if err := h.Encode(&text); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

func write(t *testing.T, name string, text []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestOwnHistories: a history of lockchaos is recognised, in a file, compressed, or on the standard
// input, and one that was cut off is judged as such.
func TestOwnHistories(t *testing.T) {
	text := native(t)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(text)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	cut := text[:bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n')+1]
	for name, c := range map[string]struct {
		text []byte
		cut  bool
	}{"history.jsonl": {text, false}, "history.jsonl.gz": {packed.Bytes(), false}, "cut.jsonl": {cut, true}} {
		file := write(t, name, c.text)
		j, err := Reading{Format: formats.Auto, Keep: true}.Judge(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		if j.History.Truncated != c.cut || j.History.Header.Lock != "mine" || len(j.History.Events) < 4 ||
			c.cut && j.Verdict.Outcome == checker.Pass || j.Verdict.Outcome == checker.Violated {
			t.Errorf("%s: cut off %v, %d events, %s", name, j.History.Truncated, len(j.History.Events), j.Verdict.Outcome)
		}
		piped, err := Reading{Format: formats.Auto}.Judge("-", bytes.NewReader(c.text))
		if err != nil || piped.Verdict.Outcome != j.Verdict.Outcome || len(piped.History.Events) != 0 {
			t.Errorf("%s on the standard input: %v", name, err)
		}
	}
}

// TestNoHistory: what can't be read is said with its place.
func TestNoHistory(t *testing.T) {
	file := write(t, "x", []byte("\x00\x01\x02 nothing of the kind\n"))
	_, err := Reading{Format: formats.Auto}.Judge(file, nil)
	var syntax *history.SyntaxError
	if !errors.As(err, &syntax) || syntax.File != file || syntax.Line != 1 {
		t.Errorf("%v", err)
	}
	if _, err := (Reading{Format: formats.Auto}).Judge(file+"y", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := (Reading{Format: formats.Auto}).Explain(write(t, "h.jsonl", native(t)), nil); err == nil ||
		!strings.Contains(err.Error(), "only logs are explained") {
		t.Errorf("a history of lockchaos was explained: %v", err)
	}
}

// TestReportBesideItsHistory: a report goes into the history's own folder, and leaves it as it is.
// In another folder it has a copy.
func TestReportBesideItsHistory(t *testing.T) {
	file := write(t, "history.jsonl", native(t))
	j, err := Reading{Format: formats.Auto, Keep: true}.Judge(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Dir(file), filepath.Join(t.TempDir(), "new")} {
		page, err := j.Report(dir, file, "lockchaos", "lockchaos check history.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(page); err != nil || !bytes.Contains(text, []byte("mine/none")) {
			t.Errorf("the page in %s: %v", dir, err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "history.jsonl")); err != nil || !bytes.Equal(text, native(t)) {
			t.Errorf("the history in %s is another one: %v", dir, err)
		}
	}
	if after, err := os.Stat(file); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Error("the history was written anew")
	}
}

// TestListFlag: what is printed for a shell is what the flag reads.
func TestListFlag(t *testing.T) {
	if got := ListFlag("--map", []string{"client=pod", `event=a "b", c`}); got != `--map 'client=pod,"event=a ""b"", c"'` {
		t.Error(got)
	}
}
