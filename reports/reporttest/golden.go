package reporttest

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func WantInOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, p := range parts {
		at := strings.Index(rest, p)
		if at < 0 {
			t.Fatalf("%q is missing, or comes too early, in\n%s", p, text)
		}
		rest = rest[at+len(p):]
	}
}

var Update = flag.Bool("update", false, "write the golden files anew")

// Text renders into a string.
func Text(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Golden compares a text with the file of that name in testdata.
func Golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *Update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s differs from what was rendered; if the change is meant, run go test ./reports/... -update and look at the pages\n%s", file, firstDifference(text, string(want)))
	}
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			old := ""
			if i < len(b) {
				old = b[i]
			}
			return fmt.Sprintf("line %d\n got: %s\nwant: %s", i+1, a[i], old)
		}
	}
	return "the golden file is longer"
}
