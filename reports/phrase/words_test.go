package phrase

import (
	"strings"
	"testing"
)

func TestSpan(t *testing.T) {
	for ns, want := range map[int64]string{0: "0 ns", 999: "999 ns", 1500: "1.5 µs", 999_400: "999 µs", 999_600: "1 ms",
		1_440_000: "1.44 ms", 41_260_000: "41.3 ms",
		790_000_000: "790 ms", 999_600_000: "1 s", 1_440_000_000: "1.44 s", 12_040_000_000: "12 s",
		119_400_000_000: "119 s", 125_000_000_000: "2 min 5 s", 7_199_000_000_000: "119 min 59 s",
		7_260_000_000_000: "2 h 1 min", 990_791_918_000_000_000: "11467 days 11 h",
		-180_000_000_000_000: "-2 days 2 h", -20_000_000: "-20 ms"} {
		if got := Span(ns); got != want {
			t.Errorf("span(%d) = %q, want %q", ns, got, want)
		}
	}
	if got := At(1_620_400_000); got != "1.620 s" {
		t.Errorf("at = %q", got)
	}
}

func TestWords(t *testing.T) {
	for _, c := range [][2]string{
		{Grouped(1234567), "1,234,567"}, {Grouped(-1000), "-1,000"}, {Grouped(999), "999"},
		{Plural(1, "grant"), "1 grant"}, {Plural(0, "grant"), "0 grants"}, {Times(2), "twice"}, {Times(17), "17 times"},
		{List([]string{"a", "b", "c"}), "a, b and c"}, {List(nil), ""},
		{Clip("abcdef", 4), "abcd… (2 characters more)"}, {Clip("ab\u202ecd\x00", 10), `ab\u202ecd\u0000`}, {Clip("übung", 5), "übung"},
		{Cut("a long reason\nand more", 8), "a long…"}, {Cut("short", 8), "short"},
		{Sentence("état"), "État."}, {Sentence("Done."), "Done."}, {Sentence(""), ""},
		{Sentence("runs/2026/a: no such file"), "runs/2026/a: no such file."},
		{Sentence("etcd-2 died"), "etcd-2 died."}, {Sentence("start etcd-2: refused"), "Start etcd-2: refused."},
		{Sentence("open: no"), "Open: no."}, {Sentence("read_file failed"), "read_file failed."},
	} {
		if c[0] != c[1] {
			t.Errorf("got %q, want %q", c[0], c[1])
		}
	}
}

func TestWrap(t *testing.T) {
	for _, line := range strings.Split(Wrap(strings.Repeat("word ", 40), 30), "\n") {
		if Columns(line) > 30 {
			t.Errorf("%q is too long", line)
		}
	}
}

// A first line that announces a log tells the log's last line, which is the reason.
func TestFirstLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		" one ":                        "one",
		"one\ntwo":                     "one",
		"it died; the end of its log:": "it died; the end of its log:",
		"it died; its log:\n\tTraceback\n\tKeyError: 7\n": "it died; its log: KeyError: 7",
	} {
		if got := FirstLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
