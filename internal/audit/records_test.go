package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

const hold = "lock.hold"

// records are traces and samples of who holds a lock, in testdata/records, with
// the answer that is right.
var records = []struct {
	file    string
	format  formats.Format
	options audit.Options
	want    checker.Outcome
	why     string // that the violations, or else the reasons, must say
}{
	{"otlp-pass.jsonl", formats.Spans, audit.Options{Span: hold}, checker.Pass, ""},
	{"otlp-violated.jsonl", formats.Spans, audit.Options{Span: hold}, checker.Violated,
		"a/1 and b/7 both held inv from 09:00:00.090 to 09:00:00.100"},
	{"otlp-inconclusive.jsonl", formats.Spans, audit.Options{Span: hold}, checker.Inconclusive, "1 hold was never given up"},
	{"otlp-pass.json", formats.Spans, audit.Options{Span: hold}, checker.Pass, ""},
	{"otlp-violated.json", formats.Spans, audit.Options{Span: hold,
		Map: map[string]string{"client": "k8s.pod.name", "key": "lock.key"}}, checker.Violated, "a and b both held inv"},
	{"jaeger-pass.json", formats.Spans, audit.Options{Span: hold}, checker.Pass, ""},
	{"jaeger-violated.json", formats.Spans, audit.Options{Span: hold}, checker.Violated, "a/1 and b/7 both held inv"},
	{"jaeger-inconclusive.json", formats.Spans, audit.Options{Span: hold}, checker.Inconclusive, "a/1 was granted inv again"},
	{"zipkin-pass.json", formats.Spans, audit.Options{Span: hold}, checker.Pass, ""},
	{"zipkin-violated.json", formats.Spans, audit.Options{Span: hold}, checker.Violated, "10.0.0.1/1 and 10.0.0.2/7 both held inv"},
	{"zipkin-inconclusive.json", formats.Spans, audit.Options{Span: hold}, checker.Inconclusive, "1 hold was never given up"},
	{"lease-pass.json", formats.Leases, audit.Options{}, checker.Pass, ""},
	{"lease-pass.json", formats.Leases, audit.Options{Polled: true}, checker.Inconclusive, "looked at now and then"},
	{"lease-released.json", formats.Leases, audit.Options{}, checker.Pass, ""},
	{"lease-early.json", formats.Leases, audit.Options{}, checker.Violated,
		"a and b both held kube-system/mgr from 10:39:40.100 to 10:39:42.100"},
	{"lease-early.json", formats.Leases, audit.Options{Polled: true}, checker.Inconclusive, "1 hold was never given up"},
	{"lease-missed.json", formats.Leases, audit.Options{}, checker.Inconclusive, "Line 3: changes of the record are missing before it"},
	{"lease-polled.json", formats.Leases, audit.Options{}, checker.Inconclusive, "the record was looked at now and then"},
	{"../others/k14-lease-watch.json", formats.Leases, audit.Options{}, checker.Violated,
		"ctl-a and ctl-b both held mgr at 10:39:40.100: ctl-a held it until 10:39:51.731"},
	{"etcd-pass.json", formats.Etcd, audit.Options{}, checker.Pass, ""},
	{"etcd-violated.json", formats.Etcd, audit.Options{}, checker.Violated, "a and b both held locks/cron"},
	{"etcd-missed.json", formats.Etcd, audit.Options{}, checker.Inconclusive, "Line 2: changes of the record are missing before it"},
	{"shedlock.csv", formats.LockTable, audit.Options{}, checker.Inconclusive,
		"Line 5: who held the lock between it and the sample before is not told"},
	{"lease-early.yaml", formats.Leases, audit.Options{}, checker.Violated,
		"a and b both held kube-system/mgr at 10:39:40.100: a held it until 10:39:49.700"},
	{"consul.json", formats.Consul, audit.Options{}, checker.Inconclusive, "Line 3: the record was looked at now and then"},
	{"consul-missed.txt", formats.Consul, audit.Options{}, checker.Inconclusive, "Line 10: changes of the record are missing before it"},
	{"liquibase.csv", formats.LockTable, audit.Options{}, checker.Inconclusive,
		"Line 4: who held the lock between it and the sample before is not told"},
	{"liquibase-violated.csv", formats.LockTable, audit.Options{}, checker.Violated,
		"app-1 (10.0.0.1) and app-2 (10.0.0.2) both held 1 from 10:00:05.100 to 10:00:10.500"},
	{"monitor-violated.txt", formats.Monitor, audit.Options{}, checker.Violated, "a-1 and b-1 both held cron from"},
	{"monitor-evalsha-violated.txt", formats.Monitor, audit.Options{}, checker.Violated, "a-1 and b-1 both held cron from"},
	{"monitor-redisson-violated.txt", formats.Monitor, audit.Options{}, checker.Violated, "u1:1 and u2:9 both held job from"},
	{"monitor-correct.txt", formats.Monitor, audit.Options{}, checker.Inconclusive, "Line 2 and 2 lines like it: MONITOR shows no replies"},
	{"monitor-redisson.txt", formats.Monitor, audit.Options{}, checker.Inconclusive, "MONITOR shows no replies"},
	{"monitor-redlock.txt", formats.Monitor, audit.Options{}, checker.Inconclusive, "MONITOR shows no replies"},
	{"monitor-loop.txt", formats.Monitor, audit.Options{}, checker.Inconclusive, "MONITOR shows no replies"},
	{"monitor-loop-bare.txt", formats.Monitor, audit.Options{}, checker.Inconclusive, "MONITOR shows no replies"},
	{"shedlock-violated.csv", formats.LockTable, audit.Options{}, checker.Violated,
		"w1 and w2 both held report from 10:00:05.100 to 10:00:10.500"},
}

