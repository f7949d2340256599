package audit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// TestGuess: columns are found by their names and by what they hold, and what was found is told.
func TestGuess(t *testing.T) {
	const twoHolders = checker.Violated
	for name, c := range map[string]struct {
		format formats.Format
		log    string
		want   string // the mapping
		unread string
		holds  checker.Outcome
	}{
		"usual names": {formats.CSV, "ts,pod,action,resource,fence\n1.0,a,acquired,k,1\n1.2,b,acquired,k,2\n1.4,a,released,k,1\n1.5,b,released,k,2\n",
			"time=ts client=pod event=action key=resource token=fence", "", twoHolders},
		"a shipper's JSON": {formats.JSON, `{"@timestamp":"2026-11-14T08:00:00.1Z","level":"info","kubernetes":{"pod_name":"a","namespace":"x"},"msg":"acquired","lock":{"name":"k"},"epoch":1}
{"@timestamp":"2026-11-14T08:00:00.2Z","level":"info","kubernetes":{"pod_name":"b","namespace":"x"},"msg":"acquired","lock":{"name":"k"},"epoch":2}
{"@timestamp":"2026-11-14T08:00:00.3Z","level":"info","kubernetes":{"pod_name":"a","namespace":"x"},"msg":"released","lock":{"name":"k"},"epoch":1}
`, "time=@timestamp client=kubernetes.pod_name event=msg key=lock.name token=epoch", "kubernetes.namespace level", twoHolders},
		"names that say nothing": {formats.CSV,
			"c1;c2;c3;key;n\n2026-11-14T08:00:01Z;a;acquired;k;7\n2026-11-14T08:00:02Z;a;released;k;7\n2026-11-14T08:00:03Z;b;acquired;k;8\n" +
				"2026-11-14T08:00:04Z;c;acquired;k;9\n2026-11-14T08:00:05Z;b;released;k;8\n2026-11-14T08:00:06Z;c;released;k;9\n",
			"time=c1 client=c2 event=c3 key=key token=n", "", twoHolders},
		"the number of a line is no token": {formats.CSV,
			"time,client,event,n\n1,a,acquired,1\n2,b,acquired,2\n3,a,released,3\n4,b,released,4\n5,c,acquired,5\n",
			"time=time client=client event=event", "n", twoHolders},
		"a token of an owner is no fence": {formats.CSV,
			"time,client,event,token\n1,a,acquired,7f-a\n2,b,acquired,99-b\n3,a,released,7f-a\n",
			"time=time client=client event=event token=-", "token", twoHolders},
		"of two events the one that is known": {formats.CSV,
			"time,client,type,action\n1,a,audit,acquired\n2,b,audit,acquired\n3,a,audit,released\n",
			"time=time client=client event=action", "type", twoHolders},
		"two names of one client": {formats.CSV,
			"time,pod,worker,event\n1,p1,w1,acquired\n2,p2,w2,acquired\n3,p1,w1,released\n",
			"time=time client=pod event=event", "worker", twoHolders},
		"the host that all share is no client": {formats.CSV,
			"time,owner,client,event\n1,all,a,acquired\n2,all,b,acquired\n3,all,a,released\n",
			"time=time client=client event=event", "owner", twoHolders},
	} {
		v, s := judgeText(t, c.log, "log", c.format, audit.Options{})
		guessed, mapping, unread := s.Columns()
		if got := strings.Join(mapping, " "); got != c.want || strings.Join(unread, " ") != c.unread {
			t.Errorf("%s: %s, unread %q; want %s, unread %s", name, got, unread, c.want, c.unread)
		}
		if strings.Join(guessed, " ") != strings.TrimSuffix(c.want, " token=-") {
			t.Errorf("%s: told that %s was guessed", name, guessed)
		}
		if p := v.Property(checker.MutualExclusion); p.Outcome != c.holds {
			t.Errorf("%s: %s, want %s", name, p.Outcome, c.holds)
		}
	}
}

