package audit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// TestHalfLines: half a line refuses no file. One in JSON may have told of a
// lock, so the answer is no pass, and has its line.
func TestHalfLines(t *testing.T) {
	const first, rest = `{"ts":1,"pod":"a","event":"acquired","lock":"k"}` + "\n", `{"ts":3,"pod":"a","event":"released","lock":"k"}
{"ts":4,"pod":"b","event":"acquired","lock":"k"}
{"ts":5,"pod":"b","event":"released","lock":"k"}
`
	for name, log := range map[string]string{
		"in a string":             first + `{"ts":2,"pod":"b","event":"acqui` + "\n" + rest,
		"in a name":               first + `{"ts":2,"pod":"b","eve` + "\r\n" + rest,
		"behind a value":          first + `{"ts":2,"pod":"b"` + "\n" + rest,
		"behind a comma":          first + `{"ts":2,"pod":"b",` + "\n\n" + rest,
		"a brace":                 first + "{\n" + rest,
		"two writers on one line": first + `{"ts":2,"pod":"b","ev{"ts":2.5,"pod":"c","event":"busy","lock":"k"}` + "\n" + rest,
		"at the end": strings.Replace(first+rest, `{"ts":3`, "{\"ts\":2}\n{\"ts\":3", 1) +
			`{"ts":6,"pod":"a","event":"acq`,
		"of several lines, at the end": first + rest + "{\n \"ts\": 6,\n \"pod\": \"a\"",
	} {
		v, s := judgeText(t, log, "log", formats.JSON, audit.Options{})
		line := 2
		if strings.HasSuffix(name, "end") {
			line = len(strings.Split(first+rest, "\n"))
			if name == "at the end" {
				line++
			}
		}
		if text := said(s, v); v.Outcome != checker.Inconclusive ||
			!strings.Contains(text, fmt.Sprintf("Line %d: it is left out, and seems to tell of a lock", line)) {
			t.Errorf("%s: %s\n%s", name, v.Outcome, text)
		}
		s.Close()
	}
	pretty := strings.NewReplacer(",", ",\n  ", "{", "{\n", "}", "\n}").Replace(first + rest)
	if v, s := judgeText(t, pretty, "log", formats.JSON, audit.Options{}); v.Outcome != checker.Pass {
		t.Errorf("objects of several lines: %s\n%s", v.Outcome, said(s, v))
	}
	for name, log := range map[string]string{"JSON": `{"ts":0,"po` + "\n" + first + rest,
		"text": `{"ts":0,"po` + "\n1 a acquired k\n2 a released k\n3 b acquired k\n4 b released k\n"} {
		format, err := formats.Detect([]byte(log), "log", false)
		if name == "JSON" && format != formats.JSON || name == "text" && !errors.Is(err, formats.ErrUnknownFormat) {
			t.Errorf("%s that begins with half a line: %q, %v", name, format, err)
		}
		if name == "text" {
			v, s := judgeText(t, log, "log", formats.Text,
				audit.Options{Pattern: `^(?P<time>\S+) (?P<client>\S+) (?P<event>\S+) (?P<key>\S+)`})
			if v.Outcome != checker.Pass || !strings.Contains(strings.Join(s.Left, "\n"), "does not match: 1, the first is line 1") {
				t.Errorf("%s: %s, %s", v.Outcome, said(s, v), s.Left)
			}
		}
	}
	if _, err := audit.Read(strings.NewReader(first+`{"ts":2,,"pod":"b"}`+"\n"+rest), "log", formats.JSON,
		audit.Options{}); err == nil || !strings.Contains(err.Error(), "log:2:") {
		t.Errorf("a line that is no JSON: %v", err)
	}
	p, err := audit.NewParser("log", []byte(first), formats.JSON, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Line([]byte(`{"ts":2,"pod":"b","ev`), 2); err == nil || !strings.Contains(err.Error(), "half a line") {
		t.Errorf("a watch is told of half a line: %v", err)
	}
}
