package audit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/audit"
	"github.com/lockchaos/lockchaos/checker"
)

const hold = "lock.hold"

// records are traces and samples of who holds a lock, in testdata/records, with the answer that is right.
var records = []struct {
	file    string
	format  audit.Format
	options audit.Options
	want    checker.Outcome
	why     string // that the violations, or else the reasons, must say
}{
	{"otlp-pass.jsonl", audit.Spans, audit.Options{Span: hold}, checker.Pass, ""},
	{"otlp-violated.jsonl", audit.Spans, audit.Options{Span: hold}, checker.Violated, "a/1 and b/7 both held inv from 09:00:00.090 to 09:00:00.100"},
	{"otlp-inconclusive.jsonl", audit.Spans, audit.Options{Span: hold}, checker.Inconclusive, "1 hold was never given up"},
	{"otlp-pass.json", audit.Spans, audit.Options{Span: hold}, checker.Pass, ""},
	{"otlp-violated.json", audit.Spans, audit.Options{Span: hold, Map: map[string]string{"client": "k8s.pod.name", "key": "lock.key"}}, checker.Violated, "a and b both held inv"},
	{"jaeger-pass.json", audit.Spans, audit.Options{Span: hold}, checker.Pass, ""},
	{"jaeger-violated.json", audit.Spans, audit.Options{Span: hold}, checker.Violated, "a/1 and b/7 both held inv"},
	{"jaeger-inconclusive.json", audit.Spans, audit.Options{Span: hold}, checker.Inconclusive, "a/1 was granted inv again"},
	{"zipkin-pass.json", audit.Spans, audit.Options{Span: hold}, checker.Pass, ""},
	{"zipkin-violated.json", audit.Spans, audit.Options{Span: hold}, checker.Violated, "10.0.0.1/1 and 10.0.0.2/7 both held inv"},
	{"zipkin-inconclusive.json", audit.Spans, audit.Options{Span: hold}, checker.Inconclusive, "1 hold was never given up"},
}

// TestRecords: each trace, and each file of samples, is known by its first bytes, and gets the answer that is right.
func TestRecords(t *testing.T) {
	for _, c := range records {
		text, err := os.ReadFile(filepath.Join("testdata", "records", c.file))
		if err != nil {
			t.Fatal(err)
		}
		if format, err := audit.Detect(text, c.file, len(c.options.Map) > 0); format != c.format {
			t.Errorf("%s is taken for %q (%v)", c.file, format, err)
		}
		s, err := audit.Read(strings.NewReader(string(text)), c.file, c.format, c.options)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		v := judge(t, s)
		if text := said(s, v); v.Outcome != c.want || !strings.Contains(text, c.why) {
			t.Errorf("%s: %s, want %s with %q:\n%s", c.file, v.Outcome, c.want, c.why, text)
		}
		s.Close()
	}
}

// TestSpansAsked: what a trace leaves open is asked for, and what is wrong in it has its line.
func TestSpansAsked(t *testing.T) {
	text, err := os.ReadFile("testdata/records/otlp-pass.json")
	if err != nil {
		t.Fatal(err)
	}
	trace := string(text)
	for name, c := range map[string]struct {
		text string
		span string
		want string
	}{
		"no name":            {trace, "", "t.json: say with --span which spans are holds of a lock; the names are: GET /, lock.hold"},
		"another name":       {trace, "hold", `no span is called "hold"; the names are: GET /, lock.hold`},
		"a time that is odd": {strings.Replace(trace, `"endTimeUnixNano": "1764147600100000000"`, `"endTimeUnixNano": "1764147500100000000"`, 1), hold, "t.json:26: it ends before it begins"},
		"no client":          {strings.ReplaceAll(trace, "k8s.pod.name", "pod"), hold, ""},
		"no JSON":            {strings.Replace(trace, `"spans"`, `spans`, 1), hold, "t.json:25:"},
		"no trace":           {`{"resourceSpans":[]}`, hold, "it is no trace"},
	} {
		s, err := audit.Read(strings.NewReader(c.text), "t.json", audit.Spans, audit.Options{Span: c.span})
		if err == nil {
			s.Close()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestCutTrace: a trace that was cut is judged by what it shows, and does not pass.
func TestCutTrace(t *testing.T) {
	text, err := os.ReadFile("testdata/records/otlp-pass.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	v, s := judgeText(t, string(text[:len(text)-30]), "t.json", audit.Spans, audit.Options{Span: hold})
	if v.Outcome != checker.Inconclusive || !strings.Contains(said(s, v), "Line 4: the file ends within this record") {
		t.Errorf("%s\n%s", v.Outcome, said(s, v))
	}
}

func FuzzSpans(f *testing.F) {
	seed(f, "testdata/records/otlp-*", "testdata/records/jaeger-*", "testdata/records/zipkin-*")
	f.Fuzz(func(t *testing.T, data []byte) { tryWith(t, data, audit.Spans, audit.Options{Span: hold}) })
}
