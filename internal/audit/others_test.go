package audit_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/reports"
)

// others are logs as other people write them, in testdata/others, with the
// answer that is right. Kinds are those of the files' names.
var others = []struct {
	file    string
	options audit.Options
	want    checker.Outcome
	why     string // that the violations, or else the reasons, must say
}{
	{"k01-second-grant-hides-first.csv", audit.Options{}, checker.Violated, "a and b both held k from 00:00:04.100 to 00:00:05.100"},
	{"k01-two-threads-one-pod.csv", audit.Options{}, checker.Violated,
		"shop-0/task-4 and shop-0/task-2 both held order:1400 from 12:00:07.541 to 12:00:07.900"},
	{"k01-two-threads-one-pod.csv", audit.Options{Map: map[string]string{"client": "pod+thread"}}, checker.Violated,
		"shop-0/task-4 and shop-0/task-2 both held order:1400"},
	{"k01-two-threads-one-pod.csv", audit.Options{Map: map[string]string{"client": "pod"}}, checker.Inconclusive,
		"Line 3: shop-0 was granted order:1400 again, and had not given it up"},
	{"k02-leader-not-told.csv", audit.Options{}, checker.Violated, "ctl-a and ctl-b both held kcm from 03:40:42.274 to 03:41:12.110"},
	{"k03-ttl-shorter-than-the-wait.csv", audit.Options{Validity: &audit.Validity{TTL: 15 * time.Second}},
		checker.Inconclusive, "1 grant was waited for"},
	{"k04-zone-names.csv", audit.Options{TimeFormat: "2006-01-02 15:04:05 MST",
		Zones: map[string]string{"MSK": "+03:00"}}, checker.Violated, "srv-1 and srv-2 both held leader from 15:00:50.000 to 15:01:30.000"},
	{"k04-zone-names.csv", audit.Options{Timezone: "Europe/Moscow"}, checker.Violated,
		"srv-1 and srv-2 both held leader from 15:00:50.000 to 15:01:30.000"},
	{"k04-some-without-zone.csv", audit.Options{Timezone: "Africa/Cairo"}, checker.Violated,
		"p1 and p2 both held k from 10:00:30.000 to 10:01:00.000"},
	{"k04-clock-set-back-an-hour.csv", audit.Options{}, checker.Pass, ""},
	{"k04-clock-set-back-an-hour.csv", audit.Options{Timezone: "America/New_York"}, checker.Pass, ""},
	{"k04-clock-set-back-an-hour.csv", audit.Options{Timezone: "UTC"}, checker.Violated, "p1 and p2 both held k"},
	{"k05-klog.log", audit.Options{Pattern: `^I(?P<time>\d{4} \S+) .*\] (?P<client>\S+) (?P<event>\S+) (?P<key>\S+)`,
		TimeFormat: "0102 15:04:05.000000", Date: "2026-11-26"}, checker.Violated,
		"worker-2 and worker-1 both held shard/aa from 11:52:44.100 to 11:52:45.200"},
	{"k05-time-only.log", audit.Options{Pattern: `^(?P<time>\S+) \[(?P<client>[^]]+)\].* - (?P<event>\S+) (?P<key>\S+)`,
		TimeFormat: "15:04:05.000", FileDate: "2026-11-26"}, checker.Violated,
		"pool-4 and pool-44 both held /lb/leader from 18:14:56.100 to 18:14:56.849"},
	{"k05-time-only-midnight.log", audit.Options{Pattern: `^(?P<time>\S+) \S+ node=(?P<client>\S+) (?P<event>\S+) (?P<key>\S+)`, FileDate: "2026-11-26"}, checker.Violated,
		"a and b both held peers from 2026-11-27 00:00:00.500 to 2026-11-27 00:00:01.500"},
	{"k09-other-messages.jsonl", audit.Options{}, checker.Violated, "h1 and h2 both held inv from 10:00:04.500 to 10:00:06.500"},
	{"k09-banner-and-panic.jsonl", audit.Options{}, checker.Violated, "a and b both held k from 00:00:10.100 to 00:00:12.100"},
	{"k17-utf16.csv", audit.Options{}, checker.Inconclusive, "No key was granted to two clients"},
	{"k18-constant-type-column.json", audit.Options{}, checker.Violated, "b-0 and b-1 both held inv from 10:00:05.400 to 10:00:08.400"},
	{"k15-hold-of-no-length.csv", audit.Options{}, checker.Violated,
		"n1 and n2 both held k at 14:06:08.000: n1 held it until 14:06:28.000, and for how long n2 held it is not told"},
	{"k15-two-times-in-one-sentence.csv", audit.Options{Validity: released}, checker.Violated,
		"granted kcm at 03:40:28.110 and 03:40:42.275:"},
	{"k15-rows-of-nothing.csv", audit.Options{ClockError: 100 * time.Millisecond}, checker.Inconclusive,
		"the clocks, which err by up to 100ms"},
	{"k15-nested-named-failed.csv", audit.Options{Reentrant: true}, checker.Violated,
		"a and b both held k from 00:00:03.100 to 00:00:04.100"},
	{"k16-offset-without-colon.csv", audit.Options{}, checker.Pass, ""},
	{"k06-job-runs.csv", audit.Options{Map: map[string]string{"begin": "started_at", "end": "finished_at"}},
		checker.Violated, "w1 and w2 both held invoice from 00:03:55.100 to 00:04:10.200"},
	{"k07-holder-known-by-renewals.csv", audit.Options{}, checker.Violated, "a and b both held leader from 00:00:15.100 to 00:00:30.100"},
	{"k07-two-heartbeats.csv", audit.Options{}, checker.Violated, "a and b both held leader from 00:00:05.100 to 00:00:15.100"},
	{"k08-revision-rises-on-renewal.csv", audit.Options{}, checker.Violated,
		"a (token 1000) and b (token 1025) both held cron from 00:00:03.100 to 00:00:05.100"},
	{"k08-revision-rises-on-renewal.csv", audit.Options{Tokens: "version"}, checker.Violated,
		"both held cron from 00:00:03.100 to 00:00:05.100"},
	{"k08-revision-rises-on-renewal.csv", audit.Options{Tokens: "none"}, checker.Violated,
		"a and b both held cron from 00:00:03.100 to 00:00:05.100"},
	{"k08-revision-rises-on-renewal.csv", audit.Options{Tokens: "fencing"}, checker.Inconclusive,
		"Line 3 and 4 lines like it: it has another token than the grant that its client holds"},
	{"k11-prefixed-json.log", audit.Options{}, checker.Violated, "app-1 and app-2 both held k from 00:00:10.100 to 00:00:12.100"},
	{"k12-newest-first.csv", audit.Options{Validity: released}, checker.Pass, ""},
	{"k12-newest-first.csv", audit.Options{}, checker.Pass, ""},
	{"k13-try-lock-false.edn", audit.Options{}, checker.Pass, ""},
	{"k13-jepsen.json", audit.Options{}, checker.Violated, "process 3 and process 0 both held lock"},
	{"k13-try-lock-false.edn", audit.Options{Results: map[string][]string{"ok": {"false"}}}, checker.Violated, "both held lock"},
}

