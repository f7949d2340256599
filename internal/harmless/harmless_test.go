package harmless_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/harmless/harmlesstest"
)

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                  "plain",
		"⚠️ größer, 日本 ❌":        "⚠️ größer, 日本 ❌",
		"a\nb\r\tc":              `a\nb\r\tc`,
		"\x1b[31m\u009b\u202e":   `\u001b[31m\u009b\u202e`,
		"\U000e0041\u2028\u00ad": `\udb40\udc41\u2028\u00ad`,
		"\xffa":                  "\ufffda",
	} {
		if got := harmless.Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
		if again := harmless.Line(harmless.Line(in)); again != want {
			t.Errorf("twice: %q", again)
		}
	}
	if got := harmless.Block("a\n\tb\r\n\x1bc\n\n", "  "); got != "a\n  \tb\n  \\u001bc" {
		t.Errorf("%q", got)
	}
	if got := harmless.Sprintf("%s|%d|%v", "a\nb", 7, errors.New("c\nd")); got != `a\nb|7|c\nd` {
		t.Errorf("%q", got)
	}
}

// written is what comes of text that is written to a Writer in pieces of n bytes.
func written(t *testing.T, text string, n int) string {
	t.Helper()
	var b bytes.Buffer
	w := harmless.NewWriter(&b)
	for at := 0; at < len(text); at += n {
		if _, err := io.WriteString(w, text[at:min(at+n, len(text))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWriter writes texts in pieces of every length: where a piece ends makes no difference.
func TestWriter(t *testing.T) {
	bold := harmless.Own("\x1b[1m")
	for in, want := range map[string]string{
		"two\nlines\t: fine # [x]\n":      "two\nlines\t: fine # [x]\n",
		"::error::x\n\t ::y\n\u00a0::z":   "| ::error::x\n\t | ::y\n\u00a0| ::z",
		"a ##[error]\n##vso[x\n## [y]\n":  "a ##\\u005berror]\n##vso\\u005bx\n## [y]\n",
		bold + "x\x1b[1m\x1b":             "\x1b[1mx\\u001b[1m\\u001b",
		harmless.Line(bold + "\x1b"):      "\x1b[1m\\u001b",
		"\u009b日本\u202e\xe6\x97":          `\u009b日本\u202e` + "\ufffd\ufffd",
		"\x1b_" + strings.Repeat("A", 30): `\u001b_` + strings.Repeat("A", 30),
	} {
		for n := 1; n <= len(in); n++ {
			if got := written(t, in, n); got != want {
				t.Errorf("%q in pieces of %d: %q, want %q", in, n, got, want)
			}
		}
	}
}

func TestHostileText(t *testing.T) {
	for n := 1; n < 40; n++ {
		if wrong := harmlesstest.Wrong(written(t, strings.ReplaceAll(harmlesstest.Hostile, "FORGED", ""), n)); wrong != "" {
			t.Error(n, wrong)
		}
	}
	if wrong := harmlesstest.Wrong(string(harmless.Block(harmlesstest.Hostile, "  | "))); !strings.Contains(wrong, "is a command") {
		t.Error("the test's own judge: ", wrong)
	}
}

// TestJSONStaysWhatItIs: what a Writer escapes in JSON means the same as before.
func TestJSONStaysWhatItIs(t *testing.T) {
	var b bytes.Buffer
	e := json.NewEncoder(harmless.NewWriter(&b))
	e.SetEscapeHTML(false)
	before := strings.ToValidUTF8(harmlesstest.Hostile, "\ufffd")
	if err := e.Encode(before); err != nil {
		t.Fatal(err)
	}
	if wrong := harmlesstest.Wrong(b.String()); wrong != "" {
		t.Error(wrong)
	}
	var after string
	if err := json.Unmarshal(b.Bytes(), &after); err != nil || after != before {
		t.Errorf("%q became %q (%v)", before, after, err)
	}
}

// TestCommandsAreOff holds every line but our own commands between a stop and
// the token that ends it.
func TestCommandsAreOff(t *testing.T) {
	var b bytes.Buffer
	w := harmless.NewWriter(&b)
	if harmless.NewWriter(w) != w {
		t.Fatal("a Writer of a Writer")
	}
	if err := w.StopCommands(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "a\nb")
	err := w.Commands(func(to io.Writer) error { _, err := io.WriteString(to, "::error::ours\n"); return err })
	io.WriteString(w, "c\n")
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	first, found := strings.CutPrefix(lines[0], "::stop-commands::")
	second, again := strings.CutPrefix(lines[5], "::stop-commands::")
	if want := []string{lines[0], "a", "b", "::" + first + "::", "::error::ours", lines[5], "c", "::" + second + "::",
		""}; !found || !again || len(first) < 20 ||
		first == second || strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", lines)
	}
}

// TestWholeLinesAsByBytes writes each byte at each place of a word at once and byte by byte.
func TestWholeLinesAsByBytes(t *testing.T) {
	for place := range 9 {
		for b := range 256 {
			text := []byte("begun, then sixteen letters")
			text[7+place] = byte(b)
			var whole, single bytes.Buffer
			w, s := harmless.NewWriter(&whole), harmless.NewWriter(&single)
			_, _ = w.Write(text)
			for i := range text {
				_, _ = s.Write(text[i : i+1])
			}
			if err := errors.Join(w.Close(), s.Close()); err != nil || whole.String() != single.String() {
				t.Errorf("%q became %q, byte by byte %q (%v)", text, whole.String(), single.String(), err)
			}
		}
	}
}

func BenchmarkWriter(b *testing.B) {
	line := []byte(strings.Repeat(`{"t":123456,"type":"ok","f":"acquire","op":17,"client":3,"key":"k1"}`+"\n", 1000))
	w := harmless.NewWriter(io.Discard)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		_, _ = w.Write(line)
	}
}
