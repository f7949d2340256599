package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

const jepsens = "../../checker/testdata/jepsen/"

// TestGoldenFiles: every file of every format is read as what it is, and judged
// as its name or its folder says.
func TestGoldenFiles(t *testing.T) {
	words := audit.Options{Map: map[string]string{"time": "when", "event": "what", "client": "who"},
		Events: map[string][]string{"request": {"LOCK_REQ"}, "grant": {"LOCKED"}, "release": {"UNLOCKED"}, "ignore": {"PING"}}}
	pod := audit.Options{Map: map[string]string{"client": "worker.pod"}}
	examples := audit.Options{Map: map[string]string{"time": "ts", "client": "pod", "event": "action", "key": "resource", "token": "fence"}}
	for _, c := range []struct {
		glob    string
		format  formats.Format
		options audit.Options
		want    checker.Outcome
		files   int
	}{
		{jepsens + "*.edn", formats.Jepsen, audit.Options{}, checker.Pass, 3},
		{jepsens + "violated/*.edn", formats.Jepsen, audit.Options{}, checker.Violated, 5},
		{jepsens + "inconclusive/*.edn", formats.Jepsen, audit.Options{}, checker.Inconclusive, 2},
		{jepsens + "reentrant/pass.edn", formats.Jepsen, audit.Options{Reentrant: true}, checker.Pass, 1},
		{jepsens + "reentrant/violated.edn", formats.Jepsen, audit.Options{Reentrant: true}, checker.Violated, 1},
		{jepsens + "reentrant/inconclusive.edn", formats.Jepsen, audit.Options{Reentrant: true}, checker.Inconclusive, 1},
		{jepsens + "permits-2/pass.edn", formats.Jepsen, audit.Options{Permits: 2}, checker.Pass, 1},
		{jepsens + "permits-2/violated.edn", formats.Jepsen, audit.Options{Permits: 2}, checker.Violated, 1},
		{jepsens + "permits-2/inconclusive.edn", formats.Jepsen, audit.Options{Permits: 2}, checker.Inconclusive, 1},
		{"testdata/jepsen/pass-*", formats.Jepsen, audit.Options{}, checker.Pass, 1},
		{"testdata/jepsen/violated-*", formats.Jepsen, audit.Options{}, checker.Violated, 1},
		{"testdata/porcupine/*pass.json", formats.Porcupine, audit.Options{}, checker.Pass, 2},
		{"testdata/porcupine/*violated.json", formats.Porcupine, audit.Options{}, checker.Violated, 2},
		{"testdata/porcupine/inconclusive.json", formats.Porcupine, audit.Options{}, checker.Inconclusive, 1},
		{"testdata/csv/pass.csv", formats.CSV, audit.Options{}, checker.Pass, 1},
		{"testdata/csv/violated.csv", formats.CSV, audit.Options{}, checker.Violated, 1},
		{"testdata/csv/inconclusive.csv", formats.CSV, audit.Options{}, checker.Inconclusive, 1},
		{"testdata/csv/words.csv", formats.CSV, words, checker.Pass, 1},
		{"testdata/json/pass.jsonl", formats.JSON, pod, checker.Pass, 1},
		{"testdata/json/violated.jsonl", formats.JSON, pod, checker.Violated, 1},
		{"testdata/json/inconclusive.jsonl", formats.JSON, pod, checker.Inconclusive, 1},
		{"../../examples/audit.csv", formats.CSV, examples, checker.Violated, 1},
		{"../../examples/audit-clean.csv", formats.CSV, examples, checker.Pass, 1},
		{"../../examples/audit.jsonl", formats.JSON, examples, checker.Violated, 1},
		{"../../examples/audit-clean.jsonl", formats.JSON, examples, checker.Pass, 1},
	} {
		files, err := filepath.Glob(c.glob)
		if err != nil || len(files) != c.files {
			t.Fatalf("%s: %d files, want %d (%v)", c.glob, len(files), c.files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := formats.Detect(text, "x", len(c.options.Map) > 0); got != c.format || err != nil {
				t.Errorf("%s looks like %s, %v", file, got, err)
			}
			v, _ := judgeText(t, string(text), file, c.format, c.options)
			if v.Outcome != c.want {
				t.Errorf("%s: %s, want %s: %+v", file, v.Outcome, c.want, v)
			}
			for _, reason := range v.Reasons {
				if strings.Contains(reason, "make no sense") || strings.Contains(reason, "under grants that were over") {
					t.Errorf("%s: the translation is wrong: %s", file, reason)
				}
			}
		}
	}
}

// TestLeasesAndClocks: the same log under other assumptions.
func TestLeasesAndClocks(t *testing.T) {
	const log = `ts,pod,action,lock,fence
100.000,a,acquired,k,1
100.500,a,write,k,1
101.000,b,acquired,k,2
101.500,b,write,k,2
101.600,b,released,k,2
`
	ttl := func(d time.Duration) audit.Options { return audit.Options{Validity: &audit.Validity{TTL: d}} }
	for name, c := range map[string]struct {
		options audit.Options
		want    checker.Outcome
		why     string
	}{
		"nobody knows when a's hold ended": {audit.Options{}, checker.Inconclusive, "was never given up in the history"},
		"a's lease was over":               {ttl(800 * time.Millisecond), checker.Pass, ""},
		"a's lease ran on":                 {ttl(1500 * time.Millisecond), checker.Violated, ""},
		"until it was released":            {audit.Options{Validity: &audit.Validity{Released: true}}, checker.Violated, ""},
		"a's lease was over, but clocks": {audit.Options{Validity: ttl(800 * time.Millisecond).Validity,
			ClockError: 150 * time.Millisecond}, checker.Inconclusive, "the clocks, which err by up to 150ms, can't tell"},
		"a's lease ran on, whatever clocks": {audit.Options{Validity: ttl(1500 * time.Millisecond).Validity,
			ClockError: 150 * time.Millisecond}, checker.Violated, ""},
	} {
		v, _ := judgeText(t, log, "a.csv", formats.CSV, c.options)
		p := v.Property(checker.MutualExclusion)
		if p.Outcome != c.want || !strings.Contains(p.Why, c.why) {
			t.Errorf("%s: %s (%s), want %s (%s)", name, p.Outcome, p.Why, c.want, c.why)
		}
	}
}

// TestOldTokens: did a write go in with an old token?
func TestOldTokens(t *testing.T) {
	const head = "ts,pod,action,lock,fence\n"
	for name, c := range map[string]struct {
		log                         string
		options                     audit.Options
		writes, holds, order, whole checker.Outcome
	}{
		"a log of writes only, in order": {"1,a,write,k,5\n2,a,write,k,5\n3,b,write,k,6\n", audit.Options{},
			checker.Pass, checker.NotJudged, checker.NotJudged, checker.Pass},
		"a log of writes only, with an old token": {"1,a,write,k,5\n3,b,write,k,6\n4,a,write,k,5\n", audit.Options{},
			checker.Violated, checker.NotJudged, checker.NotJudged, checker.Violated},
		"the same, within the clocks' error": {"1,a,write,k,5\n3,b,write,k,6\n4,a,write,k,5\n", audit.Options{ClockError: time.Second},
			checker.Inconclusive, checker.NotJudged, checker.NotJudged, checker.Inconclusive},
		"the log begins in the middle of a hold": {"1,a,write,k,5\n2,a,released,k,5\n3,b,acquired,k,6\n4,b,write,k,6\n5,b,released,k,6\n", audit.Options{},
			checker.Pass, checker.Pass, checker.Pass, checker.Pass},
		"an old token that the log does not know": {"1,b,acquired,k,6\n2,b,write,k,6\n3,b,released,k,6\n4,a,write,k,5\n", audit.Options{},
			// by the tokens a was granted the key before b, and held on
			checker.Violated, checker.Violated, checker.NotJudged, checker.Violated},
		"a late write of an owner that was granted the lock again": {"1,a,acquired,k,5\n2,b,acquired,k,6\n3,b,write,k,6\n4,b,released,k,6\n5,a,acquired,k,7\n6,a,write,k,5\n7,a,write,k,7\n8,a,released,k,7\n",
			audit.Options{}, checker.Violated, checker.Inconclusive, checker.Pass, checker.Violated},
		"a write under no grant": {"1,a,acquired,k,\n2,a,write,k,\n3,a,released,k,\n4,b,acquired,k,\n5,b,released,k,\n6,b,write,k,\n", audit.Options{},
			checker.Inconclusive, checker.Pass, checker.NotJudged, checker.Inconclusive},
		"tokens that only the writes tell": {"1,a,acquired,k,\n2,a,write,k,5\n3,a,released,k,\n4,b,acquired,k,\n5,b,write,k,6\n6,b,released,k,\n7,a,write,k,5\n", audit.Options{},
			checker.Violated, checker.Violated, checker.Pass, checker.Violated},
		"tokens that do not order": {"1,a,acquired,k,7\n2,a,write,k,7\n3,a,released,k,7\n4,b,acquired,k,6\n5,b,write,k,6\n6,b,released,k,6\n", audit.Options{Tokens: "version"},
			checker.Pass, checker.Pass, checker.NotJudged, checker.Pass},
		"whole seconds accuse nobody": {"1,a,acquired,k,5\n2,a,write,k,5\n2,a,released,k,5\n2,b,acquired,k,6\n2,b,write,k,6\n2,b,released,k,6\n", audit.Options{},
			// what came first within a second is not told
			checker.Inconclusive, checker.Inconclusive, checker.Pass, checker.Inconclusive},
		"whole seconds apart": {"1,a,acquired,k,5\n2,a,write,k,5\n2,a,released,k,5\n3,b,acquired,k,6\n3,b,write,k,6\n4,b,released,k,6\n", audit.Options{},
			checker.Pass, checker.Pass, checker.Pass, checker.Pass},
	} {
		v, _ := judgeText(t, head+c.log, "a.csv", formats.CSV, c.options)
		for property, want := range map[string]checker.Outcome{checker.UnfencedWrite: c.writes,
			checker.MutualExclusion: c.holds, checker.TokenOrder: c.order} {
			if p := v.Property(property); p.Outcome != want {
				t.Errorf("%s: %s is %s (%s), want %s", name, property, p.Outcome, p.Why, want)
			}
		}
		if v.Outcome != c.whole {
			t.Errorf("%s: %s, want %s: %q", name, v.Outcome, c.whole, v.Reasons)
		}
	}
}

// TestJepsensValues: what a bare :value is.
func TestJepsensValues(t *testing.T) {
	const two = `{:type :invoke, :f :acquire, :process 0, :value %[1]s}
{:type :ok, :f :acquire, :process 0, :value %[2]s}
{:type :invoke, :f :acquire, :process 1, :value %[3]s}
{:type :ok, :f :acquire, :process 1, :value %[4]s}
{:type :invoke, :f :release, :process 0, :value %[1]s}
{:type :ok, :f :release, :process 0, :value %[1]s}
`
	for name, c := range map[string]struct {
		values [4]any
		keys   string
		tokens bool
		want   checker.Outcome
	}{
		"nothing":              {[4]any{"nil", "nil", "nil", "nil"}, "[lock]", false, checker.Violated},
		"names of locks":       {[4]any{`"a"`, `"a"`, ":b", ":b"}, "[lock a b]", false, checker.NotJudged},
		"numbers of locks":     {[4]any{"3", "3", "4", "4"}, "[lock 3 4]", false, checker.NotJudged},
		"fences":               {[4]any{"nil", "33", "nil", "34"}, "[lock]", true, checker.Violated},
		"a key, and its fence": {[4]any{`["a" nil]`, `["a" 33]`, `["b" nil]`, `["b" 7]`}, "[a b]", true, checker.NotJudged},
		"a map": {[4]any{`{:lock "a"}`, `{:lock "a", :token 5}`, `{:lock "b"}`, `{:lock "b", :token 5}`},
			"[a b]", true, checker.NotJudged},
	} {
		v, s := judgeText(t, fmt.Sprintf(two, c.values[0], c.values[1], c.values[2], c.values[3]), "a.edn", formats.Jepsen, audit.Options{})
		if got := fmt.Sprint(s.Keys); got != c.keys {
			t.Errorf("%s: keys %s, want %s", name, got, c.keys)
		}
		if got := s.Header.Claims.Token == "fencing"; got != c.tokens {
			t.Errorf("%s: tokens %v", name, got)
		}
		if got := v.Property(checker.MutualExclusion); c.want == checker.Violated != (got.Outcome == checker.Violated) {
			t.Errorf("%s: %s", name, got.Outcome)
		}
	}
}
