package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// TestOutcomeColumns: how an acquire ended stands in columns of many names. Of one that was denied,
// or met an error, no hold is told.
func TestOutcomeColumns(t *testing.T) {
	const denied = "ts,pod,op,lock,%s\n1,a,acquire,k,%y\n2,b,acquire,k,%n\n3,a,release,k,%y\n4,b,acquire,k,%y\n5,b,release,k,%y\n"
	const twice = "ts,pod,op,lock,%s\n1,a,acquire,k,%y\n2,b,acquire,k,%y\n3,a,release,k,%y\n4,b,release,k,%y\n5,b,acquire,k,%n\n"
	for name, c := range map[string]struct {
		column, yes, no string
		asks            string
	}{
		"a boolean":               {"granted", "true", "false", ""},
		"yes and no":              {"acquired", "yes", "no", ""},
		"an error":                {"error", "", "lock is busy", ""},
		"an error, or none":       {"err", "nil", "context deadline exceeded", ""},
		"an exit status":          {"exit_code", "0", "1", ""},
		"PostgreSQL's":            {"errcode", "00000", "55P03", ""},
		"a failure":               {"failed", "false", "true", ""},
		"HTTP's":                  {"status_code", "200", "409", "nobody knows this result"},
		"words in a strange name": {"answer", "granted", "denied", `the column "answer", with values such as "granted", "denied", may be the field "result"`},
	} {
		for log, want := range map[string]checker.Outcome{denied: checker.Pass, twice: checker.Violated} {
			text := strings.NewReplacer("%s", c.column, "%y", c.yes, "%n", c.no).Replace(log)
			s, err := audit.Read(strings.NewReader(text), "a.csv", formats.CSV, audit.Options{})
			if c.asks != "" {
				if err == nil || !strings.Contains(err.Error(), c.asks) {
					t.Errorf("%s: %v, want %q", name, err, c.asks)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			answers(t, name, s, want, "")
		}
	}
}

// TestBeginnings: a line may say that its op only begins. An acquire that does so asks for the
// lock. So does one that says nothing, where others say that they were granted.
func TestBeginnings(t *testing.T) {
	const phases = `1,a,acquire,k,start
2,a,acquire,k,success
3,b,acquire,k,start
4,a,release,k,start
5,a,release,k,success
6,b,acquire,k,success
7,b,release,k,success
`
	const nulls = `1,a,acquire,k,OK
2,b,acquire,k,
3,a,release,k,1
4,b,acquire,k,OK
5,b,release,k,1
`
	twoHold := func(log string) string {
		return strings.ReplaceAll(strings.ReplaceAll(log, "3,b,acquire,k,start", "3,b,acquire,k,success"), "2,b,acquire,k,\n", "2,b,acquire,k,OK\n")
	}
	for _, c := range []struct {
		name, column, log string
		want              checker.Outcome
		says              string
	}{
		{"phases", "result", phases, checker.Pass, ""},
		{"phases, and two hold", "result", twoHold(phases), checker.Violated, ""},
		{"phases, and none ends", "result", strings.ReplaceAll(phases, "success", "begin"), checker.Inconclusive, ""},
		{"no answer is no grant", "result", nulls, checker.Pass, "other acquires say there that they are"},
		{"no answer, and two hold", "result", twoHold(nulls), checker.Violated, ""},
		{"only failures are told", "result", strings.ReplaceAll(strings.ReplaceAll(nulls, "OK", ""), "2,b,acquire,k,\n", "2,b,acquire,k,failed\n"), checker.Pass, ""},
		{"only failures are told, and two hold", "result", strings.ReplaceAll(nulls, "OK", "") + "9,c,acquire,k,failed\n", checker.Violated, ""},
	} {
		text := "ts,pod,op,lock," + c.column + "\n" + c.log
		v, s := judgeText(t, text, "a.csv", formats.CSV, audit.Options{})
		if v.Outcome != c.want || !strings.Contains(strings.Join(s.Assumed, " "), c.says) {
			t.Errorf("%s: %s, want %s\n%s", c.name, v.Outcome, c.want, said(s, v))
		}
		if !strings.Contains(c.log, "start") || !strings.Contains(c.log, "success") {
			continue
		}
		text = strings.Replace(text, "result", "phase", 1)
		if _, err := audit.Read(strings.NewReader(text), "a.csv", formats.CSV, audit.Options{}); err == nil || !strings.Contains(err.Error(), `the column "phase", with values such as "start", "success", may be the field "result"`) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	const ends = "ts,pod,op,lock,phase\n1,a,acquire,k,begin\n2,a,acquire,k,end\n3,b,acquire,k,begin\n4,a,release,k,begin\n5,a,release,k,end\n6,b,acquire,k,end\n7,b,release,k,end\n"
	if _, err := audit.Read(strings.NewReader(ends), "a.csv", formats.CSV, audit.Options{}); err == nil || !strings.Contains(err.Error(), `may be the field "result"`) {
		t.Errorf("begins and ends: %v", err)
	}
	// the log begins within an acquire, and nobody knows the word for its end
	later := "ts,pod,op,lock,phase\n0,z,acquire,j,finished\n" + strings.SplitAfterN(strings.ReplaceAll(ends, "end", "finished"), "\n", 2)[1]
	if _, err := audit.Read(strings.NewReader(later), "a.csv", formats.CSV, audit.Options{}); err == nil || !strings.Contains(err.Error(), `may be the field "result"`) {
		t.Errorf("ends come first: %v", err)
	}
	s, err := audit.Read(strings.NewReader(ends), "a.csv", formats.CSV,
		audit.Options{Map: map[string]string{"result": "phase"}, Results: map[string][]string{"ok": {"end"}}})
	if err != nil {
		t.Fatal(err)
	}
	answers(t, "begins and ends", s, checker.Pass, "")
}

// TestBegunReleases: a release, or a renewal, of which one line says that it begins lasts until the
// line that says how it ended. So its client holds the lock no longer than until it began.
func TestBegunReleases(t *testing.T) {
	const log = `1.5,a,acquire,k,start
2,a,acquire,k,success
3,b,acquire,k,start
4,a,release,k,start
4.5,b,acquire,k,success
5,a,release,k,success
7,b,release,k,start
`
	ttl := audit.Options{Validity: &audit.Validity{TTL: 2 * time.Second}}
	for _, c := range []struct {
		name, log string
		options   audit.Options
		want      checker.Outcome
	}{
		{"another is granted it while it is given back", log, audit.Options{}, checker.Pass},
		{"another is granted it before", strings.Replace(log, "4,a", "4.6,a", 1), audit.Options{}, checker.Violated},
		{"it is refused in the end", strings.Replace(log, "5,a,release,k,success", "5,a,not-held,k,", 1), audit.Options{}, checker.Pass},
		{"nobody says how it ended", strings.Replace(log, "5,a,release,k,success\n", "", 1), audit.Options{}, checker.Pass},
		{"it begins twice", strings.Replace(log, "4.5,b", "4.2,a,release,k,start\n4.5,b", 1), audit.Options{}, checker.Pass},
		{"its end is lost, and it is another grant's", strings.Replace(log, "5,a,release,k,success\n", "", 1) +
			"8,b,release,k,success\n9,a,acquire,k,success\n10,b,acquire,k,success\n11,a,release,k,success\n", audit.Options{}, checker.Violated},
		{"a renewal that is denied", "1.5,a,acquire,k,success\n4,a,renew,k,start\n4.5,b,acquire,k,success\n5,a,renew,k,failed\n6,b,release,k,success\n", ttl, checker.Pass},
		{"a renewal that begins too late", "1.5,a,acquire,k,success\n4.6,a,renew,k,start\n4.5,b,acquire,k,success\n5,a,renew,k,failed\n6,b,release,k,success\n", ttl, checker.Violated},
	} {
		v, s := judgeText(t, "ts,pod,op,lock,result\n"+c.log, "a.csv", formats.CSV, c.options)
		if v.Outcome != c.want {
			t.Errorf("%s: %s, want %s\n%s", c.name, v.Outcome, c.want, said(s, v))
		}
		s.Close()
	}
}

// TestDeniedLate: an acquire that says nothing is no grant where others say that they were granted,
// however far into the log it stands.
func TestDeniedLate(t *testing.T) {
	var log strings.Builder
	log.WriteString("ts,pod,op,lock,result\n")
	for i := range 10_000 {
		fmt.Fprintf(&log, "%d,a,acquire,k,OK\n%d,a,release,k,1\n", 2*i+1, 2*i+2)
	}
	log.WriteString("20001,a,acquire,k,OK\n20002,b,acquire,k,\n20003,a,release,k,1\n20004,b,acquire,k,OK\n20005,b,release,k,1\n")
	v, s := judgeText(t, log.String(), "a.csv", formats.CSV, audit.Options{})
	defer s.Close()
	if v.Outcome != checker.Pass || !slices.ContainsFunc(s.Assumed, func(text string) bool { return strings.Contains(text, "other acquires say there that they are") }) {
		t.Errorf("%s: %s\n%s", v.Outcome, said(s, v), s.Assumed)
	}
}

// TestDeniedOnce: a client that asks until it says that it was granted the lock is granted it once.
// So no other column makes several clients of it.
func TestDeniedOnce(t *testing.T) {
	const log = "ts,pod,op,lock,result,thread\n1,a,acquire,k,OK,1\n2,b,acquire,k,,1\n3,b,acquire,k,,2\n4,a,release,k,1,1\n5,b,acquire,k,%s,3\n6,b,release,k,1,3\n"
	for last, want := range map[string]bool{"OK": false, "OK,4\n5,b,acquire,k,OK": true} {
		_, s := judgeText(t, fmt.Sprintf(log, last), "a.csv", formats.CSV, audit.Options{})
		if got := slices.ContainsFunc(s.Assumed, func(text string) bool { return strings.Contains(text, "clients of their own") }); got != want {
			t.Errorf("%q: %v, want %v: %s", last, got, want, s.Assumed)
		}
		s.Close()
	}
}

// TestErrorsOfObjects: a member of an error may come late, be null, or be an object.
func TestErrorsOfObjects(t *testing.T) {
	line := func(at, pod, op, rest string) string {
		return `{"ts":` + at + `,"pod":"` + pod + `","op":"` + op + `","lock":"k"` + rest + "}\n"
	}
	var many strings.Builder // longer than what is looked at first
	for n := range 1000 {
		many.WriteString(line(fmt.Sprintf("%d.1", n), "a", "acquire", "") + line(fmt.Sprintf("%d.2", n), "a", "release", ""))
	}
	for name, c := range map[string]struct {
		log  string
		want checker.Outcome
	}{
		"null": {line("1", "a", "acquire", "") + line("1.5", "a", "release", "") + line("2", "b", "acquire", `,"error":null`) + line("3", "c", "acquire", `,"error":"busy"`) + line("4", "b", "release", `,"error":null`), checker.Pass},
		"late": {many.String() + line("2000", "b", "acquire", "") + line("3000", "c", "acquire", `,"error":"busy"`) + line("4000", "b", "release", ""), checker.Pass},
		"an object": {line("1", "a", "acquire", "") + line("1.5", "a", "release", "") + line("2", "b", "acquire", "") +
			line("3", "c", "acquire", `,"error":{"code":7,"message":"busy"}`) + line("4", "b", "release", ""), checker.Pass},
		"another says that it went well": {line("2", "b", "acquire", "") + line("3", "c", "acquire", "") + line("4", "b", "release", "") +
			line("5", "c", "release", `,"error":"slow"`), checker.Violated},
	} {
		if v, s := judgeText(t, c.log, "a.json", formats.JSON, audit.Options{}); v.Outcome != c.want {
			t.Errorf("%s: %s, want %s\n%s", name, v.Outcome, c.want, said(s, v))
		}
	}
}

// TestErrorsJoinNoClients: who met an error was granted nothing, so one name of two processes may
// be one client.
func TestErrorsJoinNoClients(t *testing.T) {
	const log = "ts,pod,pid,op,lock,error\n1,a,1,acquire,k,\n2,a,2,acquire,k,busy\n3,a,1,release,k,\n4,b,1,acquire,k,\n5,b,1,release,k,\n"
	s, err := audit.Read(strings.NewReader(log), "a.csv", formats.CSV, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, mapping, _ := s.Columns(); !slices.Contains(mapping, "client=pod") {
		t.Errorf("read as %q", mapping)
	}
	answers(t, "errors", s, checker.Pass, "")
}

// TestNumbersOfHolds: a column with a number for each hold names no lock where another one does.
func TestNumbersOfHolds(t *testing.T) {
	const log = "ts,pod,action,lock,lock_id\n1,a,acquired,k,7\n2,b,acquired,k,8\n3,a,released,k,7\n4,b,released,k,8\n"
	_, err := audit.Read(strings.NewReader(log), "a.csv", formats.CSV, audit.Options{})
	if err == nil || !strings.Contains(err.Error(), `more than one column may be the field "key": "lock" ("k"), "lock_id" ("7", "8")`) {
		t.Error(err)
	}
	many := strings.ReplaceAll(strings.ReplaceAll(log, ",7\n", ",1\n"), ",8\n", ",1\n") + "5,c,acquired,k,2\n6,c,released,k,2\n7,a,acquired,k,2\n8,a,released,k,2\n"
	if v, s := judgeText(t, many, "a.csv", formats.CSV, audit.Options{}); v.Outcome != checker.Violated {
		t.Errorf("names of locks that clients share: %s\n%s", v.Outcome, said(s, v))
	}
}