// TestNoTimes: a history of a file without times says nothing of when it began.
func TestNoTimes(t *testing.T) {
	file, err := os.Open(filepath.Join("testdata", "records", "etcd-pass.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s, err := audit.Read(file, "etcd", formats.Etcd, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !s.Header.Started.IsZero() {
		t.Errorf("it began at %s", s.Header.Started)
	}
}

// TestRecords: each trace, and each file of samples, is known by its first
// bytes, and gets the answer that is right.
func TestRecords(t *testing.T) {
	for _, c := range records {
		text, err := os.ReadFile(filepath.Join("testdata", "records", c.file))
		if err != nil {
			t.Fatal(err)
		}
		if format, err := formats.Detect(text, c.file, len(c.options.Map) > 0); format != c.format {
			t.Errorf("%s is taken for %q (%v)", c.file, format, err)
		}
		s, err := audit.Read(strings.NewReader(string(text)), c.file, c.format, c.options)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		answers(t, c.file, s, c.want, c.why)
	}
}

// TestSpansAsked: what a trace leaves open is asked for, and what is wrong in it has its line.
func TestSpansAsked(t *testing.T) {
	text, err := os.ReadFile("testdata/records/otlp-pass.json")
	if err != nil {
		t.Fatal(err)
	}
	trace := string(text)
	for name, c := range map[string]struct {
		text string
		span string
		want string
	}{
		"no name":      {trace, "", "t.json: say with --span which spans are holds of a lock; the names are: GET /, lock.hold"},
		"another name": {trace, "hold", `no span is called "hold"; the names are: GET /, lock.hold`},
		"a time that is odd": {strings.Replace(trace, `"endTimeUnixNano": "1764147600100000000"`,
			`"endTimeUnixNano": "1764147500100000000"`, 1), hold, "t.json:26: it ends before it begins"},
		"no client": {strings.ReplaceAll(trace, "k8s.pod.name", "pod"), hold, ""},
		"no JSON":   {strings.Replace(trace, `"spans"`, `spans`, 1), hold, "t.json:25:"},
		"no trace":  {`{"resourceSpans":[]}`, hold, "it is no trace"},
	} {
		s, err := audit.Read(strings.NewReader(c.text), "t.json", formats.Spans, audit.Options{Span: c.span})
		if err == nil {
			s.Close()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestCutTrace: a trace that was cut is judged by what it shows, and does not pass.
func TestCutTrace(t *testing.T) {
	text, err := os.ReadFile("testdata/records/otlp-pass.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	v, s := judgeText(t, string(text[:len(text)-30]), "t.json", formats.Spans, audit.Options{Span: hold})
	if v.Outcome != checker.Inconclusive || !strings.Contains(said(s, v), "Line 4: the file ends within this record") {
		t.Errorf("%s\n%s", v.Outcome, said(s, v))
	}
}

// TestSamplesRefused: samples that are wrong, or not in order, are refused with their lines.
func TestSamplesRefused(t *testing.T) {
	const lease = `{"kind":"Lease","metadata":{"name":"m","resourceVersion":"%v"},"spec":{"holderIdentity":"%h","renewTime":"2026-03-02T10:39:26Z"}}` + "\n"
	of := func(version, holder string) string {
		return strings.NewReplacer("%v", version, "%h", holder).Replace(lease)
	}
	for name, c := range map[string]struct {
		text   string
		format formats.Format
		want   string
	}{
		"not in order": {of("7", "a") + of("5", "b"), formats.Leases, "s:2: version 5 comes after version 7 of line 1"},
		"no times": {strings.Replace(of("7", "a"), "renewTime", "time", 1), formats.Leases,
			"s:1: the Lease has a holder, and says neither"},
		"no time":     {strings.Replace(of("7", "a"), "10:39", "25:39", 1), formats.Leases, "s:1: "},
		"no Lease":    {`{"kind":"Pod"}`, formats.Leases, "it is no sample of who holds a lock"},
		"no revision": {`{"Events":[{"kv":{"key":"aw=="}}]}`, formats.Etcd, "s:1: an event needs its key and mod_revision"},
		"no type":     {`{"Events":[{"type":7,"kv":{"key":"aw==","mod_revision":3}}]}`, formats.Etcd, "s:1: an event of the type 7"},
		"no column":   {"name,lock_until,locked_at\n", formats.LockTable, "s:1: a table of locks needs a column locked_by"},
		"no date": {"name,lock_until,locked_at,locked_by\n\nk,never,2026-01-01T00:00:00Z,a\n", formats.LockTable,
			"s:3: lock_until: no time that is known here"},
		"of other zone": {"name,lock_until,locked_at,locked_by\nk,2026-01-01 00:00:00,2026-01-01T00:00:00Z,a\n",
			formats.LockTable, "this time has a zone, and that of line 2 has none"},
	} {
		s, err := audit.Read(strings.NewReader(c.text), "s", c.format, audit.Options{})
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestLeaseWithin: a log whose objects have a Lease within is a log.
func TestLeaseWithin(t *testing.T) {
	const log = `{"kind":"Event","stage":"ResponseComplete","requestObject":{"kind":"Lease"},"ts":1}` + "\n"
	if format, err := formats.Detect([]byte(log), "x", false); format != formats.JSON {
		t.Error(format, err)
	}
}

// TestOtherYAML: an object in YAML that is no Lease is refused, and so is a
// Lease that makes no sense.
func TestOtherYAML(t *testing.T) {
	if _, err := formats.Detect([]byte("apiVersion: v1\nkind: Pod\n"), "x", false); err == nil ||
		!strings.Contains(err.Error(), "only Leases say who holds a lock") {
		t.Error(err)
	}
	const lease = "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata:\n  name: m\n"
	for text, want := range map[string]string{lease +
		"spec:\n  holderIdentity: a\n": "y:1: the Lease has a holder, and says neither",
		lease + "---\n\n" + lease + "spec: [\n": "y:7: no YAML that is read here (kubectl also prints JSON: -o json)"} {
		if _, err := audit.Read(strings.NewReader(text), "y", formats.Leases, audit.Options{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestEarlyTakeovers: a takeover before the lease is over accuses the next holder
// only where the samples are all changes of the Lease, and not where somebody
// looked at it now and then: then its holder may have given it up in between.
func TestEarlyTakeovers(t *testing.T) {
	// A sample is "holder since renewed", in seconds; a "!" before it makes an
	// event of a watch of it.
	for name, c := range map[string]struct {
		samples []string
		want    checker.Outcome
	}{
		"a watch, with its events":           {[]string{"a 100 130", "!a 100 132", "!b 138 138", "!b 138 140"}, checker.Violated},
		"a watch that began anew in between": {[]string{"a 100 130", "!a 100 132", "b 134 138"}, checker.Inconclusive},
		"a steady rhythm, and silence": {[]string{"a 100 130", "a 100 132", "a 100 134", "b 142 142",
			"b 142 144"}, checker.Violated},
		"looked at nearly in the rhythm": {[]string{"a 100 120", "a 100 130", "a 100 140", "b 161 161",
			"b 161 171"}, checker.Pass},
		"the same, and early": {[]string{"a 100 120", "a 100 126", "a 100 132", "b 146 146",
			"b 146 152"}, checker.Inconclusive},
		"silence, in a watch with its events": {[]string{"!a 100 130", "!a 100 132", "!a 100 134", "!b 142 142",
			"!b 142 144"}, checker.Violated},
		"a steady rhythm, and none later": {[]string{"a 100 130", "a 100 140", "b 141 141", "b 141 151",
			"b 141 171"}, checker.Inconclusive},
		"a steady rhythm, and at once": {[]string{"a 100 130", "a 100 140", "b 141 141", "b 141 151"}, checker.Violated},
		"no rhythm: as if looked at every 5 seconds": {[]string{"a 100 120", "a 100 124", "a 100 130", "a 100 134",
			"b 136 136", "b 136 142"}, checker.Inconclusive},
		"not seen from its first instant": {[]string{"a 100 120", "a 100 130", "a 100 140", "b 141 149",
			"b 141 159"}, checker.Inconclusive},
		"when the next look was due": {[]string{"a 100 120", "a 100 130", "a 100 140", "b 150 150",
			"b 150 160"}, checker.Inconclusive},
		"one sample only": {[]string{"a 100 130", "b 131 131", "b 131 133"}, checker.Inconclusive},
		"looked at twice": {[]string{"a 100 130", "a 100 132", "a 100 132", "!b 138 138",
			"!b 138 140"}, checker.Inconclusive},
		"given up": {[]string{"a 100 130", "a 100 132", " 100 133", "b 134 134",
			"b 134 136"}, checker.Pass},
		"in its time": {[]string{"a 100 130", "a 100 136", "b 160 170"}, checker.Pass},
	} {
		var log strings.Builder
		changes := map[string]int{"a": 1, "": 1, "b": 2}
		for _, one := range c.samples {
			p := strings.Split(strings.TrimPrefix(one, "!"), " ")
			stamp := func(s string) string {
				n, _ := strconv.Atoi(s)
				return time.Unix(1_772_447_000+int64(n), 1000).UTC().Format(time.RFC3339Nano)
			}
			object := fmt.Sprintf(`{"kind":"Lease","metadata":{"name":"m"},"spec":{"holderIdentity":%q,"acquireTime":%q,"renewTime":%q,"leaseDurationSeconds":20,"leaseTransitions":%d}}`,
				p[0], stamp(p[1]), stamp(p[2]), changes[p[0]])
			if strings.HasPrefix(one, "!") {
				object = `{"type":"MODIFIED","object":` + object + "}"
			}
			log.WriteString(object + "\n")
		}
		v, s := judgeText(t, log.String(), "l", formats.Leases, audit.Options{})
		if v.Outcome != c.want {
			t.Errorf("%s: %s, want %s\n%s", name, v.Outcome, c.want, said(s, v))
		}
		s.Close()
	}
}

func FuzzLeases(f *testing.F) {
	seed(f, "testdata/records/lease-*")
	f.Fuzz(func(t *testing.T, data []byte) { try(t, data, formats.Leases) })
}

func FuzzEtcd(f *testing.F) {
	seed(f, "testdata/records/etcd-*")
	f.Fuzz(func(t *testing.T, data []byte) { try(t, data, formats.Etcd) })
}

func FuzzLockTable(f *testing.F) {
	seed(f, "testdata/records/shedlock*", "testdata/records/liquibase*")
	f.Fuzz(func(t *testing.T, data []byte) { try(t, data, formats.LockTable) })
}

func FuzzSpans(f *testing.F) {
	seed(f, "testdata/records/otlp-*", "testdata/records/jaeger-*", "testdata/records/zipkin-*")
	f.Fuzz(func(t *testing.T, data []byte) { tryWith(t, data, formats.Spans, audit.Options{Span: hold}) })
}

func FuzzConsul(f *testing.F) {
	seed(f, "testdata/records/consul*")
	f.Fuzz(func(t *testing.T, data []byte) { try(t, data, formats.Consul) })
}
