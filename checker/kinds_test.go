package checker

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/oracle"
)

// TestKindsOfLocks judges the hand-written histories of each kind of lock:
// testdata/kinds/KIND/VERDICT.jsonl, or VERDICT-WHY.jsonl. Where holds alone
// decide, Porcupine says the same.
func TestKindsOfLocks(t *testing.T) {
	files, err := filepath.Glob("testdata/kinds/*/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no histories", err)
	}
	seen := map[string]int{}
	for _, file := range files {
		kind := filepath.Base(filepath.Dir(file))
		want, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".jsonl"), "-")
		seen[kind+" "+want]++
		t.Run(kind+"/"+filepath.Base(file), func(t *testing.T) {
			h, err := history.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			v := Judge(h, Options{})
			if v.Outcome.String() != want {
				t.Errorf("%v, want %s: %+v", v.Outcome, want, v.Reasons)
			}
			for _, r := range v.Properties {
				for _, found := range r.Violations {
					t.Log(found.Text)
				}
			}
			lock := oracle.LockOf(&h.Header)
			legal := lock.Linearizable(oracle.Holds(h)[0], oracleLimit) == porcupine.Ok
			if want == "pass" && !legal || want == "violated" && legal && kindOf(v, MutualExclusion) != KindGrantedWhileValid {
				t.Errorf("Porcupine finds these legal: %v", legal)
			}
			if looksBack(t, h) {
				t.Error("a record was used again too early")
			}
		})
	}
	for _, kind := range []string{"reader-writer", "reentrant", "semaphore", "fenced", "fenced-reader-writer"} {
		for _, verdict := range []string{"pass", "violated", "inconclusive"} {
			if seen[kind+" "+verdict] == 0 {
				t.Errorf("no history of a %s lock that is judged %s", kind, verdict)
			}
		}
	}
}
