package audit

import (
	"strings"
	"testing"
	"time"
)

func TestLines(t *testing.T) {
	const at, later = `"time":"2026-11-21T11:00:00.5Z"`, `"end":"2026-11-21T11:00:00.6Z"`
	began := time.Date(2026, 11, 21, 11, 0, 0, 5e8, time.UTC).UnixNano()
	for _, c := range []struct{ name, text, want, wrong string }{
		{name: "plain output", text: "listening on :80"},
		{name: "JSON of another log", text: `{"level":"info","message":"ready"}`},
		{name: "an op", text: `{` + at + `,` + later + `,"event":"charge","order":17,"token":3}`, want: "write 17 3 ok app 100ms"},
		{name: "a worker", text: `{` + at + `,` + later +
			`,"event":"unlock","order":17,"client":"w1","result":"not_owner"}`, want: "release 17 0 failed app/w1 100ms"},
		{name: "its own name", text: `{` + at + `,` + later + `,"event":"release","order":17,"client":"app"}`,
			want: "release 17 0 ok app 100ms"},
		{name: "an acquire with an end was granted", text: `{` + at + `,` + later + `,"event":"lock","order":17}`,
			want: "grant 17 0 ok app 100ms"},
		{name: "one without was asked", text: `{` + at + `,"event":"lock","order":17}`, want: "request 17 0 ok app 0s"},
		{name: "a word that is left out", text: `{` + at + `,"event":"hello"}`},
		{name: "an unknown word", text: `{` + at + `,"event":"sing"}`, wrong: `nobody knows what the event "sing" means`},
		{name: "no time", text: `{"event":"lock"}`, wrong: "no time"},
		{name: "an instant", text: `{` + at + `,"event":"charge","order":17}`, wrong: "not when it began and when it ended"},
		{name: "upside down", text: `{"time":"2026-11-21T11:00:00.7Z",` + later + `,"event":"charge"}`, wrong: "ends before it begins"},
		{name: "cut", text: `{` + at + `,"event":`, wrong: "no JSON object"},
		{name: "an odd token", text: `{` + at + `,` + later + `,"event":"charge","token":"x"}`, wrong: "whole number"},
		{name: "an odd result", text: `{` + at + `,` + later + `,"event":"charge","result":"perhaps"}`, wrong: `result "perhaps"`},
		{name: "shared", text: `{` + at + `,"event":"rlock"}`, wrong: "reader-writer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := NewLines("app's output", "app",
				Options{Map: map[string]string{"key": "order"}, Events: map[string][]string{"write": {"charge"}, "ignore": {"hello"}}})
			if err != nil {
				t.Fatal(err)
			}
			l, ok, err := r.Read([]byte(c.text))
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) || !strings.HasPrefix(err.Error(), "app's output:1:1") {
					t.Errorf("error %v, want %q", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				if c.want != "" {
					t.Errorf("no line, want %s", c.want)
				}
				return
			}
			got := strings.Join([]string{l.Means, l.Key, string('0' + rune(l.Token)), l.Result, l.Client,
				time.Duration(l.Ended - l.Began).String()}, " ")
			if got != c.want || l.Began != began {
				t.Errorf("%s at %d, want %s", got, l.Began, c.want)
			}
		})
	}
}

// A grant that was logged when it was known may have been given earlier, unless its
// request is there too; one that was asked for before the log began is left out.
func TestLinesOfGrants(t *testing.T) {
	r, err := NewLines("log", "app", Options{})
	if err != nil {
		t.Fatal(err)
	}
	const granted = `{"time":"2026-11-21T11:00:01Z","event":"granted","key":"k"}`
	if _, ok, err := r.Read([]byte(granted)); ok || err != nil || r.Unasked != 1 {
		t.Errorf("the first: %v, %v, %d unasked", ok, err, r.Unasked)
	}
	if _, _, err := r.Read([]byte(granted)); err == nil || !strings.Contains(err.Error(), "or a request before it") {
		t.Errorf("without a request: %v", err)
	}
	if _, ok, err := r.Read([]byte(`{"time":"2026-11-21T11:00:02Z","event":"waiting","key":"k"}`)); !ok || err != nil {
		t.Errorf("a request: %v, %v", ok, err)
	}
	if l, ok, err := r.Read([]byte(granted)); !ok || err != nil || !l.Granted() {
		t.Errorf("after a request: %v, %v, %+v", ok, err, l)
	}
}

// What Append writes is read by Read as what it was.
func TestLinesAreWrittenAsTheyAreRead(t *testing.T) {
	in := Line{Began: 1_700_000_000_123_456_789, Ended: 1_700_000_001_000_000_000, Client: "app/w", Key: "order:1",
		Means: "not-held", Result: "failed"}
	text, err := in.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewLines("log", "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, ok, err := r.Read(text)
	in.Client = "/" + in.Client
	if !ok || err != nil || out != in {
		t.Errorf("%+v, %v, %v; want %+v", out, ok, err, in)
	}
}
