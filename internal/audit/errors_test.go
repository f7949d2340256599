package audit_test

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// TestErrorsTellThePlace: what can't be read is refused with its file, line and
// column, the offending text, and what was wanted.
func TestErrorsTellThePlace(t *testing.T) {
	const ok = "{:type :invoke, :f :acquire, :process 0, :time 5}\n"
	const head = "ts,pod,action,lock,fence\n"
	reader := audit.Options{Events: map[string][]string{"acquire": {"X"}}}
	for name, c := range map[string]struct {
		text    string
		format  formats.Format
		options audit.Options
		want    string
	}{
		"EDN that is none": {ok + "{:type :ok, :value @}\n", formats.Jepsen, audit.Options{}, `h:2:22: no EDN: `},
		"a map cut": {ok + "  {:type :ok, :value \"a\"", formats.Jepsen, audit.Options{},
			`h:2:3: the file ends before the '}' that closes this, near "{:type :ok`},
		"a string cut": {ok + "{:type :ok, :value \"a\n", formats.Jepsen, audit.Options{},
			`h:2:22: the file ends inside of a string or character`},
		"a vector cut":       {"[" + ok, formats.Jepsen, audit.Options{}, `the file ends before the ']' that closes the whole`},
		"a bracket too many": {ok + "}", formats.Jepsen, audit.Options{}, `h:2:1: a closing bracket that closes nothing, near "}"`},
		"a type": {ok + "{:type :okay, :f :acquire, :process 0}", formats.Jepsen, audit.Options{},
			`h:2:2: an op's :type is :invoke, :ok, :fail or :info, not "okay", near ":type :okay`},
		"a completion": {"{:type :ok, :f :acquire, :process 4}", formats.Jepsen, audit.Options{},
			`h:1:26: process 4 completes an op that it did not invoke, near ":process 4}"`},
		"two at a time": {ok + "\n" + ok, formats.Jepsen, audit.Options{},
			`h:3:30: process 0 invokes an op while that of line 1 is open`},
		"another completion": {ok + "{:type :ok, :f :release, :process 0, :time 6}", formats.Jepsen, audit.Options{},
			`h:2:13: process 0 completes a acquire with a release`},
		"an index": {"{:index 3, :type :info, :f :acquire, :process 0}{:index 3, :type :info, :f :acquire, :process 0}",
			formats.Jepsen, audit.Options{}, `h:1:50: index 3 after 3: the history is not in order`},
		"times, then none": {ok + "{:type :ok, :f :acquire, :process 0}", formats.Jepsen, audit.Options{},
			`h:2:1: some ops have a :time and some have none`},
		"a time": {"{:type :invoke, :f :acquire, :process 0, :time \"noon\"}", formats.Jepsen,
			audit.Options{}, `h:1:42: :time is a number of nanoseconds`},
		"readers and writers": {"{:type :invoke, :f :acquire-read, :process 0}", formats.Jepsen, audit.Options{},
			`h:1:17: a reader-writer lock: shared holds are not judged`},
		"two permits": {"{:type :invoke, :f :acquire, :process 0, :value {:permits 2}}", formats.Jepsen,
			audit.Options{}, `h:1:42: an op for 2 permits at once`},
		"no lock at all": {"{:type :invoke, :f :read, :process 0}", formats.Jepsen, audit.Options{}, `h:1: there is no acquire in it`},
		"deep brackets":  {strings.Repeat("[", 400), formats.Jepsen, audit.Options{}, `more than 256 brackets in each other`},
		"an untimed error": {"{:type :invoke, :f :acquire, :process 0}", formats.Jepsen, audit.Options{ClockError: 5},
			`h has no times, so there is nothing that --clock-error could widen`},
		"JSON that is none": {"{\"ClientId\":1,\n \"Input\":acquire}", formats.Porcupine, audit.Options{},
			`h:2:10: invalid character 'a'`},
		"JSON of another kind": {`{"ClientId":{}}`, formats.Porcupine, audit.Options{}, `h:1:`},
		"no client":            {`{"Input":"lock","Call":1}`, formats.Porcupine, audit.Options{}, `h:1:1: an op needs its ClientId`},
		"an op": {`{"ClientId":1,"Input":"juggle","Call":1}`, formats.Porcupine, audit.Options{},
			`h:1:15: unknown op "juggle": want acquire`},
		"time runs backwards": {`{"ClientId":1,"Input":"lock","Call":9,"Return":8}`, formats.Porcupine, audit.Options{},
			`h:1:39: it returns at 8, before its call at 9`},
		"an answer": {`{"ClientId":1,"Input":"lock","Call":9,"Return":10,"Output":"perhaps"}`,
			formats.Porcupine, audit.Options{}, `h:1:51: an answer "perhaps" that nobody knows`},
		"a return alone": {`{"ClientId":1,"Kind":true,"Value":null,"Id":7}`, formats.Porcupine, audit.Options{},
			`h:1:40: event 7 returns without a call`},
		"a quote":           {head + "2,\"a,released,k,1\n", formats.CSV, audit.Options{}, `h:2:`},
		"a heading's quote": {"ts,\"pod,action\n1,a,acquired\n", formats.CSV, audit.Options{}, `h:`},
		"a field missing": {head + "1,a,acquired,k\n", formats.CSV, audit.Options{},
			`h:2:1: wrong number of fields, near "1,a,acquired,k"`},
		"a word": {head + "1,a,BLOCKED,k,1\n", formats.CSV, audit.Options{},
			`h:2:5: nobody knows what this event means: say so with --events, as one of acquire, request, grant, busy, release, not-held, renew, lost, read, write, refused, ignore, near "BLOCKED"`},
		"a log's time": {head + "1,a,acquired,k,1\nnoon,a,released,k,1\n", formats.CSV, audit.Options{},
			`h:3:1: no time that is known here: see --time-format, near "noon"`},
		"a date of day and month, in either order": {head + "03/01/2026 10:00:00.5 am,a,acquired,k,1\n", formats.CSV, audit.Options{},
			`h:2:1: no time that is known for certain: is it --time-format '1/2/2006 3:04:05.999999999 PM' or --time-format '2/1/2006 3:04:05.999999999 PM'?`},
		"a date of which one order fits": {head + "31.01.2026 10:00,a,acquired,k,1\n", formats.CSV, audit.Options{},
			`h:2:1: no time that is known for certain: is it --time-format '2.1.2006 15:04'?`},
		"a date of no month": {head + "31.13.2026 10:00,a,acquired,k,1\n", formats.CSV, audit.Options{}, `h:2:1: no time that is known here`},
		"a layout's time": {head + "12:61,a,acquired,k,1\n", formats.CSV, audit.Options{TimeFormat: "2006 15:04"},
			`h:2:1: parsing time`},
		"thirty-one years": {head + "1000000000,a,acquired,k,1\n2000000000,a,released,k,1\n", formats.CSV,
			audit.Options{}, `h: its times are more than 30 years apart: see --time-format`},
		"and of MONITOR": {monitored(`1 "SET" "k" "a" "NX" "PX" "9"`, `1 "eval" `+extends+` "a" "9"`,
			`lua "get" "k"`, `lua "pexpire" "k" "9"`, `2 "SET" "k" "b" "NX" "PX" "9"`) +
			`2700000000.000001 [0 127.0.0.1:2] "eval" ` + extends + ` "b" "9"` + "\n" +
			`2700000000.000002 [0 lua] "get" "k"` + "\n" + `2700000000.000003 [0 lua] "pexpire" "k" "9"` + "\n",
			formats.Monitor, audit.Options{}, `h: its times are more than 30 years apart`},
		"a token": {head + "1,a,acquired,k,7f\n", formats.CSV, audit.Options{},
			`h:2:16: a fencing token is a whole number, 0 or more, near "7f"`},
		"a column": {head, formats.CSV, audit.Options{Map: map[string]string{"client": "host"}},
			`h:1:1: there is no column "host" for the field "client"; the columns are ts, pod, action, lock, fence`},
		"a field": {head, formats.CSV, audit.Options{Map: map[string]string{"clint": "pod"}},
			`a column can't be mapped to "clint"; the fields are time, end, client`},
		"no client column": {"ts,action\n1,acquired\n", formats.CSV, audit.Options{},
			`h:2: no client: say which column it is with --map client=COLUMN, near "1 acquired"`},
		"an empty log":        {"", formats.CSV, audit.Options{}, `h:1: empty file`},
		"a log without locks": {head, formats.CSV, audit.Options{}, `h:1: there is no acquire in it, and no write with a token`},
		"a result": {"ts,pod,action,result\n1,a,acquire,maybe\n", formats.CSV, audit.Options{},
			`h:2:13: nobody knows this result`},
		"it ends first": {"start,end,pod,action\n2,1,a,acquired\n", formats.CSV, audit.Options{},
			`h:2:3: it ends before it begins, near "1"`},
		"shared": {head + "1,a,read_lock,k,1\n", formats.CSV, audit.Options{}, `h:2:5: a reader-writer lock`},
		"a nested value": {`{"ts":1,"pod":["a"],"action":"acquired"}`, formats.JSON, audit.Options{},
			`h:1:9: pod, for the field "client", is no single value`},
		"a line that is none": {"{\"ts\":1,\"pod\":\"a\",\"action\":\"acquired\"}\n7\n", formats.JSON, audit.Options{},
			`h:2:1: json: cannot unmarshal number`},
		"JSON's event": {`{"ts":1,"pod":"a","action":"BLOCKED"}`, formats.JSON, audit.Options{},
			`h:1:19: nobody knows what this event means`},
		"a meaning": {head, formats.CSV, audit.Options{Events: map[string][]string{"have": {"X"}}},
			`an event can't mean "have"; it can mean acquire, request`},
		"two meanings": {head, formats.CSV,
			audit.Options{Events: map[string][]string{"release": {"X"}, "acquire": {"X"}}}, `the event "X" is given two meanings`},
		"a time format": {head, formats.CSV, audit.Options{TimeFormat: "stardate"}, `unknown time format "stardate"`},
		"permits and owners": {head, formats.CSV, audit.Options{Permits: 2, Reentrant: true},
			`a reentrant lock with more than one permit is not judged`},
		"a native history": {"{}", formats.Native, reader, `format "lockchaos" is not a foreign one`},
	} {
		_, err := audit.Read(strings.NewReader(c.text), "h", c.format, c.options)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant …%s…", name, err, c.want)
		}
	}
}

