package history

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// TestManyKeys: a header line names all keys, and may be longer than other
// lines. What can't be a header, and one that has no end, is refused.
func TestManyKeys(t *testing.T) {
	keys := make([]string, 200_000)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%d", i)
	}
	line, err := MarshalHeader(testHeader(), keys)
	if err != nil {
		t.Fatal(err)
	}
	if len(line) <= maxLine {
		t.Fatalf("%d bytes are too few to show anything", len(line))
	}
	r, err := NewReader(bytes.NewReader(line), "keys.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Keys, keys) {
		t.Fatalf("%d keys are not those that were written", len(r.Keys))
	}
	for begin, longest := range map[string]int{"[": maxLine, "{": maxHeader} {
		endless := io.MultiReader(strings.NewReader(begin), bytes.NewReader(make([]byte, longest+readAhead)))
		if _, err := NewReader(endless, "endless"); err == nil || !strings.Contains(err.Error(), longerThan(longest).Error()) {
			t.Errorf("a first line without end that begins with %s: %v", begin, err)
		}
	}
}
