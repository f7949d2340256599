package saved

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// TestFileIsClient: with client=@file the clients are the files of the log.
func TestFileIsClient(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for _, f := range [][2]string{{"a.csv", "ts,event\n1,acquired\n12,released"}, {"b.csv", "ts,event\n10,acquired\n14,released\n"}} {
		files = append(files, filepath.Join(dir, f[0]))
		if err := os.WriteFile(files[len(files)-1], []byte(f[1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := Reading{Format: formats.Auto, Options: audit.Options{Map: map[string]string{"client": "@file"}}}
	j, err := r.JudgeFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var clients []string
	for c := range int32(2) {
		clients = append(clients, filepath.Base(j.source.Client(j.History.Keys[0], c+1)))
	}
	if j.Verdict.Outcome != checker.Violated || strings.Join(clients, " ") != "a.csv b.csv" {
		t.Errorf("%s, %v", j.Verdict.Outcome, clients)
	}
	if _, err := r.Judge(files[0], nil); err == nil || !strings.Contains(err.Error(), "--together") {
		t.Error(err)
	}
}

// TestTogether: the files of one log are judged as one, whether or not their
// last lines end, and a heading counts once.
func TestTogether(t *testing.T) {
	others := filepath.Join("..", "..", "audit", "testdata", "others")
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, c := range map[string]struct {
		files []string
		says  string
	}{
		"JSON lines": {[]string{filepath.Join(others, "k10-pod-a.jsonl"), filepath.Join(others, "k10-pod-b.jsonl")},
			"k10-pod-b.jsonl begins with line 3"},
		"CSV, no ends": {[]string{write("a.csv", "ts,pod,event\n1,a,acquired\n12,a,released"),
			write("b.csv", "ts,pod,event\n10,b,acquired\n14,b,released")}, "b.csv begins with line 4"},
	} {
		j, err := Reading{Format: formats.Auto}.JudgeFiles(c.files)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if left := strings.Join(j.source.Left, "\n"); j.Verdict.Outcome != checker.Violated || !strings.Contains(left, c.says) {
			t.Errorf("%s: %s\n%s", name, j.Verdict.Outcome, left)
		}
		j.Close()
	}
}

// TestTogetherTorn: a record in which a file ends refuses nothing, whichever
// file that is, and is told with its line.
func TestTogetherTorn(t *testing.T) {
	const whole = "ts,pod,lock,event\n1,a,k,acquired\n2,a,k,released\n3,b,k,acquired\n4,b,k,released\n"
	for name, cut := range map[string]string{"in its last word": "5,c,k,acq", "in a field": "5,c", "in quotes": `5,c,"k`} {
		for first, line := range []int{10, 6} {
			dir := t.TempDir()
			var files []string
			for i, text := range []string{whole, "ts,pod,lock,event\n6,c,k,acquired\n7,c,k,released\n8,d,k,acquired\n9,d,k,released\n"} {
				if i != first {
					text += cut
				}
				files = append(files, filepath.Join(dir, string(rune('a'+i))+".csv"))
				if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			j, err := Reading{Format: formats.Auto}.JudgeFiles(files)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if why := strings.Join(j.Verdict.Reasons, "\n"); j.Verdict.Outcome != checker.Inconclusive ||
				!strings.Contains(why, fmt.Sprintf("Line %d: it is left out, and seems to tell of a lock", line)) {
				t.Errorf("%s, line %d: %s\n%s", name, line, j.Verdict.Outcome, why)
			}
			j.Close()
		}
	}
}
