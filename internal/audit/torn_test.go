package audit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

const (
	tornHead = "ts,pod,event,lock\n2026-01-01T00:00:01Z,a,acquired,k\n2026-01-01T00:00:02Z,a,released,k\n"
	tornRest = "2026-01-01T00:00:03Z,b,acquired,k\n2026-01-01T00:00:04Z,b,released,k\n"
)

// torn are pieces of records. Each but the last stands on line 4 of a log, and
// the last line of it may be one.
var torn = map[string]string{
	"in a field":                "2026-01-01T00:00:02.5Z,c,acq",
	"in the first field":        "202",
	"behind a comma":            "2026-01-01T00:00:02.5Z,c,",
	"in quotes":                 `2026-01-01T00:00:02.5Z,c,"acq`,
	"in the last quotes":        `2026-01-01T00:00:02.5Z,c,acquired,"k`,
	"in quotes behind others":   `"2026-01-01T00:00:02.5Z","c, d","acq`,
	"in quotes behind a quote":  `2026-01-01T00:00:02.5Z,"c ""d""","acq`,
	"a bare quote":              `2026-01-01T00:00:02.5Z,c,acq"uired,k`,
	"its end":                   `uired,k`,
	"another writer's behind":   "2026-01-01T00:00:02.5Z,c,acq2026-01-01T00:00:02.6Z,c,busy,k",
	"another's behind its time": "2026-01-01T00:02026-01-01T00:00:02.6Z,c,busy,k",
	"bytes of 0":                "\x00\x00\x00\x00",
	"bytes of 0 before another": "\x00\x00\x002026-01-01T00:00:02.6Z,c,busy,k",
	"a banner behind it":        "2026-01-01T00:00:02.5Z,c,acqpanic: out of memory",
}

