package audit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// TestDoubtedResults: a column with a strange name may say that an acquire was refused, or only
// began. It is asked about where the log without it would accuse a lock that may be correct, and
// where it is mapped it is read.
func TestDoubtedResults(t *testing.T) {
	const replies = "1,a,lock,k,%y\n2,b,lock,k,%n\n3,a,unlock,k,%y\n4,b,lock,k,%y\n5,b,unlock,k,%y\n"
	const phases = "1,a,lock,k,%n\n2,a,lock,k,%y\n3,b,lock,k,%n\n4,a,unlock,k,%n\n5,a,unlock,k,%y\n6,b,lock,k,%y\n7,b,unlock,k,%n\n8,b,unlock,k,%y\n"
	const alone = "1,a,lock,k,%n\n2,a,lock,k,%y\n3,a,unlock,k,%n\n4,a,unlock,k,%y\n5,b,lock,k,%n\n6,b,lock,k,%y\n7,b,unlock,k,%n\n8,b,unlock,k,%y\n"
	const regardless = "1,a,lock,k,%y\n2,b,lock,k,%n\n2.5,b,unlock,k,%n\n3,a,unlock,k,%y\n4,b,lock,k,%y\n5,b,unlock,k,%y\n"
	for _, c := range []struct{ column, log, yes, no string }{
		{"pg_try_advisory_lock", replies, "t", "f"}, {"reply", replies, "1", "0"}, {"reply", replies, "OK", ""},
		{"answer", replies, "yes", "no"}, {"code", replies, "0", "17"}, {"why", replies, "", "held by a"},
		{"reply", regardless, "1", "0"}, {"msg", replies, "welcome", "come later"},
		{"phase", phases, "return", "call"}, {"phase", phases, "exit", "enter"}, {"phase", phases, "after", "before"},
		{"phase", phases, "response", "request"}, {"type", phases, "ok", "invoke"}, {"ph", phases, "E", "B"},
		{"type", phases, "resp", "req"}, {"step", phases, "2", "1"}, {"phase", alone, "out", "in"}, {"phase", phases, "end", "start"},
	} {
		text := "ts,pod,op,lock," + c.column + "\n" + strings.NewReplacer("%y", c.yes, "%n", c.no).Replace(c.log)
		_, err := audit.Read(strings.NewReader(text), "a.csv", formats.CSV, audit.Options{})
		asks, ok := errors.AsType[*words.Ambiguous](err)
		if !ok || asks.Field != "result" || strings.Join(asks.Columns, " ") != c.column {
			t.Errorf("%s, %q and %q: %v", c.column, c.yes, c.no, err)
			continue
		}
		o := audit.Options{Map: map[string]string{"result": c.column}, Results: map[string][]string{"ok": {c.yes}, "fail": {c.no}}}
		if strings.Contains(c.log, "1,a,lock,k,%n") {
			o.Results = map[string][]string{"ok": {c.yes}, "begins": {c.no}}
		}
		v, s := judgeText(t, text, "a.csv", formats.CSV, o)
		if v.Outcome != checker.Pass {
			t.Errorf("%s, %q and %q: %s\n%s", c.column, c.yes, c.no, v.Outcome, said(s, v))
		}
		s.Close()
		o = audit.Options{Map: map[string]string{"result": "-"}}
		if v, s = judgeText(t, text, "a.csv", formats.CSV, o); c.log == replies && v.Outcome != checker.Violated {
			t.Errorf("%s, %q and %q: without the column %s\n%s", c.column, c.yes, c.no, v.Outcome, said(s, v))
		}
		s.Close()
	}
}