// TestGuessAsks: where columns can be read in more than one way, nothing is
// judged, and the answer is one mapping away.
func TestGuessAsks(t *testing.T) {
	for name, c := range map[string]struct{ log, wants, answer string }{
		"two clients": {"time,pod,worker,event,key\n1,p1,w1,acquired,k\n2,p1,w2,acquired,k\n3,p2,w1,released,k\n",
			`more than one column may be the field "client": "pod" ("p1", "p2"), "worker" ("w1", "w2")`,
			"time=time client=worker event=event key=key"},
		"two times": {"ts,time,client,event\n1,5,a,acquired\n2,1,b,acquired\n",
			`more than one column may be the field "time": "time" ("5", "1"), "ts" ("1", "2")`, "time=ts client=client event=event"},
		"two events": {"time,client,event,action\n1,a,acquired,released\n2,b,released,acquired\n",
			`may be the field "event": "event"`, "time=time client=client event=action"},
		"a namespace of locks": {"time,pod,event,lock,namespace\n1,a,acquired,k,prod\n2,b,acquired,k,stage\n3,a,released,k,prod\n",
			`more than one column may be the field "key": "lock" ("k"), "lock+namespace" ("k/prod", "k/stage")`,
			"time=time client=pod event=event key=lock+namespace"},
		"a cluster of locks": {"time,pod,event,lock,k8s.cluster_name\n1,a,acquired,k,x\n2,b,acquired,k,y\n3,a,released,k,x\n",
			`more than one column may be the field "key": "lock" ("k"), "lock+k8s.cluster_name" ("k/x", "k/y")`,
			"time=time client=pod event=event key=lock+k8s.cluster_name"},
		"a column that may name the lock": {"time,client,event,bucket\n1,a,acquired,x\n2,b,acquired,y\n3,a,released,x\n4,b,released,y\n",
			`the column "bucket", with values such as "x", "y", may be the field "key", and its name does not say so; if all lines are about one lock, say key=-`, "time=time client=client event=event key=-"},
	} {
		_, err := audit.Read(strings.NewReader(c.log), "log", formats.CSV, audit.Options{})
		var asks *words.Ambiguous
		if !errors.As(err, &asks) || !strings.Contains(err.Error(), c.wants) {
			t.Errorf("%s: %v\nwant …%s…", name, err, c.wants)
			continue
		}
		for _, pairs := range [][]string{asks.Map, strings.Fields(c.answer)} {
			m := map[string]string{}
			for _, pair := range pairs {
				field, column, _ := strings.Cut(pair, "=")
				m[field] = column
			}
			if _, err := audit.Read(strings.NewReader(c.log), "log", formats.CSV, audit.Options{Map: m}); err != nil {
				t.Errorf("%s: with %v: %v", name, pairs, err)
			}
		}
	}
}

// TestKeyOfTwoColumns: holders in two namespaces hold two locks, and those in one the same.
func TestKeyOfTwoColumns(t *testing.T) {
	const lines = `{"ts":1,"at":{"ns":"prod","pod":"a"},"op":"granted","lock":"k"}
{"ts":2,"at":{"ns":"stage","pod":"b"},"op":"granted","lock":"k"}
{"ts":3,"at":{"ns":"stage"},"op":"elected","lock":""}
{"ts":4,"at":{"ns":"prod","pod":"a"},"op":"released","lock":"k"}
{"ts":5,"at":{"ns":"prod","pod":"b"},"op":"granted","lock":"k"}
{"ts":6,"at":{"ns":"stage","pod":"b"},"op":"released","lock":"k"}
`
	const table = "ts,pod,op,lock,ns\n1,a,granted,k,prod\n2,b,granted,k,stage\n4,a,released,k,prod\n5,b,granted,k,prod\n6,b,released,k,stage\n"
	for _, c := range []struct {
		format   formats.Format
		log, key string
		want     checker.Outcome
	}{
		{formats.JSON, lines, "lock+at.ns", checker.Pass},
		{formats.JSON, lines, "lock", checker.Violated},
		{formats.JSON, strings.ReplaceAll(lines, "stage", "prod"), "lock+at.ns", checker.Violated},
		{formats.JSON, strings.ReplaceAll(lines, "stage", "prod"), "", checker.Violated}, // one namespace: nothing to ask
		{formats.CSV, table, "lock+ns", checker.Pass},
		{formats.CSV, strings.ReplaceAll(table, "stage", "prod"), "lock+ns", checker.Violated},
		{formats.CSV, strings.ReplaceAll(table, "4,a,released,k,prod\n", ""), "lock+ns", checker.Inconclusive},
	} {
		o := audit.Options{}
		if c.key != "" {
			o.Map = map[string]string{"key": c.key}
		}
		if v, _ := judgeText(t, c.log, "log", c.format, o); v.Property(checker.MutualExclusion).Outcome != c.want {
			t.Errorf("key=%s: %v, want %v\n%s", c.key, v.Property(checker.MutualExclusion).Outcome, c.want, c.log)
		}
	}
}