// TestTornRecords: a record of CSV that is cut or torn refuses no log and takes
// no other line along. It is told with its line, and allows no pass.
func TestTornRecords(t *testing.T) {
	quoted := strings.NewReplacer(",", `","`, "\n", "\"\n\"").Replace(tornRest)
	for name, piece := range torn {
		for how, c := range map[string]struct {
			log  string
			line int
		}{
			"in the middle":          {tornHead + piece + "\n" + tornRest, 4},
			"before quotes":          {tornHead + piece + "\n\"" + quoted[:len(quoted)-1], 4},
			"with CR LF":             {strings.ReplaceAll(tornHead+piece+"\n"+tornRest, "\n", "\r\n"), 4},
			"at the end":             {tornHead + tornRest + piece, 6},
			"at the end of the line": {tornHead + tornRest + piece + "\n", 6},
		} {
			v, s := judgeText(t, c.log, "log", formats.CSV, audit.Options{})
			text, left := said(s, v), strings.Join(s.Left, "\n")
			if v.Outcome != checker.Inconclusive ||
				!strings.Contains(text, fmt.Sprintf("Line %d: it is left out, and seems to tell of a lock", c.line)) {
				t.Errorf("%s %s: %s\n%s", name, how, v.Outcome, text)
			}
			if !strings.Contains(left, fmt.Sprintf("cut or torn: 1, the first is line %d", c.line)) {
				t.Errorf("%s %s: %s", name, how, left)
			}
			s.Close()
		}
		p, err := audit.NewParser("log", []byte(tornHead+piece+"\n"+tornRest), formats.CSV, audit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Line([]byte(piece), 4); err == nil || !strings.Contains(err.Error(), "log:4:") {
			t.Errorf("a watch is told of a record that is torn %s: %v", name, err)
		}
	}
}

// TestUnendedLine: the line that a log ends within, without the end of a line, may
// be cut in its last word. It refuses nothing; the same line with an end does.
func TestUnendedLine(t *testing.T) {
	table := "ts,pod,lock,event\n1,a,k,acquired\n2,a,k,released\n3,b,k,acquired\n4,b,k,released\n5,c,k,acq"
	text := strings.ReplaceAll(strings.TrimPrefix(table, "ts,pod,lock,event\n"), ",", " ")
	pattern := audit.Options{Pattern: `^(?P<time>\S+) (?P<client>\S+) (?P<key>\S+) (?P<event>\S+)`}
	for format, c := range map[formats.Format]struct {
		log     string
		options audit.Options
		line    int
	}{formats.CSV: {table, audit.Options{}, 6}, formats.Text: {text, pattern, 5}} {
		v, s := judgeText(t, c.log, "log", format, c.options)
		if got := said(s, v); v.Outcome != checker.Inconclusive || !strings.Contains(got, fmt.Sprintf("Line %d: it is left out", c.line)) {
			t.Errorf("%s: %s\n%s", format, v.Outcome, got)
		}
		s.Close()
		if _, err := audit.Read(strings.NewReader(c.log+"\n"), "log", format, c.options); err == nil ||
			!strings.Contains(err.Error(), "nobody knows what this event means") {
			t.Errorf("%s: an unknown word: %v", format, err)
		}
	}
}

// TestQuotesOverLines: a record of several lines stays one, also behind a torn
// one, and a quote that is not closed takes no violation along.
func TestQuotesOverLines(t *testing.T) {
	log := "ts,pod,event,lock,note\n1,a,acquired,k,\"one\n\ntwo, \"\"three\"\"\n\"\n2,c,busy,k,\"cut\n3,b,acquired,k,\"four\nfive\"\n4,a,released,k,\n5,b,released,k,six\n"
	v, s := judgeText(t, log, "log", formats.CSV, audit.Options{})
	defer s.Close()
	if text := said(s, v); v.Outcome != checker.Violated || !strings.Contains(text, "a and b both held k from 3.000 s to 4.000 s") {
		t.Errorf("%s\n%s", v.Outcome, text)
	}
	if left := strings.Join(s.Left, "\n"); !strings.Contains(left, "cut or torn: 1, the first is line 6 (a quote that is not closed)") {
		t.Error(left)
	}
}

// TestBannersInCSV: a line that is no piece of a record is left out, and allows
// a pass. One that may be a piece, or that tells of a lock, does not.
func TestBannersInCSV(t *testing.T) {
	for banner, want := range map[string]checker.Outcome{
		"Unhandled exception: boom\n\tat main (x.js:10)": checker.Pass,
		"": checker.Pass, " \t": checker.Pass,
		"(4 rows)":              checker.Pass,
		"the lock was released": checker.Inconclusive,
		"5 rows":                checker.Inconclusive,
		"released":              checker.Inconclusive,
		"uired":                 checker.Inconclusive,
		"panic: a, b":           checker.Inconclusive,
	} {
		v, s := judgeText(t, tornHead+banner+"\n"+tornRest, "log", formats.CSV, audit.Options{})
		if v.Outcome != want {
			t.Errorf("%q: %s\n%s", banner, v.Outcome, said(s, v))
		}
		s.Close()
	}
	before := "sep=,\nExporter 1.2\n" + tornHead + tornRest
	if format, err := formats.Detect([]byte(before), "log", false); format != formats.CSV {
		t.Errorf("taken for %q, %v", format, err)
	}
	v, s := judgeText(t, before, "log", formats.CSV, audit.Options{})
	defer s.Close()
	if _, line := s.Lines(1); v.Outcome != checker.Pass || line != 4 ||
		!strings.Contains(strings.Join(s.Left, "\n"), "before the names of the columns: 2") {
		t.Errorf("%s, line %d, %s", said(s, v), line, s.Left)
	}
	lines, err := audit.Explain("log", []byte(before), formats.CSV, audit.Options{}, 4)
	if err != nil || len(lines) != 4 || lines[2].Line != 3 ||
		!strings.HasPrefix(lines[2].Text, "the names of the columns") || !strings.HasSuffix(lines[3].Text, `client "a": grant "k"`) {
		t.Errorf("%+v, %v", lines, err)
	}
}

// TestHeadingsAgain: a heading in the middle, as where one file follows another, is left out and
// counted.
func TestHeadingsAgain(t *testing.T) {
	head, _, _ := strings.Cut(tornHead, "\n")
	for name, again := range map[string]string{"as it was": head + "\n", "with CR LF": head + "\r\n", "with a byte-order mark": "\ufeff" + head + "\n"} {
		v, s := judgeText(t, tornHead+again+tornRest, "log", formats.CSV, audit.Options{})
		if left := strings.Join(s.Left, "\n"); v.Outcome != checker.Pass || !strings.Contains(left, "name the columns again: 1, the first is line 4") {
			t.Errorf("%s: %s\n%s\n%s", name, v.Outcome, said(s, v), left)
		}
		s.Close()
	}
	twoHold := strings.Replace(tornHead, "2026-01-01T00:00:02Z,a,released,k\n", "", 1) + tornHead[:len(head)+1] + tornRest + "2026-01-01T00:00:05Z,a,released,k\n"
	v, s := judgeText(t, twoHold, "log", formats.CSV, audit.Options{})
	defer s.Close()
	if v.Outcome != checker.Violated {
		t.Errorf("%s\n%s", v.Outcome, said(s, v))
	}
	p, err := audit.NewParser("log", []byte(twoHold), formats.CSV, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if line, err := p.Line([]byte(head), 3); err != nil || !line.Ignored {
		t.Errorf("a watch: %+v, %v", line, err)
	}
}

// TestNothingWhole: a log of which no record is whole is refused with the reason.
func TestNothingWhole(t *testing.T) {
	for log, want := range map[string]string{
		"ts,pod,event,lock\n1,a,acq\n2,b\n":          "log:2:1: wrong number of fields",
		"ts,pod,event,lock\n1,a,\"acq\n2,a,released": "log:2:5: a quote that is not closed",
		"ts,po\n" + tornRest:                         "log:2:1: wrong number of fields",
		"ts,\"pod,event,lock\n" + tornRest:           "extraneous or missing",
	} {
		if _, err := audit.Read(strings.NewReader(log), "log", formats.CSV, audit.Options{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", log, err, want)
		}
	}
}

// TestNamelessLocks: a line that names no lock, where others do, may be about any lock.
func TestNamelessLocks(t *testing.T) {
	nameless := "2026-01-01T00:00:05Z,c,acquired,\n2026-01-01T00:00:06Z,c,released,\n"
	v, s := judgeText(t, tornHead+tornRest+nameless, "log", formats.CSV, audit.Options{})
	if text := said(s, v); v.Outcome != checker.Inconclusive ||
		!strings.Contains(text, "Line 6 and 1 line like it: it names no lock, and other lines do") {
		t.Errorf("%s\n%s", v.Outcome, text)
	}
	s.Close()
	all := strings.ReplaceAll(tornHead+tornRest, ",k\n", ",\n")
	if v, s = judgeText(t, all, "log", formats.CSV, audit.Options{}); v.Outcome != checker.Pass {
		t.Errorf("no line names a lock: %s\n%s", v.Outcome, said(s, v))
	}
	s.Close()
}

// TestTornRelease: a record that is torn may be a release. So a promise (--ttl) accuses
// nobody across it, and does elsewhere. What a client did as holder still counts.
func TestTornRelease(t *testing.T) {
	const head, a, b = "ts,pod,event,lock\n", "1.5,a,acquired,k\n", "4.5,b,acquired,k\n5.5,b,released,k\n"
	const cut = "3.5,a,rel\n"
	newestFirst := head + "5.5,b,released,k\n4.5,b,acquired,k\n" + cut + a
	for name, c := range map[string]struct {
		log  string
		want checker.Outcome
	}{
		"between":                     {head + a + cut + b, checker.Inconclusive},
		"between, newest first":       {newestFirst, checker.Inconclusive},
		"before":                      {head + cut + a + b, checker.Violated},
		"behind":                      {head + a + b + cut, checker.Violated},
		"between, but a acts on":      {head + a + cut + b + "6.5,a,released,k\n", checker.Violated},
		"behind the last of renewals": {head + a + cut + "4.1,a,renewed,k\n" + b, checker.Violated},
		"in no order":                 {head + b + a + cut, checker.Inconclusive},
	} {
		for _, validity := range []audit.Validity{{Released: true}, {TTL: time.Minute}} {
			v, s := judgeText(t, c.log, "log", formats.CSV, audit.Options{Validity: &validity})
			if v.Outcome != c.want {
				t.Errorf("%s, %+v: %s\n%s", name, validity, v.Outcome, said(s, v))
			}
			s.Close()
		}
	}
}

// TestTornTable: a row of a lock table that is torn refuses nothing, and is told.
func TestTornTable(t *testing.T) {
	const table = "name,lock_until,locked_at,locked_by\njob,2026-04-01T10:00:30.000Z,2026-04-01T10:00:00.000Z,a\n%sjob,2026-04-01T10:01:40.000Z,2026-04-01T10:01:10.000Z,b\n"
	v, s := judgeText(t, fmt.Sprintf(table, "job,2026-04-01T10:0\n"), "t", formats.LockTable, audit.Options{})
	defer s.Close()
	if text := said(s, v); v.Outcome != checker.Inconclusive ||
		!strings.Contains(text, "Line 3: it is left out, for it has not as many columns as the heading") {
		t.Errorf("%s\n%s", v.Outcome, text)
	}
}

// TestUnnamedLocksAreNotOne: nobody knows that two clients mean one lock where they name none, and
// others do.
func TestUnnamedLocksAreNotOne(t *testing.T) {
	const two = "1,a,acquired,\n2,b,acquired,\n3,a,released,\n4,b,released,\n"
	for name, c := range map[string]struct {
		log  string
		want checker.Outcome
	}{
		"another line names one":             {two + "5,c,acquired,k\n6,c,released,k\n", checker.Inconclusive},
		"no line names one":                  {two, checker.Violated},
		"another line names one so":          {two + "5,c,acquired,lock\n6,c,released,lock\n", checker.Inconclusive},
		"two hold one that is named":         {two + strings.ReplaceAll(two, ",\n", ",lock\n"), checker.Violated},
		"one client names its lock just now": {"1,a,acquired,k\n2,b,acquired,\n3,a,released,k\n4,b,released,\n", checker.Inconclusive},
	} {
		v, s := judgeText(t, "ts,pod,event,lock\n"+c.log, "log", formats.CSV, audit.Options{})
		if v.Outcome != c.want {
			t.Errorf("%s: %s, want %s\n%s", name, v.Outcome, c.want, said(s, v))
		}
		s.Close()
	}
	scoped := strings.ReplaceAll(two, ",\n", ",,x\n")
	v, s := judgeText(t, "ts,pod,event,lock,db\n"+scoped, "log", formats.CSV, audit.Options{Map: map[string]string{"key": "lock+db"}})
	if text := said(s, v); v.Outcome != checker.Violated || !strings.Contains(text, "both held lock/x") {
		t.Errorf("a scope names it: %s\n%s", v.Outcome, text)
	}
	s.Close()
}
