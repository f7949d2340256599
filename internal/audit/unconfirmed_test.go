package audit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// What a log does not say of a hold: when it began, or whether it still was one in the end.

const resultHead = "ts,pod,op,lock,result\n"

type resultCase struct {
	name, log string
	options   audit.Options
	want      checker.Outcome
	says      string
}

func judgeResults(t *testing.T, cases []resultCase) {
	t.Helper()
	for _, c := range cases {
		v, s := judgeText(t, resultHead+c.log, "a.csv", formats.CSV, c.options)
		if text := said(s, v); v.Outcome != c.want || !strings.Contains(text, c.says) {
			t.Errorf("%s: %s, want %s with %q\n%s", c.name, v.Outcome, c.want, c.says, text)
		}
		s.Close()
	}
}

// TestUnconfirmedReleases: who gives a lock back took itself for its holder until then. Where
// nobody confirmed that, nobody knows whether it was.
func TestUnconfirmedReleases(t *testing.T) {
	const a, b = "1.1,a,acquire,k,ok\n", "2.3,b,acquire,k,ok\n4.1,b,release,k,ok\n"
	const doubt = "Nobody confirmed the release of 1 hold (line 5)"
	ttl, two := audit.Options{Validity: &audit.Validity{TTL: time.Second}}, audit.Options{Permits: 2}
	cases := []resultCase{
		{"ok", a + b + "5.1,a,release,k,ok\n", audit.Options{}, checker.Violated, ""},
		{"it was told of a loss", a + b + "5.1,a,lost,k,\n", audit.Options{}, checker.Violated, ""},
		{"it had been answered before the next grant", a + "2,a,release,k,failed\n" + b, audit.Options{}, checker.Pass, ""},
		{"it had been sent before the next grant", a + "2,a,release,k,timeout\n" + b + "5.1,a,release,k,failed\n", audit.Options{}, checker.Pass, ""},
		{"not held, with a time to live", a + b + "5.1,a,release,k,failed\n", ttl, checker.Inconclusive, doubt},
		{"not held in time, with a time to live", a + "2.2,a,release,k,failed\n" + b, ttl, checker.Pass, ""},
		{"of a permit", a + "1.2,c,acquire,k,ok\n" + b + "5.1,a,release,k,timeout\n5.2,c,release,k,timeout\n", two,
			checker.Inconclusive, "Nobody confirmed the release of "},
		{"of a permit, and there was another one", a + b + "5.1,a,release,k,timeout\n6,c,acquire,k,ok\n7,c,release,k,ok\n", two, checker.Pass, ""},
		{"of the hold before, and it holds on", a + "1.5,a,release,k,timeout\n2,a,acquire,k,ok\n" + b, audit.Options{},
			checker.Inconclusive, "was never given up"},
	}
	for _, how := range []string{"timeout", "unknown", "start", "failed"} {
		cases = append(cases, resultCase{how, a + b + "5.1,a,release,k," + how + "\n", audit.Options{}, checker.Inconclusive, doubt})
	}
	judgeResults(t, cases)
}

// TestUnaskedHolds: a lock that was given back, and of which no line says when it was granted, may
// have been held since it was asked for.
func TestUnaskedHolds(t *testing.T) {
	const b = "2.3,b,acquire,k,ok\n4.1,b,release,k,ok\n"
	const doubt = "No line says when 1 hold began that ended with a release (line "
	judgeResults(t, []resultCase{
		{"it asked before another held", "1,a,acquire,k,start\n" + b + "5.1,a,release,k,ok\n", audit.Options{}, checker.Inconclusive, doubt},
		{"nobody knows whether it was granted", "1,a,acquire,k,timeout\n" + b + "5.1,a,release,k,ok\n", audit.Options{}, checker.Inconclusive, doubt},
		{"it asked when the other was done", "4.2,a,acquire,k,start\n" + b + "5.1,a,release,k,ok\n", audit.Options{}, checker.Pass, ""},
		{"its own hold lies between", "1,a,acquire,k,timeout\n1.5,a,acquire,k,ok\n2,a,release,k,ok\n3,a,release,k,ok\n5,b,acquire,k,ok\n6,b,release,k,ok\n", audit.Options{}, checker.Pass, ""},
		{"the other's lies behind its own", "1,a,acquire,k,timeout\n1.5,a,acquire,k,ok\n2,a,release,k,ok\n" + b + "5.1,a,release,k,ok\n",
			audit.Options{}, checker.Inconclusive, doubt},
		{"it gave it back while another held", "1,a,acquire,k,start\n2.3,b,acquire,k,ok\n3,a,release,k,ok\n4.1,b,release,k,ok\n",
			audit.Options{}, checker.Violated, ""},
	})
	const services = "ts,pod,op,lock\n1,a,lock,k\n2.3,b,locked,k\n4.1,b,unlocked,k\n5.1,a,unlock,k\n"
	v, s := judgeText(t, services, "a.csv", formats.CSV, audit.Options{})
	if text := said(s, v); v.Outcome != checker.Inconclusive || !strings.Contains(text, "--events grant=WORD") {
		t.Errorf("two services with words of their own: %s\n%s", v.Outcome, text)
	}
	s.Close()
	taught := audit.Options{Events: map[string][]string{"grant": {"lock"}}}
	if v, s = judgeText(t, services, "a.csv", formats.CSV, taught); v.Outcome != checker.Violated {
		t.Errorf("taught: %s\n%s", v.Outcome, said(s, v))
	}
	s.Close()
}

// TestReleaseAfterALoss: a client that knows of its loss cleans up when it gives the lock back.
// What it does to the data shows that it works on.
func TestReleaseAfterALoss(t *testing.T) {
	const a, b = "1.1,a,acquire,k,ok\n2,a,lost,k,\n", "2.3,b,acquire,k,ok\n4.1,b,release,k,ok\n"
	judgeResults(t, []resultCase{
		{"it gives it back", a + b + "3,a,release,k,ok\n", audit.Options{}, checker.Pass, ""},
		{"it was told too late", strings.Replace(a, "2,a", "2.4,a", 1) + b + "3,a,release,k,ok\n", audit.Options{}, checker.Violated, ""},
		{"it renews", a + b + "3,a,renew,k,ok\n", audit.Options{}, checker.Violated, ""},
		{"it gives it back, and writes", a + b + "3,a,release,k,ok\n3.1,a,write,k,ok\n", audit.Options{}, checker.Inconclusive, "made under no grant"},
	})
}