// TestTimes: the times that logs have.
func TestTimes(t *testing.T) {
	for format, times := range map[string][2]string{
		"auto":                       {"2026-11-14T08:00:00.25Z", "2026-11-14T09:00:00.5+01:00"},
		"":                           {"1763107200.25", "1763107200.500"},
		"rfc3339":                    {"2026-11-14T08:00:00.25Z", "2026-11-14T08:00:00.5Z"},
		"unix":                       {"1763107200.25", "1763107200.5"},
		"unix-ms":                    {"1763107200250", "1763107200500"},
		"unix-us":                    {"1763107200250000", "1763107200500000.0"},
		"unix-ns":                    {"1763107200250000000", "1763107200500000000"},
		"02/Jan/2006:15:04:05 -0700": {"14/Nov/2026:08:00:00.25 +0000", "14/Nov/2026:09:00:00.5 +0100"},
	} {
		log := "ts\tpod\taction\n" + times[0] + "\ta\tlock.acquired\n" + times[1] + "\ta\tLOCK_RELEASED\n"
		_, s := judgeText(t, log, "a.tsv", formats.CSV, audit.Options{TimeFormat: format})
		if got := s.Header.Started.Nanosecond(); got/1e6 != 250 && got/1e6 != 249 {
			t.Errorf("%s: the log begins at %s", format, s.Header.Started)
		}
		if y := s.Header.Started.Year(); y != 2026 && y != 2025 {
			t.Errorf("%s: the log begins at %s", format, s.Header.Started)
		}
		if lines := [2]int{first(s.Lines(1)), first(s.Lines(2))}; lines != [2]int{2, 3} || s.Client("lock", 1) != "a" {
			t.Errorf("%s: ops on lines %v, by %q", format, lines, s.Client("lock", 1))
		}
	}
}

func first(a, _ int) int { return a }