var released = &audit.Validity{Released: true}

// readOther reads a log as check does: its form is recognised.
func readOther(t testing.TB, file string, o audit.Options) (*audit.Source, error) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "others", file))
	if err != nil {
		t.Fatal(err)
	}
	format := formats.Text
	if o.Pattern == "" {
		if format, err = formats.Detect(text[:min(len(text), formats.DetectBytes)], file, len(o.Map) > 0); err != nil {
			return nil, err
		}
	}
	return audit.Read(strings.NewReader(string(text)), file, format, o)
}

// said is what a verdict says of violations, with the times of the log, and of reasons.
func said(s *audit.Source, v checker.Verdict) string {
	var text strings.Builder
	for _, p := range reports.Relabeled(&s.Header, v).Properties {
		for _, x := range p.Violations {
			fmt.Fprintln(&text, x.Text)
		}
	}
	return text.String() + strings.Join(v.Reasons, "\n")
}

// answers judges a file, closes it, and sees to it that the answer is right and says why.
func answers(t *testing.T, name string, s *audit.Source, want checker.Outcome, why string) {
	t.Helper()
	defer s.Close()
	v := judge(t, s)
	if text := said(s, v); v.Outcome != want || !strings.Contains(text, why) {
		t.Errorf("%s: %s, want %s with %q:\n%s", name, v.Outcome, want, why, text)
	}
}