// TestModes: a column may tell which holds are shared. Those are refused, exclusive ones judged.
func TestModes(t *testing.T) {
	log := func(mode string) string {
		return "time,pod,event,lock,mode\n1,a,acquired,k," + mode + "\n2,b,acquired,k," + mode + "\n3,a,released,k,\n4,b,released,k,\n"
	}
	for _, shared := range []string{"shared", "Read", "S", "AccessShareLock"} {
		if _, err := audit.Read(strings.NewReader(log(shared)), "log", formats.CSV, audit.Options{}); !errors.Is(err, words.ErrShared) ||
			!strings.Contains(err.Error(), "log:2:16: ") || !strings.Contains(err.Error(), "--map mode=-") {
			t.Errorf("%s: %v", shared, err)
		}
	}
	for _, c := range []struct{ mode, column string }{{"exclusive", ""}, {"write", ""}, {"shared", "-"}} {
		o := audit.Options{}
		if c.column != "" {
			o.Map = map[string]string{"mode": c.column}
		}
		if v, _ := judgeText(t, log(c.mode), "log", formats.CSV, o); v.Property(checker.MutualExclusion).Outcome != checker.Violated {
			t.Errorf("%v: %v", c, v.Property(checker.MutualExclusion).Outcome)
		}
	}
	// other columns, and words that nobody knows
	for _, c := range []struct{ column, mode, asks string }{
		{"shared", "true", "shared holds"}, {"exclusive", "false", "shared holds"}, {"is_shared", "1", "shared holds"},
		{"type", "read", "shared holds"}, {"access", "read", "shared holds"}, {"lock_mode", "IS", "shared holds"}, {"mode", "SHARED_READ", "shared holds"},
		{"mode", "RowExclusiveLock", "shared holds"}, {"lock_type", "reader", "shared holds"}, {"mode", "SharedLock", "shared holds"},
		{"mode", "polite", "nobody knows whether a hold of this mode is shared"}, {"mode", "true", "nobody knows whether a hold of this mode is shared"},
		{"shared", "false", ""}, {"exclusive", "true", ""}, {"type", "write", ""}, {"type", "audit", ""}, {"lock_type", "redis", ""}, {"kind", "job", ""},
		{"mode", "AccessExclusiveLock", ""}, {"mode", "X", ""}, {"mode", "ShareRowExclusiveLock", ""},
	} {
		text := strings.Replace(log(c.mode), "lock,mode", "lock,"+c.column, 1)
		_, err := audit.Read(strings.NewReader(text), "log", formats.CSV, audit.Options{})
		if c.asks != "" {
			if err == nil || !strings.Contains(err.Error(), c.asks) || !strings.Contains(err.Error(), "--map mode=-") {
				t.Errorf("%s=%s: %v", c.column, c.mode, err)
			}
			continue
		}
		if v, s := judgeText(t, text, "log", formats.CSV, audit.Options{}); v.Property(checker.MutualExclusion).Outcome != checker.Violated {
			t.Errorf("%s=%s: %s", c.column, c.mode, said(s, v))
		}
	}
	const both = "time,pod,event,lock,mode,shared\n1,a,acquired,k,write,false\n2,b,acquired,k,write,true\n"
	if _, err := audit.Read(strings.NewReader(both), "log", formats.CSV, audit.Options{}); !errors.Is(err, words.ErrShared) {
		t.Errorf("the second of two columns says it: %v", err)
	}
	// a read of the store is no shared hold
	const read = "time,pod,event,lock,mode\n1,a,acquired,k,write\n2,a,read,k,read\n3,a,released,k,write\n4,b,acquired,k,write\n5,b,released,k,\n"
	if v, _ := judgeText(t, read, "log", formats.CSV, audit.Options{}); v.Property(checker.MutualExclusion).Outcome != checker.Pass {
		t.Errorf("%v", v.Property(checker.MutualExclusion))
	}
}

