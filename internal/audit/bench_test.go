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

// BenchmarkAudit reads and judges a log of grants by ever new clients, a third
// of which are never given up.
func BenchmarkAudit(b *testing.B) {
	forms := []struct {
		format        formats.Format
		heading, line string
	}{
		{formats.CSV, "ts,pod,action,resource,fence\n", "%d,r%d,%s,k%d,%d\n"},
		{formats.JSON, "", `{"ts":%d,"level":"info","pod":"r%d","action":"%s","resource":"k%d","fence":%d}` + "\n"},
	}
	for _, form := range forms {
		b.Run(string(form.format), func(b *testing.B) {
			const grants = 100_000
			var log strings.Builder
			log.WriteString(form.heading)
			for i := range grants {
				t := 1_763_107_200_000 + 2*i
				fmt.Fprintf(&log, form.line, t, i, "acquired", i%50, i+1)
				fmt.Fprintf(&log, form.line, t+3, i, "write", i%50, i+1)
				if i%3 > 0 {
					fmt.Fprintf(&log, form.line, t+5, i, "released", i%50, i+1)
				}
			}
			text := log.String()
			lines := strings.Count(text, "\n")
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				judgeText(b, text, "a", form.format, audit.Options{})
			}
			b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}

// BenchmarkForms reads and judges the same holds of 50 locks by 53 clients as each form tells them.
func BenchmarkForms(b *testing.B) {
	const holds = 20_000
	script := func(what string) string {
		return `"if redis.call(\"get\",KEYS[1]) == ARGV[1] then return redis.call(\"` + what + `\",KEYS[1]) else return 0 end"`
	}
	for _, one := range []struct {
		format  formats.Format
		options audit.Options
		hold    func(i, lock, client int, at time.Time) string
	}{
		{formats.Text, audit.Options{Pattern: `^(?P<time>\S+) (?P<client>\S+) (?P<event>\S+) (?P<key>\S+) (?P<fence>\d+)`}, func(i, lock, client int, at time.Time) (text string) {
			for n, event := range []string{"request", "granted", "write", "released"} {
				text += fmt.Sprintf("%s p%d %s k%d %d\n",
					at.Add(time.Duration(n)*time.Millisecond).Format(time.RFC3339Nano), client, event, lock, i+1)
			}
			return text
		}},
		{formats.Spans, audit.Options{Span: hold}, func(_, lock, client int, at time.Time) string {
			return fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[{"key":"k8s.pod.name","value":{"stringValue":"p%d"}}]},"scopeSpans":[{"spans":[{"name":"lock.hold","startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[{"key":"lock.key","value":{"stringValue":"k%d"}}]}]}]}]}`+"\n",
				client, at.UnixNano(), at.Add(4*time.Millisecond).UnixNano(), lock)
		}},
		{formats.Leases, audit.Options{}, func(i, lock, client int, at time.Time) (text string) {
			for n, holder := range []string{fmt.Sprint("p", client), ""} {
				text += fmt.Sprintf(`{"type":"MODIFIED","object":{"kind":"Lease","metadata":{"name":"k%d","resourceVersion":"%d"},"spec":{"holderIdentity":"%s","acquireTime":"%s","renewTime":"%s","leaseDurationSeconds":15,"leaseTransitions":%d}}}`+"\n",
					lock, 2*i+n+1, holder, at.Format(time.RFC3339Nano),
					at.Add(time.Duration(n)*time.Millisecond).Format(time.RFC3339Nano), i/50)
			}
			return text
		}},
		{formats.Monitor, audit.Options{}, func(_, lock, client int, at time.Time) (text string) {
			named := strings.NewReplacer("PORT", fmt.Sprint(40_000+client), "LOCK", fmt.Sprint("k", lock), "WHO", fmt.Sprint("p", client))
			for n, c := range []string{`127.0.0.1:PORT] "SET" "LOCK" "WHO" "NX" "PX" "30000"`,
				`127.0.0.1:PORT] "eval" ` + script("pexpire") + ` "1" "LOCK" "WHO" "30000"`, `lua] "get" "LOCK"`, `lua] "pexpire" "LOCK"`,
				`127.0.0.1:PORT] "eval" ` + script("del") + ` "1" "LOCK" "WHO"`, `lua] "get" "LOCK"`, `lua] "del" "LOCK"`} {
				stamp := at.Add(time.Duration(n) * time.Microsecond)
				text += fmt.Sprintf("%d.%06d [0 ", stamp.Unix(), stamp.Nanosecond()/1000) + named.Replace(c) + "\n"
			}
			return text
		}},
	} {
		b.Run(string(one.format), func(b *testing.B) {
			var log strings.Builder
			for i := range holds {
				log.WriteString(one.hold(i, i%50, i%53,
					time.Unix(1_763_107_200, 0).UTC().Add(time.Duration(i/50*20)*time.Millisecond+time.Duration(i%50)*10*time.Microsecond)))
			}
			text := log.String()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if v, _ := judgeText(b, text, "a", one.format, one.options); v.Outcome == checker.Violated {
					b.Fatal(v.Reasons)
				}
			}
			b.ReportMetric(float64(strings.Count(text, "\n"))*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