// TestLogsOfOthers: each log gets the answer that is right, and says why.
func TestLogsOfOthers(t *testing.T) {
	for _, c := range others {
		s, err := readOther(t, c.file, c.options)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		answers(t, c.file, s, c.want, c.why)
	}
}

// TestGrantedTwice: a client that is granted a key under a grant of its own is two, or the
// log does not tell. Such a log never passes, and what its client gives up last counts.
func TestGrantedTwice(t *testing.T) {
	ttl := &audit.Validity{TTL: time.Second}
	for name, c := range map[string]struct {
		log     string
		options audit.Options
		want    checker.Outcome
		why     string
	}{
		"both are given up": {"1,a,acquired,k,\n2,a,acquired,k,\n3,a,released,k,\n4,a,released,k,\n5,b,acquired,k,\n6,b,released,k,\n", audit.Options{}, checker.Inconclusive,
			"Line 3: a was granted k again, and had not given it up"},
		"one is given up":                 {"1,a,acquired,k,\n2,a,acquired,k,\n3,a,released,k,\n5,b,acquired,k,\n6,b,released,k,\n", audit.Options{}, checker.Inconclusive, "had not given it up"},
		"by their tokens":                 {"1,a,acquired,k,5\n2,a,acquired,k,6\n3,a,released,k,6\n4,b,acquired,k,7\n5,b,released,k,7\n6,a,released,k,5\n", audit.Options{}, checker.Violated, "a (token 5) and b (token 7) both held k"},
		"the outer one is renewed":        {"1,a,acquired,k,\n2,a,acquired,k,\n3,a,released,k,\n4,b,acquired,k,\n5,a,renewed,k,\n6,b,released,k,\n", audit.Options{}, checker.Violated, "a and b both held k"},
		"another grant lies between":      {"1,a,acquired,k,\n2,a,acquired,k,\n3,a,released,k,\n4,b,acquired,k,\n5,b,released,k,\n6,a,acquired,k,\n7,a,released,k,\n8,a,released,k,\n", audit.Options{}, checker.Inconclusive, "Line 9: it is about a grant that the history does not have"},
		"the lease before it had run out": {"1,a,acquired,k,\n3,a,acquired,k,\n3.500,a,released,k,\n5,b,acquired,k,\n5.5,b,released,k,\n", audit.Options{Validity: ttl}, checker.Pass, ""},
		"the one before was lost":         {"1,a,acquired,k,\n2,a,lost,k,\n3,a,acquired,k,\n4,a,released,k,\n5,b,acquired,k,\n6,b,released,k,\n", audit.Options{}, checker.Pass, ""},
		"reentrant":                       {"1,a,acquired,k,\n2,a,acquired,k,\n3,a,released,k,\n4,a,released,k,\n5,b,acquired,k,\n6,b,released,k,\n", audit.Options{Reentrant: true}, checker.Pass, ""},
	} {
		v, s := judgeText(t, "ts,pod,action,lock,fence\n"+c.log, "a.csv", formats.CSV, c.options)
		if text := said(s, v); v.Outcome != c.want || !strings.Contains(text, c.why) {
			t.Errorf("%s: %s, want %s with %q:\n%s", name, v.Outcome, c.want, c.why, text)
		}
	}
}

