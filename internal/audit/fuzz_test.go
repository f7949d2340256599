package audit_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// readings are the options that a fuzzed file is read with.
var readings = []audit.Options{
	{},
	{Reentrant: true},
	{Permits: 2},
	{Validity: &audit.Validity{}, ClockError: 3},
	{Validity: &audit.Validity{TTL: 40 * time.Millisecond}, ClockError: 5 * time.Millisecond},
	{Validity: &audit.Validity{Released: true}, ClockError: time.Second, Tokens: "version"},
}

// try reads a file in any case: it is refused with its place, or it becomes a
// history that lockchaos itself could have written, and that makes sense.
func try(t *testing.T, data []byte, format formats.Format) {
	tryWith(t, data, format, audit.Options{})
}

// tryWith is try for formats that need more options.
func tryWith(t *testing.T, data []byte, format formats.Format, more audit.Options) {
	for _, o := range readings {
		o.Span = more.Span
		s, err := audit.Read(bytes.NewReader(data), "fuzzed", format, o)
		if err != nil {
			var syntax *history.SyntaxError
			if errors.As(err, &syntax) && (syntax.Line < 1 || syntax.Column < 0 || syntax.Err == nil) {
				t.Fatalf("no place in the file: %#v", syntax)
			}
			if !strings.Contains(err.Error(), "fuzzed") {
				t.Fatalf("the error does not name the file: %v", err)
			}
			continue
		}
		var written bytes.Buffer
		head, err := history.MarshalHeader(s.Header, s.Keys)
		if err != nil {
			t.Fatal(err)
		}
		written.Write(head)
		j := checker.New(s.Header, s.Keys, checker.Options{})
		for {
			var e history.Event
			if s.Read(&e) != nil {
				break
			}
			line, err := history.AppendEvent(nil, s.Keys, &e)
			if err != nil {
				t.Fatal(err)
			}
			written.Write(line)
			j.Add(&e)
		}
		if _, err := history.ReadAll(&written, "written"); err != nil && utf8Keys(s.Keys) {
			t.Fatalf("%+v: %v", o, err)
		}
		v := j.Finish(false)
		for _, reason := range v.Reasons {
			if strings.Contains(reason, "make no sense") || strings.Contains(reason, "under grants that were over") ||
				strings.Contains(reason, "gap") {
				t.Fatalf("%+v: %s", o, reason)
			}
		}
		for _, p := range v.Properties {
			if strings.Contains(p.Why, "long over") {
				t.Fatalf("%+v: %s", o, p.Why)
			}
		}
	}
}

// utf8Keys reports whether the names of the keys stay what they are in JSON, and apart.
func utf8Keys(keys []string) bool {
	seen := map[string]bool{}
	for _, key := range keys {
		clean := strings.ToValidUTF8(key, "\ufffd")
		if clean != key || seen[clean] {
			return false
		}
		seen[clean] = true
	}
	return true
}

// seed adds files, and what makes them wrong, to a fuzz test.
func seed(f *testing.F, globs ...string) {
	for _, glob := range globs {
		files, err := filepath.Glob(glob)
		if err != nil || len(files) == 0 {
			f.Fatalf("no files for %s: %v", glob, err)
		}
		for _, file := range files {
			if s, err := os.Stat(file); err == nil && s.IsDir() {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
			f.Add(text[:len(text)/2])
		}
	}
}

func FuzzJepsen(f *testing.F) {
	f.Add([]byte(`[{"type":"invoke","f":"acquire","process":3,"time":3,"value":[1,{"token":1e9}]},{"type":"ok","f":"acquire","process":3,"time":5.5,"value":false}]`))
	seed(f, jepsens+"*.edn", jepsens+"*/*.edn", "testdata/jepsen/*")
	for _, text := range []string{"", "[", "{:type :ok}", `{:type :invoke :f :acquire :process 0 :value #{1 [2]}}`,
		`#_{} ({:type :invoke :f :lock :process 1 :time 5})`,
		"{:type :invoke, :f :acquire, :process 0, :time 9223372036854775807}", strings.Repeat("[", 300),
		`{:a "\` + `"}`, `\`, `{:x \{}`, "; only", "#tag"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { try(t, data, formats.Jepsen) })
}

func FuzzPorcupine(f *testing.F) {
	seed(f, "testdata/porcupine/*.json")
	f.Add([]byte(`{"ClientId":1,"Input":"lock","Call":3,"Return":9223372036854775807}`))
	f.Add([]byte(`[{"ClientId":1,"Input":{"op":"acquire","token":1e9},"Call":-1}]`))
	f.Fuzz(func(t *testing.T, data []byte) { try(t, data, formats.Porcupine) })
}

func FuzzCSV(f *testing.F) {
	seed(f, "testdata/csv/*.csv", "../../examples/*.csv")
	f.Add([]byte("ts,pod,action\n1,a,\"x"))
	f.Add([]byte("ts;pod;action;end;result\n1;a;write;0;ok\n"))
	f.Fuzz(func(t *testing.T, data []byte) { try(t, data, formats.CSV) })
}

func FuzzJSON(f *testing.F) {
	seed(f, "testdata/json/*.jsonl", "../../examples/*.jsonl")
	f.Add([]byte("[pod/a/b] {\"ts\":1,\"action\":\"granted\"}\nweb-1 | {}\na b {\"ts\":2}\n"))
	f.Add([]byte(`[{"ts":1,"pod":"a","action":"granted"},{"ts":"2026-01-01T00:00:00Z","pod":{},"action":[]}]`))
	f.Fuzz(func(t *testing.T, data []byte) { try(t, data, formats.JSON) })
}

// FuzzDetect: whatever a file begins with, it is taken for something, or refused.
func FuzzDetect(f *testing.F) {
	seed(f, jepsens+"*.edn", "testdata/*/*")
	f.Fuzz(func(t *testing.T, data []byte) {
		if format, err := formats.Detect(data, "x", false); err == nil && format == formats.Auto {
			t.Fatal(format)
		}
	})
}
