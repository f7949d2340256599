package reports

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// TestVoice: a log keeps its own names and times, and a run its numbers and seconds.
func TestVoice(t *testing.T) {
	zone := time.FixedZone("", 3600)
	const said = "client 2 (token 7) was granted k at 1.500 s, inside client 1's promise, its lease of 0.500 s, until 86401.000 s"
	for name, c := range map[string]struct {
		header history.Header
		want   string
		at     string
	}{
		"a run": {history.Header{Started: time.Date(2026, 1, 2, 3, 4, 5, 0, zone)}, said, "1.500 s"},
		"a run whose application logged": {history.Header{Translated: true, Origin: 5,
			Started: time.Date(2026, 1, 2, 3, 4, 5, 0, zone)}, said, "1.500 s"},
		"a log of a day": {history.Header{Translated: true, Names: []string{"p-0", "p-1"}, Duration: 2e9,
			Started: time.Date(2026, 1, 2, 3, 4, 5, 0, zone)},
			"p-1 (token 7) was granted k at 03:04:06.500, inside p-0's promise, its lease of 0.500 s, until 03:04:06.000", "03:04:06.500"},
		"a log of two": {history.Header{Translated: true, Names: []string{"p-0"}, Duration: 25 * 3600e9,
			Started: time.Date(2026, 1, 2, 3, 4, 5, 0, zone)},
			"client 2 (token 7) was granted k at 2026-01-02 03:04:06.500, inside p-0's promise, its lease of 0.500 s, until 2026-01-03 03:04:06.000", "2026-01-02 03:04:06.500"},
		"a clock of its own": {history.Header{Translated: true, Started: time.Unix(100, 0)},
			"client 2 (token 7) was granted k at 101.500 s, inside client 1's promise, its lease of 0.500 s, until 86501.000 s", "101.500 s"},
		"Jepsen's": {history.Header{Translated: true}, said, "1.500 s"},
	} {
		v := checker.Verdict{Properties: []checker.PropertyResult{{Violations: []checker.Violation{{Text: said}}}}}
		if got := Relabeled(&c.header, v).Properties[0].Violations[0].Text; got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
		if v.Properties[0].Violations[0].Text != said {
			t.Errorf("%s: the judge's own words were changed", name)
		}
		if got := Instant(&c.header, 15e8); got != c.at {
			t.Errorf("%s: %s, want %s", name, got, c.at)
		}
	}
	pods := Labels{Names: []string{"payment-service-7c9d8b-xk2lp", ""}}
	if got := pods.Lane(1, 14); got != "paymen…b-xk2lp" {
		t.Errorf("a lane is %q", got)
	}
	if got := pods.Client(2) + pods.Client(3); got != "client 2client 3" {
		t.Errorf("clients without a name are %q", got)
	}
}

// TestQuoted: whatever a log calls its columns, a command that is pasted does nothing else.
func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{
		"a=b": `'a=b'`, "it's; rm -rf $HOME `x`": `'it'\''s; rm -rf $HOME ` + "`x`'",
		"a\x1b[2J\n'\\é": `$'a\x1b[2J\x0a\'\\é'`, "\xff": `$'\xff'`, "\u202eb": `$'\xe2\x80\xaeb'`,
	} {
		if got := Quoted(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
