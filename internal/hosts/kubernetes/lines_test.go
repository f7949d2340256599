package kubernetes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/agent"
)

func TestChunkStaysInItsFolder(t *testing.T) {
	outside := t.TempDir()
	dir := filepath.Join(outside, "scenario")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "..", "../x", "a/../../x", "/etc/x", filepath.Join(outside, "x"), "./../x"} {
		if err := (chunk{File: name, Data: []byte("x")}).write(dir); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	if err := (chunk{File: "negative", At: -1, Data: []byte("x")}).write(dir); err == nil {
		t.Error("a chunk before the beginning was written")
	}
	if found, err := os.ReadDir(outside); err != nil || len(found) != 1 {
		t.Errorf("outside of the folder is %v, %v", found, err)
	}
	if err := (chunk{File: "a/b/c", Data: []byte("x")}).write(dir); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a/b/c")); err != nil || string(text) != "x" {
		t.Errorf("a/b/c holds %q, %v", text, err)
	}
}

func TestChunkAtZeroBeginsTheFileAnew(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []chunk{{"f", 0, []byte("a long text")}, {"f", 0, []byte("short")}, {"f", 5, []byte("er")}} {
		if err := c.write(dir); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(text) != "shorter" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}

// output is what an agent may print: lines of its own among those of files.
func output(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	to := &agent.Lines{Out: &out}
	fmt.Fprintln(to, `{"progress":1}`)
	for _, c := range []chunk{{"a", 0, []byte("one\ntwo")}, {"b/c", 0, []byte{0, 255, '\n'}}, {"a", 7, []byte("three")}} {
		if err := to.Say(c); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(to, "")
	}
	fmt.Fprintln(to, `plain text with {"file": in it`)
	out.WriteString("the last, without an end")
	return out.Bytes()
}

// TestInboxTakesLinesSplitAnywhere writes the same output in two parts, split
// at each place, and in many small ones.
func TestInboxTakesLinesSplitAnywhere(t *testing.T) {
	all := output(t)
	random := rand.New(rand.NewPCG(1, 2))
	try := func(parts ...[]byte) {
		t.Helper()
		var out bytes.Buffer
		in := &inbox{dir: t.TempDir(), out: &out}
		for _, p := range parts {
			if n, err := in.Write(p); err != nil || n != len(p) {
				t.Fatalf("write %q: %d, %v", p, n, err)
			}
		}
		if err := in.flush(); err != nil {
			t.Fatal(err)
		}
		if want := "{\"progress\":1}\n\n\n\nplain text with {\"file\": in it\nthe last, without an end"; out.String() != want {
			t.Errorf("it passed on %q, not %q", out.String(), want)
		}
		for name, want := range map[string]string{"a": "one\ntwothree", "b/c": "\x00\xff\n"} {
			if got, err := os.ReadFile(filepath.Join(in.dir, name)); err != nil || string(got) != want {
				t.Errorf("%s holds %q, %v, not %q", name, got, err, want)
			}
		}
	}
	for i := range len(all) + 1 {
		try(bytes.Clone(all[:i]), bytes.Clone(all[i:]))
	}
	for range 50 {
		var parts [][]byte
		for rest := all; len(rest) > 0; {
			n := 1 + random.IntN(min(9, len(rest)))
			parts, rest = append(parts, bytes.Clone(rest[:n])), rest[n:]
		}
		try(parts...)
	}
}

func TestInboxRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"too long a line":                    strings.Repeat("x", longestLine+1),
		"a file outside of the folder":       `{"file":"../x","at":0,"data":"eA=="}` + "\n",
		"a file that can't be read":          `{"file":"x","at":` + "\n",
		"a file whose data can't be decoded": `{"file":"x","at":0,"data":"="}` + "\n",
	} {
		in := &inbox{dir: t.TempDir(), out: &bytes.Buffer{}}
		if _, err := in.Write([]byte(text)); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// TestLongestChunkFitsALine: else an agent could not send what it is to send.
func TestLongestChunkFitsALine(t *testing.T) {
	text, err := json.Marshal(chunk{strings.Repeat("\x01", 4096), 1 << 62, make([]byte, chunkSize)})
	if err != nil || len(text) >= longestLine {
		t.Errorf("a chunk has %d bytes as a line, of %d: %v", len(text), longestLine, err)
	}
}