// TestWaitedGrants: the time to live of a grant that was waited for may have
// begun to count as late as the grant, unless the attempt that succeeded is told.
func TestWaitedGrants(t *testing.T) {
	ttl := audit.Options{Validity: &audit.Validity{TTL: 15 * time.Second}}
	for name, c := range map[string]struct {
		log  string
		want checker.Outcome
	}{
		"a request on a line of its own":    {"0,,a,request\n20,,a,granted\n22,,b,granted\n", checker.Inconclusive},
		"a shorter wait":                    {"0,,a,request\n10,,a,granted\n20,,b,granted\n", checker.Inconclusive},
		"all on one line":                   {"0,20,a,granted\n21,22,b,granted\n", checker.Inconclusive},
		"the attempt is told":               {"0,,a,request\n19,20,a,granted\n36,,b,granted\n37,,b,released\n", checker.Pass},
		"the attempt is told, and too near": {"0,,a,request\n19,20,a,granted\n33,,b,granted\n37,,b,released\n", checker.Violated},
		"long after":                        {"0,,a,request\n20,,a,granted\n36,,b,granted\n37,,b,released\n", checker.Pass},
	} {
		if v, s := judgeText(t, "ts,end,pod,action\n"+c.log, "a.csv", formats.CSV, ttl); v.Outcome != c.want {
			t.Errorf("%s: %s, want %s\n%s", name, v.Outcome, c.want, said(s, v))
		}
	}
}

// TestNumbersOfWrites: a number that rises within a hold is that of a write,
// and the answer says so. A token that only a missing grant explains stays one.
func TestNumbersOfWrites(t *testing.T) {
	const taken = "rises while a client holds its lock"
	for name, c := range map[string]struct {
		log  string
		want checker.Outcome
		says bool
	}{
		"revisions, and a hand-over in order": {"1,a,acquired,k,5\n2,a,renewed,k,6\n3,a,released,k,7\n4,b,acquired,k,8\n5,b,released,k,9\n", checker.Pass, true},
		"newest first":                        {"5,b,released,k,9\n4,b,acquired,k,8\n3,a,released,k,7\n2,a,renewed,k,6\n1,a,acquired,k,5\n", checker.Pass, true},
		"a grant that the log lacks":          {"1,a,acquired,k,5\n2,a,renewed,k,5\n3,a,released,k,5\n4,b,acquired,k,6\n4.5,b,renewed,k,8\n5,b,released,k,6\n", checker.Inconclusive, false},
		"fences":                              {"1,a,acquired,k,5\n2,a,renewed,k,5\n3,a,released,k,5\n4,b,acquired,k,6\n5,b,released,k,6\n", checker.Pass, false},
	} {
		v, s := judgeText(t, "ts,pod,action,lock,fence\n"+c.log, "a.csv", formats.CSV, audit.Options{})
		if says := strings.Contains(strings.Join(s.Assumed, "\n"), taken); v.Outcome != c.want || says != c.says {
			t.Errorf("%s: %s, want %s; it says so: %v\n%s", name, v.Outcome, c.want, says, said(s, v))
		}
	}
}

// TestAnswersFalse: the value false of an op that was answered :ok is a refusal
// where others are true. Where none is, it is asked for.
func TestAnswersFalse(t *testing.T) {
	const log = "{:type :invoke, :f :acquire, :process 0, :time 1}\n{:type :ok, :f :acquire, :process 0, :time 2, :value false}\n"
	_, err := audit.Read(strings.NewReader(log), "h", formats.Jepsen, audit.Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "h:2:1: ") || !strings.Contains(err.Error(), "--results fail=false") {
		t.Error(err)
	}
	if _, s := judgeText(t, log, "h", formats.Jepsen, audit.Options{Results: map[string][]string{"fail": {"false"}}}); len(s.Assumed) == 0 {
		t.Error("nothing is assumed")
	}
}

