package formats

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// quickly returns a worker that has read nothing yet, and what takes its blocks apart.
func quickly[S splitter](t testing.TB, s S) (*words.Worker, S) {
	lines, err := words.NewReader(words.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return words.NewWorker(lines, "log"), s
}

// FuzzQuickJSON: what the scanner finds in an object is what is found in it once it is decoded.
func FuzzQuickJSON(f *testing.F) {
	for _, glob := range []string{"../testdata/json/*.jsonl", "../../../examples/*.jsonl"} {
		files, err := filepath.Glob(glob)
		if err != nil || len(files) == 0 {
			f.Fatalf("no files for %s: %v", glob, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				f.Add(strings.TrimSpace(line))
			}
		}
	}
	for _, text := range []string{`{"ts":1,"time":null,"a":{"b":1},"a":{}}`, `{"a":{"b":" x "},"a.b":"y"}`,
		`{"a":{"b":"x"},"a":"y"}`, `{"a":"y","a":{"b":"x"}}`, `{"a":{"b":"x"},"a":null}`,
		`{"ts":-0.5e+7,"pod":true,"x":"\u00e9\n"}`, `{"ts":01}`, `{"at":2,"ts":1,"pod":"\u00e9"}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, named := range [][words.FieldCount]string{{}, {words.FieldKey: "a.b"},
			{words.FieldClient: "pod", words.FieldKey: "pod", words.FieldToken: words.NoColumn, words.FieldEvent: "a.b.c"}} {
			w, s := quickly(t, newSplitJSON(jsonRows{Members: Members{Named: named}}))
			if !s.object(w, []byte(text)) {
				continue
			}
			fs := newValues(nil, "", false)
			var m map[string]any
			if err := decodeJSON(fs, value{text: []byte(text)}, &m); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			names, texts, err := (&Members{Named: named}).Texts(m)
			if err != nil || names != s.used {
				t.Fatalf("%q: %q, want %q, %v", text, s.used, names, err)
			}
			for f := range texts {
				if got := string(w.Fields[f]); got != texts[f] && utf8.Valid(w.Fields[f]) &&
					!bytes.ContainsRune(w.Fields[f], utf8.RuneError) {
					t.Fatalf("%q: %s is %q, want %q", text, words.Fields[f], got, texts[f])
				}
			}
		}
	})
}

// FuzzQuickCSV: what is found in a line is what encoding/csv finds in it.
func FuzzQuickCSV(f *testing.F) {
	for _, line := range []string{"a,b,c", `"a",b,"c"`, `"a""b",c,d`, `a,"b`, ` a ,"b ",`, `a,b"c,d`, `"",,""`, `a,b,c,d`, `"a"b,c,d`, ""} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsAny(line, "\r\n") || line == "" {
			return
		}
		w, s := quickly(t, newSplitCSV(&csvRows{csvReader: csvReader{comma: ',', columns: 3},
			names: []string{"a", "b", "c"}, index: [words.FieldCount]int{0, -1, 1, 2, 2, -1, -1}}))
		if !s.quick(w, []byte(line)) {
			return
		}
		in := csv.NewReader(strings.NewReader(line))
		in.FieldsPerRecord = 3
		record, err := in.Read()
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for f, i := range s.index {
			if i < 0 {
				continue
			}
			if _, column := in.FieldPos(i); string(w.Fields[f]) != strings.TrimSpace(record[i]) || s.starts[f] != column {
				t.Fatalf("%q: %q at %d, want %q at %d", line, w.Fields[f], s.starts[f], record[i], column)
			}
		}
	})
}
