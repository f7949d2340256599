package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/runs/exit"
)

// What check says of histories that were judged wrongly once: its exit status,
// what it says, and what it does not say.
var judgedWrongly = map[string]struct {
	status int
	says   []string
	not    string
}{
	"dup-write.jsonl": {exit.Violated, []string{"although it had taken this request before",
		"version 41 of client 2 (token 33), which is lost", "lost-update       violated",
		"late-request"}, "unexplained"},
	"g-inv.csv":            {exit.Usage, []string{"g-inv.csv:2:", "no text in UTF-8"}, "pass"},
	"g-inv.jsonl":          {exit.Usage, []string{"g-inv.jsonl:1:", "no text in UTF-8"}, "pass"},
	"g-tok0.csv":           {exit.Violated, []string{"token 0, smaller than token 1"}, "is not told"},
	"token-zero.csv":       {exit.Violated, []string{"token 0, smaller than token 7"}, "is not told"},
	"token-zero-write.csv": {exit.Violated, []string{"token 0, smaller than token 7"}, "is not told"},
	"h-wholesec.csv": {exit.Inconclusive,
		[]string{"mutual-exclusion  inconclusive", "the second and nothing finer"}, "were exclusive"},
	"session-since-the-grant.jsonl": {exit.Inconclusive, []string{"mutual-exclusion  pass"}, "granted-while-valid"},
	"session-pause-below-ttl.jsonl": {exit.Inconclusive, []string{"mutual-exclusion  pass"}, "although the lock had promised"},
	"valid-for-minint.jsonl":        {exit.Usage, []string{"valid-for-minint.jsonl:3: valid_for"}, "pass"},
	"valid-for-minint-ctl.jsonl":    {exit.Violated, []string{"dead-grant        violated"}, "both held"},
	"w-dh.jsonl":                    {exit.Violated, []string{"mutual-exclusion  violated", "both held"}, "make no sense"},
	"w-dh-endbeyond.jsonl": {exit.Violated,
		[]string{"mutual-exclusion  violated", "both held", "make no sense"}, "mutual-exclusion  pass"},
	"w-gwv.jsonl":             {exit.Violated, []string{"although the lock had promised"}, "mutual-exclusion  pass"},
	"w-gwv-badvalidity.jsonl": {exit.Usage, []string{"w-gwv-badvalidity.jsonl:1:263: claims.validity", `"libary"`}, "pass"},
	"w-tok.jsonl":             {exit.Violated, []string{"token-order       violated"}, "token-order       pass"},
	"w-tok-badclaim.jsonl":    {exit.Usage, []string{"w-tok-badclaim.jsonl:1:283: claims.token", `"fence"`}, "pass"},
}

func TestCases(t *testing.T) {
	const dir = "../../checker/testdata/cases"
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		want, listed := judgedWrongly[f.Name()]
		if !listed {
			if f.Name() != "README.md" {
				t.Errorf("nothing says what is right for %s", f.Name())
			}
			continue
		}
		var out bytes.Buffer
		if code := execute(t.Context(), []string{"check", filepath.Join(dir, f.Name())}, &out, &out); code != want.status {
			t.Errorf("%s: status %d, want %d", f.Name(), code, want.status)
		}
		for _, text := range want.says {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s: nothing says %q:\n%s", f.Name(), text, &out)
			}
		}
		if strings.Contains(out.String(), want.not) {
			t.Errorf("%s says %q:\n%s", f.Name(), want.not, &out)
		}
	}
	if len(files) != len(judgedWrongly)+1 {
		t.Errorf("%d files, %d of them are judged", len(files), len(judgedWrongly))
	}
}