// TestTaughtResults: words of the result column can be taught.
func TestTaughtResults(t *testing.T) {
	o := audit.Options{Results: map[string][]string{"ok": {"oui"}, "fail": {"non"}}}
	v, s := judgeText(t, "ts,pod,action,result\n1,a,lock,oui\n2,b,lock,non\n3,a,unlock,oui\n4,b,lock,oui\n5,b,unlock,oui\n", "a.csv", formats.CSV, o)
	if v.Outcome != checker.Pass {
		t.Errorf("%s\n%s", v.Outcome, said(s, v))
	}
}

// TestAttempts: an attempt whose record has a result is answered; one without is a request.
func TestAttempts(t *testing.T) {
	for name, c := range map[string]struct {
		log  string
		want checker.Outcome
	}{
		"one after the other":     {"1,a,tryLock,true\n2,b,tryLock,false\n3,a,unlock,true\n4,b,try_lock,true\n5,b,unlock,true\n", checker.Pass},
		"two at once":             {"1,a,tryAcquire,ok\n2,b,tryAcquire,ok\n3,a,unlock,ok\n5,b,unlock,ok\n", checker.Violated},
		"beside grants":           {"1,a,try,ok\n2,a,granted,ok\n3,a,unlock,ok\n4,b,try,ok\n5,b,granted,ok\n6,b,unlock,ok\n", checker.Pass},
		"it works while it waits": {"1,a,granted,\n2,b,try,\n3,b,write,\n4,a,released,\n5,c,granted,\n6,c,released,\n", checker.Inconclusive},
		"no result: a request":    {"1,a,tryLock,\n3,a,unlock,\n4,b,tryLock,\n5,b,unlock,\n", checker.Pass},
	} {
		v, s := judgeText(t, "ts,pod,action,result\n"+c.log, "a.csv", formats.CSV, audit.Options{})
		if v.Outcome != c.want {
			t.Errorf("%s: %s, want %s\n%s", name, v.Outcome, c.want, said(s, v))
		}
	}
}

// TestBegunBefore: a log that begins inside of a hold. A renewal shows a
// holder, and the end of a hold before the first grant is no riddle.
func TestBegunBefore(t *testing.T) {
	for name, c := range map[string]struct {
		log  string
		want checker.Outcome
	}{
		"a release":                        {"1,a,released,k\n2,b,acquired,k\n3,b,released,k\n4,a,acquired,k\n5,a,released,k\n", checker.Pass},
		"a renewal and a release":          {"1,a,renewed,k\n1.5,a,released,k\n2,b,acquired,k\n3,b,released,k\n", checker.Pass},
		"a loss":                           {"1,a,lost,k\n2,b,acquired,k\n3,b,released,k\n4,a,acquired,k\n5,a,released,k\n", checker.Pass},
		"a release behind another's grant": {"1,b,acquired,k\n2,a,released,k\n3,b,released,k\n4,a,acquired,k\n5,a,released,k\n", checker.Inconclusive},
		"a renewal behind a release":       {"1,a,acquired,k\n2,a,released,k\n3,b,acquired,k\n4,a,renewed,k\n5,b,released,k\n", checker.Inconclusive},
		"a renewal that failed":            {"1,a,acquired,k\n2,a,released,k\n3,b,acquired,k\n4,c,renewed,k,failed\n5,b,released,k\n", checker.Pass},
		"two who renew in turn":            {"1,a,renewed,k\n2,b,renewed,k\n3,a,renewed,k\n4,b,renewed,k\n", checker.Violated},
		"one behind the other":             {"1,a,renewed,k\n2,a,renewed,k\n2.5,a,released,k\n3,b,renewed,k\n4,b,renewed,k\n", checker.Pass},
		"one behind the other, open":       {"1,a,renewed,k\n2,a,renewed,k\n3,b,renewed,k\n4,b,renewed,k\n", checker.Inconclusive},
	} {
		v, s := judgeText(t, "ts;pod;action;lock;result\n"+
			strings.NewReplacer(",failed", ";failed", ",", ";", "k\n", "k;\n").Replace(c.log), "a.csv", formats.CSV, audit.Options{})
		if v.Outcome != c.want {
			t.Errorf("%s: %s, want %s:\n%s", name, v.Outcome, c.want, said(s, v))
		}
	}
}

