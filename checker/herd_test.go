package checker

import (
	"fmt"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

func TestEdgesOfHerds(t *testing.T) {
	lock := clients(workload(claim(plainLock(), func(c *history.Claims) { c.WakesOne = true }), "stampede"), 40)
	grants := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("%c acquire [%d,%d]\n%c release [%d,%d]\n", 'A'+i%8, 10*i+2, 10*i+3, 'A'+i%8, 10*i+5, 10*i+6)
		}
		return text
	}
	counted := func(at, n int) string { return fmt.Sprintf("S requests [%d] n=%d\n", at, n) }
	run(t, []propertyCase{
		{"exactly the bound", Herd, lock, counted(1, 1000) + grants(20) + counted(226, 1449) + probeText, Pass, 0, "", "cost 19.8"},
		{"one request more", Herd, lock, counted(1, 1000) + grants(20) + counted(226, 1450) + probeText, Violated, 1, "", ""},
		{"counted in between: the last count is taken", Herd, lock,
			counted(1, 1000) + grants(20) + counted(100, 1001) + counted(226, 1900) + probeText, Violated, 1, "", "900 requests"},
		{"the first count is taken, and not the second", Herd, lock,
			counted(1, 1000) + grants(20) + counted(100, 1890) + counted(226, 1900) + probeText, Violated, 1, "", "900 requests"},
		{"grants before the first count", Herd, lock, counted(52, 1000) + grants(20) + counted(277, 1600) + probeText,
			Violated, 1, "", "600 requests for 15 grants: 36 a hand-over"},
		{"ten grants are enough", Herd, lock, counted(1, 1000) + grants(10) + counted(126, 1600) + probeText, Violated, 1, "", ""},
		{"grants before the first count are not between", Herd, lock,
			counted(80, 1000) + grants(13) + counted(140, 1600) + probeText, Inconclusive, 0, "", "it takes 10"},
		{"no request at all", Herd, lock, counted(1, 1000) + grants(20) + counted(226, 1000) + probeText, Pass, 0, "", "cost 0.0"},
		{"no TTL, no heartbeats", Herd, lock.with(func(h *history.Header) { h.TTL = 0 }),
			counted(1, 1000) + grants(20) + counted(226, 1450) + probeText, Violated, 1, "", ""},
	})
	h := workload(lock, "counter").history(counted(1, 1000) + grants(20) + counted(226, 1900))
	Judge(h, Options{OnViolation: func(v Violation) {
		if v.Property == Herd {
			t.Error("told of a herd that is not judged")
		}
	}})
	other := lock.history(counted(1, 1000) + grants(20) + counted(226, 1900))
	for i := range other.Events {
		if other.Events[i].Type == history.Count {
			other.Events[i].Text = "threads"
		}
	}
	if v := Judge(other, Options{}); v.Property(Herd).Count != 0 {
		t.Error("threads are no requests")
	}
}