// TestGuessPassesNothing: what a guess did not see is an error where it comes.
func TestGuessPassesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		format    formats.Format
		log, want string
	}{
		"no header": {formats.CSV, "2026-11-14T08:00:00Z,a,acquired\n",
			"log:1:1: the first line holds a time and no names of columns"},
		"a word that comes late": {formats.CSV, "time,client,event\n" +
			strings.Repeat("1,a,acquired\n1,a,released\n", 5000) + "2,a,SEIZED\n", "log:10002:5: nobody knows what this event means"},
		"a late number": {formats.CSV, "time,client,event,token\n" + strings.Repeat("1,a,acquired,1\n", 9000) +
			"2,a,acquired,x\n", "log:9002:14: a fencing token is a whole number"},
		"a line without client": {formats.JSON, `{"ts":1,"pod":"a","op":"acquired"}` + "\n" +
			`{"ts":2,"pod":null,"op":"acquired"}`, "log:2: no client: say which column it is with --map client=COLUMN"},
	} {
		if _, err := audit.Read(strings.NewReader(c.log), "log", c.format, audit.Options{}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant …%s…", name, err, c.want)
		}
	}
	typo := audit.Options{Map: map[string]string{"token": "fance"}}
	if _, err := audit.Read(strings.NewReader(`{"ts":1,"pod":"a","op":"acquired","fence":3}`), "log", formats.JSON,
		typo); err == nil || !strings.Contains(err.Error(), `no line has the column "fance"`) {
		t.Errorf("a column that is not there: %v", err)
	}
}

// TestPattern: lines of text by a regular expression with named groups.
func TestPattern(t *testing.T) {
	const log = "2026-11-14 08:00:00.1 [a] acquired k #1\n\nstarting up\n2026-11-14 08:00:00.2 [b] acquired k #2\n2026-11-14 08:00:00.3 [a] released k #1\n"
	const pattern = `^(?P<ts>\S+ \S+) \[(?P<pod>\w+)\] (?P<event>\w+) (?P<lock>\w+) #(?P<fence>\d+)`
	o := audit.Options{Pattern: pattern}
	if _, err := audit.Read(strings.NewReader(log), "log", formats.Text, o); err == nil ||
		!strings.Contains(err.Error(), `log:3:1: --pattern does not match this line`) {
		t.Errorf("a line that does not match: %v", err)
	}
	o.SkipUnmatched = true
	v, s := judgeText(t, log, "log", formats.Text, o)
	if p := v.Property(checker.MutualExclusion); p.Outcome != checker.Violated ||
		!strings.Contains(strings.Join(s.Left, " "), "does not match: 1, the first is line 3") {
		t.Errorf("%s, %q", p.Outcome, s.Left)
	}
	if first, last := s.Lines(2); first != 4 || last != 4 || s.Client("k", 2) != "b" {
		t.Errorf("b's grant is on lines %d to %d, by %q", first, last, s.Client("k", 2))
	}
	for pattern, want := range map[string]string{"(": "no regular expression", `\S+`: "names no group"} {
		if _, err := formats.Pattern(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	wrong := strings.Replace(log, "released k", "dropped k", 1)
	if _, err := audit.Read(strings.NewReader(wrong), "log", formats.Text, o); err == nil ||
		!strings.Contains(err.Error(), "log:5:27: nobody knows what this event means") {
		t.Errorf("an unknown word: %v", err)
	}
}