// TestStepsOfOthers: lines are put in words by what they say, and not by what they are judged as.
func TestStepsOfOthers(t *testing.T) {
	s, err := readOther(t, "k15-nested-named-failed.csv", audit.Options{Reentrant: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	words := map[int]string{}
	for op := range int64(10) {
		for _, step := range s.Steps(op) {
			words[step.Line] = step.What
		}
	}
	if words[3] != "acquire k again" || words[6] != "release k, and not for the last time" || words[7] != "release k" {
		t.Errorf("%v", words)
	}
}

// TestTextIsNoTable: a bracket or a comma makes no table or JSON of a text. It
// is asked for a pattern, and one is made of its first lines.
func TestTextIsNoTable(t *testing.T) {
	for _, file := range []string{"k11-bracket.log", "k11-commas-read-as-table.log"} {
		if _, err := readOther(t, file, audit.Options{}); !errors.Is(err, formats.ErrUnknownFormat) {
			t.Errorf("%s: %v", file, err)
		}
	}
	for file, want := range map[string]checker.Outcome{"k11-bracket.log": checker.Violated,
		"k05-klog.log": checker.Violated, "k05-time-only.log": checker.Violated, "k05-time-only-midnight.log": checker.Violated} {
		_, err := readOther(t, file, audit.Options{})
		unknown, ok := errors.AsType[*formats.UnknownFormat](err)
		if !ok || unknown.Pattern == "" {
			t.Errorf("%s: no pattern is made: %v", file, err)
			continue
		}
		s, err := readOther(t, file, audit.Options{Pattern: unknown.Pattern, Date: "2026-11-26"})
		if err != nil {
			t.Errorf("%s: %v by %s", file, err, unknown.Pattern)
			continue
		}
		if v := judge(t, s); v.Outcome != want {
			t.Errorf("%s: %s by %s", file, v.Outcome, unknown.Pattern)
		}
	}
}

// TestSuggestedPatterns: a pattern that is made of a file's first lines works
// when it is pasted, commas or not.
func TestSuggestedPatterns(t *testing.T) {
	for name, c := range map[string]struct {
		lines  string // TIME, then who, what, and which lock
		events map[string][]string
	}{
		"Log4j":             {"2026-04-08 18:10:0%d,463 INFO  [%s] c.e.Lock - %s orders, ttl=30s", nil},
		"Spring Boot":       {"2026-05-04 10:00:0%d.120  INFO 1 --- [%s] c.a.StockService : Lock %s stock:42, ttl 30s", nil},
		"syslog":            {"Apr  8 18:10:0%d db1 app[123]: %s %s orders, waited 3 ms", nil},
		"Celery":            {"[2026-04-08 18:10:0%d,463: INFO/MainProcess] %s %s orders, ttl 30", nil},
		"no heading":        {"2026-04-08T18:10:0%d.463Z, %s, %s, orders, 30", nil},
		"logfmt":            {`ts=2026-04-08T18:10:0%d.463Z level=info caller=a.go:3 worker=%s msg="%s" lock=orders`, nil},
		"pairs with commas": {"2026-04-08 18:10:0%d.463 [main] pod=%s, action=%s, lock=orders, attempt=1", nil},
		"klog":              {"I0408 18:10:0%d.463000   41 leader.go:10] %s %s orders, after 3 tries", nil},
		"a word of its own": {"7/14/26 8:04:0%d PM UTC session %s %s '/lock/a,#,v{s{31,s{'world,'anyone}}},T,1",
			map[string][]string{"grant": {"acquired"}, "release": {"released"}}},
		"words that are taught": {"7/14/26 8:04:0%d PM UTC session 0x1%s %s '/lock/a,#,v{s{31}},T,1",
			map[string][]string{"grant": {"create"}, "release": {"closeSession"}}},
	} {
		text := ""
		for i, say := range []string{"a acquired", "b acquired", "a released", "b released"} {
			who, what, _ := strings.Cut(say, " ")
			if c.events != nil && c.events["grant"][0] == "create" {
				what = map[string]string{"acquired": "create", "released": "closeSession"}[what]
			}
			text += fmt.Sprintf(c.lines+"\n", i+1, who, what)
		}
		_, err := formats.Detect([]byte(text), "app.log", false)
		unknown, ok := errors.AsType[*formats.UnknownFormat](err)
		if !ok || unknown.Pattern == "" {
			t.Errorf("%s: no pattern: %v", name, err)
			continue
		}
		s, err := audit.Read(strings.NewReader(text), "app.log", formats.Text,
			audit.Options{Pattern: unknown.Pattern, Events: c.events, FileDate: "2026-11-26"})
		if err != nil {
			t.Errorf("%s: %v by %s", name, err, unknown.Pattern)
			continue
		}
		if got := said(s, judge(t, s)); !strings.Contains(got, "a and ") || !strings.Contains(got, "both held ") ||
			!strings.Contains(got, ":02") {
			t.Errorf("%s: by %s: %s", name, unknown.Pattern, got)
		}
		s.Close()
	}
}

// TestLocksOfWholeHolds: where each record is a whole hold, a column that tells them
// apart may name the lock. So it is asked for, and two locks are not taken for one.
func TestLocksOfWholeHolds(t *testing.T) {
	const table = "dag_id,hostname,start_date,end_date\netl,w1,2026-05-04T10:00:00.1Z,2026-05-04T10:05:00.1Z\nmail,w2,2026-05-04T10:04:00.1Z,2026-05-04T10:06:00.1Z\n"
	o := audit.Options{Map: map[string]string{"begin": "start_date", "end": "end_date"}}
	_, err := audit.Read(strings.NewReader(table), "runs.csv", formats.CSV, o)
	if err == nil || !strings.Contains(err.Error(), `the column "dag_id", with values such as "etl", "mail", may be the field "key"`) {
		t.Error(err)
	}
	o.Map["key"] = "dag_id"
	if v, s := judgeText(t, table, "runs.csv", formats.CSV, o); v.Outcome != checker.Inconclusive {
		t.Errorf("%s\n%s", v.Outcome, said(s, v))
	}
}

// TestOtherMessages: lines that say nothing about a lock are counted, and one
// that names a lock is asked for.
func TestOtherMessages(t *testing.T) {
	const log = `{"ts":1,"pod":"a","msg":"acquired","lock":"k"}
{"ts":2,"pod":"a","msg":"working"}
{"pod":"a","text":"no event"}
{"ts":3,"pod":"a","msg":"released","lock":"k"}
Unhandled exception
	at main
{"ts":4,"pod":"b","msg":"acquired","lock":"k"}
{"ts":5,"pod":"b","msg":"released","lock":"k"}
`
	v, s := judgeText(t, log, "log", formats.JSON, audit.Options{})
	left := strings.Join(s.Left, "\n")
	if v.Outcome != checker.Pass || !strings.Contains(left, "say nothing about a lock: 2, the first is line 2") ||
		!strings.Contains(left, "are no JSON: 2, the first is line 5") {
		t.Errorf("%s, %s", v.Outcome, left)
	}
	named := log + `{"ts":6,"pod":"b","msg":"seized","lock":"k"}` + "\n"
	if _, err := audit.Read(strings.NewReader(named), "log", formats.JSON, audit.Options{}); err == nil ||
		!strings.Contains(err.Error(), "log:9:19: nobody knows what this event means") {
		t.Error(err)
	}
	if _, err := audit.Read(strings.NewReader(named), "log", formats.JSON,
		audit.Options{Events: map[string][]string{"ignore": {"*"}}}); err != nil {
		t.Error(err)
	}
}

// TestExplain: the first lines are told as they are understood.
func TestExplain(t *testing.T) {
	lines, err := audit.Explain("log", []byte("ts,pod,event,lock,fence\n2026-01-01T00:00:00.5Z,a,acquired,k,7\n\n2026-01-01T00:00:01Z,a,dances,k,7\n2026-01-01T00:00:02Z,a,working,,\n2026-01-01T00:00:03Z,b,lock,k,,\n"), formats.CSV, audit.Options{}, 4)
	want := []audit.Explained{{1, "the names of the columns: time=ts, client=pod, event=event, key=lock, token=fence"},
		{2, `at 2026-01-01T00:00:00.5Z, client "a": grant "k", token 7`},
		{4, "not understood: nobody knows what this event means"}, {5, "left out: it says nothing about a lock"}}
	if err != nil || len(lines) != len(want) {
		t.Fatalf("%+v, %v", lines, err)
	}
	for i := range want {
		if lines[i].Line != want[i].Line || !strings.HasPrefix(lines[i].Text, want[i].Text) {
			t.Errorf("%+v, want %+v", lines[i], want[i])
		}
	}
}

// TestEveryLogOfOthers: each log in the folder has an answer in these tests.
func TestEveryLogOfOthers(t *testing.T) {
	files, err := filepath.Glob("testdata/others/*")
	if err != nil || len(files) < 31 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	judged := map[string]bool{"k14-lease-watch.json": true, // by TestRecords
		"k10-pod-a.jsonl": true, "k10-pod-b.jsonl": true, // by TestTogether
		"k11-bracket.log": true, "k11-commas-read-as-table.log": true} // by TestTextIsNoTable
	for _, c := range others {
		judged[c.file] = true
	}
	for _, file := range files {
		if name := filepath.Base(file); !judged[name] {
			t.Errorf("%s has no answer", name)
		}
	}
}

// TestPrefixedLines: what kubectl, docker compose and stern put before a line
// is taken from it, and names the client.
func TestPrefixedLines(t *testing.T) {
	objects := []string{`{"ts":1,"event":"acquired","lock":"k"}`, `{"ts":10,"event":"acquired","lock":"k"}`,
		`{"ts":12,"event":"released","lock":"k"}`, `{"ts":14,"event":"released","lock":"k"}`}
	for name, begins := range map[string][2]string{
		"kubectl":                  {"[pod/app-1/app] ", "[pod/app-2/app] "},
		"kubectl --timestamps":     {"[pod/app-1/app] 2026-01-01T00:00:01.000000001Z ", "[pod/app-2/app] 2026-01-01T00:00:02Z "},
		"docker compose":           {"app-1       | ", "app-2  | "},
		"docker compose in colour": {"\x1b[36mapp-1  | \x1b[0m", "\x1b[33mapp-2  | \x1b[0m"},
		"stern":                    {"app-1 main ", "app-2 main "},
	} {
		log := "[pod/app-1/app] starting\n"
		for i, object := range objects {
			log += begins[i%2] + object + "\n"
		}
		if format, err := formats.Detect([]byte(log), "log", false); format != formats.JSON {
			t.Errorf("%s: taken for %q, %v", name, format, err)
		}
		v, s := judgeText(t, log, "log", formats.JSON, audit.Options{})
		if text := said(s, v); v.Outcome != checker.Violated ||
			!strings.Contains(text, "app-1 and app-2 both held k from 10.000 s to 12.000 s") {
			t.Errorf("%s: %s\n%s", name, v.Outcome, text)
		}
		p, err := audit.NewParser("log", []byte(log), formats.JSON, audit.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if told, err := p.Line([]byte(begins[1]+objects[1]), 3); err != nil || told.Client != "app-2" || told.Key != "k" {
			t.Errorf("%s: %+v, %v", name, told, err)
		}
	}
}
