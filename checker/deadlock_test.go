package checker

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

func TestEdgesOfDeadlocks(t *testing.T) {
	crossed := func(a, b, rest string) string {
		return "A acquire [0,1] key=k0\nB acquire [0,1] key=k1\nA acquire " + a + " busy key=k1\nB acquire " + b +
			" busy key=k0\n" + rest + probeText
	}
	for2 := claim(noClaims(plainLock()), func(c *history.Claims) { c.NoExpiry = true })
	never := claim(plainLock(), func(c *history.Claims) { c.NoExpiry = true })
	run(t, []propertyCase{
		{"for just as long as the bound", Deadlock, plainLock(), crossed("[2,253]", "[3,404]", ""), Violated, 1, "", ""},
		{"for a little less", Deadlock, plainLock(), crossed("[2,252.9]", "[3,404]", ""), Pass, 0, "", ""},
		{"both for just as long as the bound", Deadlock, plainLock(), crossed("[3,253]", "[3,253]", ""), Violated, 1, "", ""},
		{"one wait was too short", Deadlock, plainLock(), crossed("[3,252]", "[3,253]", ""), Pass, 0, "", ""},
		{"the waits met for too short a time", Deadlock, plainLock(), crossed("[2,300]", "[100,404]", ""), Pass, 0, "", ""},
		{"one was granted late: the cycle began then", Deadlock, plainLock(), `
		A acquire [0,1] key=k0
		B acquire [0,1] key=k1
		A acquire [2,300] busy key=k1
		B acquire [60,404] busy key=k0` + probeText, Pass, 0, "", ""},
		{"the service was disturbed", Deadlock, plainLock(), crossed("[2,403]", "[3,404]", "service x [50,60]"), Pass, 0, "", ""},
		{"before they had anything, one was stopped", Deadlock, plainLock(),
			crossed("[2,403]", "[3,404]", "pause A [-600,-10]"), Violated, 1, "", ""},
		{"a fault that ended as the grant began", Deadlock, plainLock(),
			crossed("[2,403]", "[3,404]", "pause A [-100,0]"), Pass, 0, "", ""},
		{"stopped twice", Deadlock, plainLock(), crossed("[2,403]", "[3,404]", "pause A [300,310]\npause A [200,210]"), Pass, 0, "", ""},
		{"a lock without expiry", Deadlock, for2, crossed("[2,903]", "[600,904]", ""), Violated, 1, "", ""},
		{"a lock without expiry, released meanwhile", Deadlock, for2,
			crossed("[2,403]", "[3,404]", "A release [100,] key=k0"), Pass, 0, "", ""},
		{"a lock without expiry, released later", Deadlock, for2,
			crossed("[2,403]", "[3,404]", "A release [300,] key=k0"), Violated, 1, "", "to 1.300 s"},
		{"a lock without expiry, lost meanwhile", Deadlock, for2,
			crossed("[2,403]", "[3,404]", "A release [400,] key=k0\nA lost [100] key=k0"), Pass, 0, "", ""},
		{"what declares both, by its lease", Deadlock, never, crossed("[2,903]", "[600,904]", ""), Pass, 0, "", ""},
		{"cut off in the midst of it", Deadlock, cut(plainLock()),
			"A acquire [0,1] key=k0\nB acquire [0,1] key=k1\nA acquire [2,403] busy key=k1\nB acquire [3,404] busy key=k0", Violated, 1, "", ""},
		{"each waits for its own key", Deadlock, noClaims(for2), `
		A acquire [0,1] key=k0
		A2=A acquire [2,403] busy key=k0` + probeText, NotJudged, 0, "", ""},
		{"two of four wait in a circle", Deadlock, plainLock(), `
		A acquire [0,1] key=k0
		B acquire [0,1] key=k1
		C acquire [0,1] key=k2
		A acquire [2,403] busy key=k1
		C acquire [2,403] busy key=k1
		B acquire [3,404] busy key=k0` + probeText, Violated, 1, "", "client 2 had k1"},
		{"one holds two keys, and two wait for it", Deadlock, plainLock(), `
		A acquire [0,1] key=k0
		A acquire [1,2] key=k2
		B acquire [0,1] key=k1
		A acquire [3,403] busy key=k1
		B acquire [3,404] busy key=k0` + probeText, Violated, 1, "", ""},
		{"two holders of one key, who ask for it again", Deadlock, reentrant(plainLock()), `
		A acquire [0,1] key=k0
		B acquire [0,1] key=k0
		A acquire [2,403] busy key=k0
		B acquire [3,404] busy key=k0` + probeText, NotJudged, 0, "", "while it had another"},
		{"a fault more than a TTL before, in a long session", Deadlock, session(plainLock()), `
		pause A   [100,110]
		A acquire [0,1] key=k0
		B acquire [0,1] key=k1
		A acquire [1000,1403] busy key=k1
		B acquire [1000,1404] busy key=k0` + probeText, Violated, 1, "", ""},
		{"it waits for what it had a moment ago", Deadlock, plainLock(), `
		A acquire [0,1] key=k0
		B acquire [0,1] key=k1
		A release [2,3] key=k0
		A acquire [4,404] busy key=k1
		B acquire [4,404] busy key=k0` + probeText, Pass, 0, "", ""},
	})
	// The end of a history that is cut: what withdrew a promise may lie behind the cut.
	h := untilCut(plainLock()).history("A acquire [0,1] key=k0\nB acquire [0,1] key=k1\nA acquire [2,403] busy key=k1\nB acquire [3,404] busy key=k0")
	h.Events = h.Events[:len(h.Events)-1]
	if r := Judge(h, Options{}); r.Property(Deadlock).Count != 0 {
		t.Errorf("just before the cut: %+v", r.Property(Deadlock))
	}
	h.Truncated = false
	if r := Judge(h, Options{}); r.Property(Deadlock).Count != 1 {
		t.Errorf("just before the end: %+v", r.Property(Deadlock))
	}
	for _, waits := range [2]string{"A acquire [2,903] busy key=k1\nB acquire [3,904] busy key=k0",
		"A acquire [2,700] busy key=k1\nB acquire [3,748] busy key=k0"} {
		h := untilCut(plainLock()).history("A acquire [0,1] key=k0\nB acquire [0,1] key=k1\n" + waits)
		h.Events = h.Events[:len(h.Events)-1]
		if r := Judge(h, Options{}); r.Property(Deadlock).Count != 1 {
			t.Errorf("long enough before the cut (%s): %+v", waits, r.Property(Deadlock))
		}
	}
}