// TestInnocentColumns: columns that say nothing of how an acquire ended are not asked about, though
// they have two values, or none on some lines: not in a log without violations, and not in one with
// a violation that they do not explain.
func TestInnocentColumns(t *testing.T) {
	const head = "ts,pod,op,lock,region,attempt,cached,method,priority,note,host,slow\n"
	const clean = head + `1,a,lock,k,eu,1,true,GET,high,,h1,
2,a,unlock,k,eu,1,true,GET,high,,h1,
3,b,lock,k,us,2,false,PUT,low,first,h2,yes
4,b,unlock,k,us,2,false,PUT,low,,h2,
5,a,lock,k,eu,1,false,PUT,low,,h1,
6,a,unlock,k,eu,2,true,GET,low,,h1,
`
	const dirty = clean + `7,a,lock,k,eu,1,true,GET,high,,h1,
8,b,lock,k,us,2,false,PUT,low,second,h2,yes
9,b,unlock,k,us,2,false,PUT,low,,h2,
10,a,unlock,k,eu,1,true,GET,high,,h1,
11,a,lock,k,eu,2,false,PUT,low,,h1,
12,a,unlock,k,eu,2,false,PUT,low,,h1,
`
	for log, want := range map[string]checker.Outcome{clean: checker.Pass, dirty: checker.Violated,
		// b is stopped, and never heard of again
		strings.Replace(dirty, "9,b,unlock,k,us,2,false,PUT,low,,h2,\n", "", 1): checker.Violated} {
		s, err := audit.Read(strings.NewReader(log), "a.csv", formats.CSV, audit.Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		answers(t, "innocent columns", s, want, "")
	}
}

// TestContradictedResults: a result that says ok of every acquire may be that of the call. Where
// another column explains what it does not, it is asked which one counts.
func TestContradictedResults(t *testing.T) {
	const log = `{"ts":1,"pod":"a","op":"lock","key":"k","ok":true,"status":"granted"}
{"ts":2,"pod":"b","op":"lock","key":"k","ok":true,"status":"%s"}
{"ts":3,"pod":"a","op":"unlock","key":"k","ok":true,"status":"released"}
{"ts":4,"pod":"b","op":"lock","key":"k","ok":true,"status":"granted"}
{"ts":5,"pod":"b","op":"unlock","key":"k","ok":true,"status":"released"}
`
	_, err := audit.Read(strings.NewReader(fmt.Sprintf(log, "denied")), "log", formats.JSON, audit.Options{})
	if err == nil || !strings.Contains(err.Error(), `more than one column may be the field "result": "status" ("granted", "denied"), "ok" ("true")`) {
		t.Error(err)
	}
	for status, want := range map[string]checker.Outcome{"denied": checker.Pass, "granted": checker.Violated} {
		v, s := judgeText(t, fmt.Sprintf(log, status), "log", formats.JSON, audit.Options{Map: map[string]string{"result": "status"}})
		if v.Outcome != want {
			t.Errorf("%s: %s, want %s\n%s", status, v.Outcome, want, said(s, v))
		}
		s.Close()
	}
	v, s := judgeText(t, fmt.Sprintf(log, "granted"), "log", formats.JSON, audit.Options{})
	defer s.Close()
	if v.Outcome != checker.Violated {
		t.Errorf("both say ok: %s\n%s", v.Outcome, said(s, v))
	}
}

// TestResultsOfNumbers: of 0 and 1 either may be success. The name of the column says which one, or
// the user is asked.
func TestResultsOfNumbers(t *testing.T) {
	const log = "1,a,lock,k,%y\n2,b,lock,k,%n\n3,a,unlock,k,%y\n4,b,lock,k,%y\n5,b,unlock,k,%y\n"
	const twice = "1,a,lock,k,%y\n2,b,lock,k,%y\n3,c,lock,k,%n\n4,a,unlock,k,%y\n5,b,unlock,k,%y\n"
	for _, c := range []struct{ column, yes, no, asks string }{
		{"ok", "1", "0", ""}, {"granted", "1", "0", ""}, {"success", "1", "0", ""}, {"exit_code", "0", "1", ""}, {"rc", "0", "1", ""},
		{"status", "0", "1", "ok=0,fail=1"}, {"status", "1", "0", "ok=1,fail=0"}, {"result", "0", "1", "ok=0,fail=1"},
	} {
		for lines, want := range map[string]checker.Outcome{log: checker.Pass, twice: checker.Violated} {
			text := "ts,pod,op,lock," + c.column + "\n" + strings.NewReplacer("%y", c.yes, "%n", c.no).Replace(lines)
			o := audit.Options{}
			if c.asks != "" {
				if _, err := audit.Read(strings.NewReader(text), "a.csv", formats.CSV, o); err == nil || !strings.Contains(err.Error(), "--results "+c.asks) {
					t.Errorf("%s: %v", c.column, err)
				}
				o.Results = map[string][]string{"ok": {c.yes}, "fail": {c.no}}
			}
			v, s := judgeText(t, text, "a.csv", formats.CSV, o)
			if v.Outcome != want {
				t.Errorf("%s, %q and %q: %s, want %s\n%s", c.column, c.yes, c.no, v.Outcome, want, said(s, v))
			}
			s.Close()
		}
	}
	// the first lines of a log say nothing there
	late := "ts,pod,op,lock,status\n" + strings.Repeat("1,a,lock,k,\n1,a,unlock,k,\n", 5000) + "2,b,lock,k,0\n"
	if _, err := audit.Read(strings.NewReader(late), "a.csv", formats.CSV, audit.Options{}); err == nil || !strings.Contains(err.Error(), "a.csv:10002:12: nobody knows whether 0 means success") {
		t.Error(err)
	}
}
