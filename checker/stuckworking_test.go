package checker

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// lateProbe is a probe that finds the key free long after everything.
const lateProbe = `
		mark probe [60000]
		P acquire  [60001,60003]
		P release  [60004,60005]
		mark final [61000]
		Q acquire  [61001,61002]
		Q release  [61003,61004]`

// asking has a client ask for the key every so often, and be told that it is busy.
func asking(client string, from, to, every int) string {
	var b strings.Builder
	for t := from; t < to; t += every {
		fmt.Fprintf(&b, "%s acquire [%d,%d] busy\n", client, t, min(t+every-10, to))
	}
	return b.String()
}

// taking has a client take one key after the other, every so often.
func taking(client string, from, to, every int) string {
	var b strings.Builder
	for n, t := 1, from; t < to; n, t = n+1, t+every {
		fmt.Fprintf(&b, "%s acquire [%d,%d] key=k%d\n", client, t, t+1, n)
	}
	return b.String()
}

func sessionLock() script {
	return claim(plainLock(), func(c *history.Claims) { c.Validity = "session" })
}

// TestStuckWhileClientsWork: the TTL is 500 ms, so a key may be free and wanted for 3 s.
func TestStuckWhileClientsWork(t *testing.T) {
	if p := Patience(500*time.Millisecond, 0); p != 3*time.Second {
		t.Fatalf("patience of %v", p)
	}
	const given = "A acquire [0,1]\nA release [10,11]\n"
	const taken = "A acquire [0,1]\n"
	long, short := asking("B", 20, 3400, 100), asking("B", 20, 2900, 100)
	run(t, []propertyCase{
		{"asked for again and again", StuckLock, plainLock(), given + long + lateProbe, Violated, 1, KindWedged,
			"client 2, which nothing disturbed"},
		{"not for long enough", StuckLock, plainLock(), given + short + lateProbe, Pass, 0, "", ""},
		{"one wait", StuckLock, plainLock(), given + "B acquire [20,4000] busy\n" + asking("C", 30, 4000, 600) +
			lateProbe, Violated, 1, KindWedged, ""},
		{"too few grants are no excuse", StuckLock, needs(plainLock(), history.Needs{Grants: 20, Handovers: 5}), given +
			"B acquire [20,40000] info start=20\nC acquire [21,40001] info start=21\nD acquire [22,40002] info start=22" + lateProbe, Violated, 1, KindWedged, ""},
		{"the service may have been away", StuckLock, plainLock(), given + "B acquire [20,8000] busy" + lateProbe, Pass, 0, "", ""},
		{"others got errors alone, so the service may have been away", StuckLock, plainLock(), given + "B acquire [20,8000] busy\n" +
			strings.ReplaceAll(asking("C", 30, 7900, 600), "busy", "fail") + lateProbe, Pass, 0, "", ""},
		{"another was granted other keys, so the service was there", StuckLock, plainLock(), given + "B acquire [20,8000] busy\n" +
			taking("C", 30, 7900, 600) + lateProbe, Violated, 1, KindWedged, ""},
		{"it was away for too long", StuckLock, plainLock(), given + "B acquire [20,11000] busy" + lateProbe, Violated, 1, KindWedged, ""},
		{"granted late", StuckLock, plainLock(), given + "B acquire [20,11000]\nB release [11001,11002]" + lateProbe,
			Violated, 1, KindWedged, ""},
		{"granted after the service was away", StuckLock, plainLock(),
			given + "B acquire [20,8000]\nC acquire [19,7999] busy\nB release [8001,8002]" + lateProbe, Pass, 0, "", ""},
		{"somebody had it meanwhile", StuckLock, plainLock(),
			given + long + "D acquire [1700,1701]\nD release [1705,1706]" + lateProbe, Pass, 0, "", ""},
		{"errors are no answers", StuckLock, plainLock(), given + strings.ReplaceAll(long, "busy", "fail") + lateProbe, Pass, 0, "", ""},
		{"it rested for too long", StuckLock, plainLock(),
			given + "B acquire [20,30] busy\nB acquire [1100,1110] busy\nB acquire [2200,2210] busy\nB acquire [3300,3310] busy" + lateProbe,
			Pass, 0, "", ""},
		{"the waiter was stopped", StuckLock, plainLock(), given + long + "pause B [1000,1100]" + lateProbe, Pass, 0, "", ""},
		{"the service was disturbed", StuckLock, plainLock(), given + long + "service x [1000,1100]" + lateProbe, Pass, 0, "", ""},
		{"a fault that lasts", StuckLock, plainLock(), given + long + "service x [1000,59000]" + lateProbe, Pass, 0, "", ""},
		{"another waiter was stopped, which may have been granted it", StuckLock, plainLock(),
			given + long + "C acquire [500,2000] busy\npause C [600,1800]" + lateProbe, Pass, 0, "", ""},
		{"another waiter was stopped, which has not been answered yet", StuckLock, plainLock(),
			given + long + "C acquire [500,8000] busy\npause C [600,1800]" + lateProbe, Pass, 0, "", ""},
		{"one that asked for nothing was stopped", StuckLock, plainLock(),
			given + long + "pause C [600,1800]" + lateProbe, Violated, 1, KindWedged, ""},
		{"one that had asked before was stopped later", StuckLock, plainLock(),
			"C acquire [2,3] busy\n" + given + long + "pause C [600,1800]" + lateProbe, Violated, 1, KindWedged, ""},
		{"what a fault held back comes later", StuckLock, plainLock(),
			given + "service x [30,1000]\n" + asking("B", 20, 4900, 100) + lateProbe, Pass, 0, "", ""},
		{"long after the fault", StuckLock, plainLock(),
			given + "service x [30,1000]\n" + asking("B", 20, 5100, 100) + lateProbe, Violated, 1, KindWedged, ""},
		{"the machine stalled", StuckLock, plainLock(), given + long + "stall C [1000,1500]" + lateProbe, Inconclusive, 0, "", ""},
		{"the machine stalled for a moment", StuckLock, plainLock(), given + long + "stall C [1000,1100]" + lateProbe,
			Violated, 1, KindWedged, ""},
		{"a lease that is over", StuckLock, plainLock(), taken + long + lateProbe, Violated, 1, KindWedged, ""},
		{"a lease that was renewed", StuckLock, plainLock(), taken + "A renew [900,901]\n" + long + lateProbe, Pass, 0, "", ""},
		{"a holder that still acts", StuckLock, plainLock(), taken + "A write [900,901]\n" + long + lateProbe, Pass, 0, "", ""},
		{"a renewal of unknown fate", StuckLock, plainLock(), taken + "A renew [100,101] info\n" + long + lateProbe, Pass, 0, "", ""},
		{"a session that lives", StuckLock, sessionLock(), taken + long + lateProbe, Pass, 0, "", ""},
		{"a session that was lost, and not given back", StuckLock, sessionLock(),
			taken + "A lost [5]\n" + long + lateProbe, Pass, 0, "", ""},
		{"a lock without an expiry", StuckLock, claim(plainLock(), func(c *history.Claims) { c.NoExpiry = true }),
			taken + long + lateProbe, Pass, 0, "", ""},
		{"an acquire of unknown fate excuses it for a lease", StuckLock, sessionLock(),
			"A acquire [0,1] info\n" + long + lateProbe, Violated, 1, KindWedged, ""},
		{"and no longer", StuckLock, sessionLock(), "A acquire [0,600] info\n" + long + lateProbe, Pass, 0, "", ""},
		{"a release of unknown fate", StuckLock, plainLock(), taken + "A release [10,200] info\n" + long + lateProbe,
			Violated, 1, KindWedged, ""},
		{"a grant that never ran out", StuckLock, plainLock(),
			taken + "A exit [10]\n" + asking("B", 20, 4000, 100) + "B exit [4100]\nmark final [5000]\nQ acquire [5001,7000] busy",
			Violated, 1, KindNeverExpired, "It stayed taken"},
		{"a ghost", StuckLock, plainLock(), given + "C acquire [2,9] busy\n" + asking("B", 20, 4000, 100) +
			"C close [4000,4001]\nB acquire [4010,4020]\nB release [4030,4040]" + lateProbe,
			Violated, 1, KindGhost, "Client 3, which had no grant, occupied it until it ended."},
		{"one of two ghosts", StuckLock, plainLock(), given + "C acquire [2,9] busy\nD acquire [2,9] info\n" + asking("B", 20, 4000, 100) +
			"C close [4000,4001]\nD exit [4002]\nB acquire [4010,4020]\nB release [4030,4040]" + lateProbe, Violated, 1,
			KindGhost, "A client that had no grant"},
		{"its end freed nothing", StuckLock, plainLock(), given + "C acquire [2,9] busy\n" + asking("B", 20, 4000, 100) +
			"C close [4000,4001]\nB acquire [4010,4020] busy\nA close [4030,4031]\nB acquire [4040,4050]\nB release [4060,4061]" + lateProbe, Violated, 1, KindWedged, ""},
		{"a holder's end", StuckLock, plainLock(), taken + "C acquire [2,9] busy\n" + asking("B", 20, 4000, 100) +
			"C close [4000,4001]\nA close [4002,4003]\nB acquire [4040,4050]\nB release [4060,4061]" + lateProbe,
			Violated, 1, KindWedged, ""},
		{"a waiter sleeps on", StuckLock, plainLock(),
			given + "B acquire [5,9000] busy\nC acquire [4000,4001]\nC release [4010,4011]" + lateProbe, Violated, 1,
			KindAsleep, "at 5.000 s another client asked"},
		{"two sleep on", StuckLock, plainLock(), given +
			"B acquire [5,9000] busy\nD acquire [5,9000] busy\nC acquire [4000,4001]\nC release [4010,4011]" +
			lateProbe, Violated, 1, KindAsleep, ""},
		{"it may look again soon", StuckLock, plainLock(),
			given + "B acquire [5,2500] busy\nC acquire [2000,2001]\nC release [2010,2011]" + lateProbe, Pass, 0, "", ""},
		{"the sleeper was stopped", StuckLock, plainLock(),
			given + "B acquire [5,9000] busy\npause B [1000,1500]\nC acquire [4000,4001]\nC release [4010,4011]" +
				lateProbe, Pass, 0, "", ""},
		{"the other one waited, too", StuckLock, plainLock(),
			given + "B acquire [5,9000] busy\nC acquire [3000,4100]\nC release [4110,4111]" + lateProbe, Pass, 0, "", ""},
		{"two times, two violations", StuckLock, plainLock(),
			given + long + "D acquire [3500,3501]\nD release [3505,3506]\n" + asking("B", 3600, 7000, 100) + lateProbe,
			Violated, 2, KindWedged, ""},
		{"a fresh client that waits counts, too", StuckLock, plainLock(),
			given + "mark probe [20000]\nP acquire [20001,40000] info start=20001\nmark final [61000]\nQ acquire [61001,61002]",
			Violated, 1, KindWedged, ""},
		{"found while they worked, and by the probe", StuckLock, plainLock(),
			given + long + "mark final [5000]\nQ acquire [5001,7000] busy", Violated, 1, KindWedged, ""},
	})
}

// TestFreshClientsAskMeanwhile: fresh clients ask for a key that nobody gets,
// and clients are closed until one of them is granted it. The TTL is 500 ms, so
// a session of a client that has ended may stand for 1 s.
func TestFreshClientsAskMeanwhile(t *testing.T) {
	slow := claim(plainLock(), func(c *history.Claims) { c.Validity = "session" }).with(func(h *history.Header) { h.Slack = 4000 * ms })
	const given = "A acquire [0,1]\nA release [10,11]\nC acquire [2,9] busy\n"
	const refused = "mark ask [3500]\nP acquire [3501,7000] busy\nP close [7001,7002]\nP exit [7003]\n"
	const goesOn = "mark run [9000]\n"
	const granted = "P acquire [7301,7302]\nP release [7303,7304]\n"
	asks := asking("B", 20, 7100, 100)
	run(t, []propertyCase{
		{"the end of one loser frees it", StuckLock, plainLock(),
			given + asks + refused + "C close [7200,7201]\n" + granted + goesOn + lateProbe,
			Violated, 1, KindGhost, "Client 3, which had no grant"},
		{"who is refused just then changes nothing", StuckLock, plainLock(),
			given + asks + refused + "C close [7200,7201]\nB acquire [7110,7250] busy\n" +
				granted + goesOn + lateProbe, Violated, 1, KindGhost, "Client 3, which had no grant"},
		{"who is refused when its session is over clears it", StuckLock, plainLock(), given + asks + refused +
			"C close [7200,7201]\nP acquire [7210,8300] busy\nP acquire [8310,8311]\n" + goesOn + lateProbe, Violated, 1, KindWedged, ""},
		{"the end of a fresh client is none of a suspect", StuckLock, plainLock(),
			given + asks + refused + granted + goesOn + lateProbe, Violated, 1, KindWedged, ""},
		{"two losers end together", StuckLock, plainLock(),
			given + "D acquire [2,9] busy\n" + asks + refused + "C close [7200,7201]\nD close [7200,7201]\n" + granted +
				goesOn + lateProbe, Violated, 1, KindGhost, "A client that had no grant"},
		{"a fresh client gets it at once, and a waiter sleeps on", StuckLock, plainLock(),
			given + "B acquire [20,9000] busy\nmark ask [3500]\n" +
				"P acquire [3501,3502]\nP release [3503,3504]\n" + goesOn + lateProbe, Violated, 1, KindAsleep,
			"at 4.501 s another client asked"},
		{"a fresh client is granted it in time", StuckLock, plainLock(),
			given + asking("B", 20, 2900, 100) + "mark ask [2950]\nP acquire [2951,2952]\n" +
				"P release [2953,2954]\n" + goesOn + lateProbe, Pass, 0, "", ""},
		{"errors are no answers to a fresh client either", StuckLock, plainLock(),
			given + "P acquire [100,4000] fail\nmark final [5000]\nQ acquire [5001,9000] fail",
			Inconclusive, 0, "", "answered with an error"},
		{"a dead client's session stands for as long as its service may keep it", StuckLock, slow,
			"A acquire [0,1]\nA exit [10]\n" + asking("B", 20, 6400, 100) +
				"B acquire [6410,6411]\nB release [6420,6421]" + lateProbe, Pass, 0, "", ""},
		{"and no longer", StuckLock, slow, "A acquire [0,1]\nA exit [10]\n" + asking("B", 20, 6700, 100) +
			"B acquire [6710,6711]\nB release [6720,6721]" + lateProbe,
			Violated, 1, KindWedged, ""},
		{"nobody gets it, live clients or not", StuckLock, plainLock(),
			given + asks + refused + "C close [7200,7201]\nB close [7300,7301]\nA close [7400,7401]\n" +
				"mark final [9000]\nQ acquire [9001,13000] busy", Violated, 1, KindWedged, ""},
		{"still taken after all have ended", StuckLock, plainLock(),
			"C acquire [2,9] busy\nA acquire [0,1]\nA exit [10]\n" + asks + refused +
				"C close [7200,7201]\nB close [7300,7301]\nmark final [9000]\nQ acquire [9001,13000] busy", Violated, 1,
			KindNeverExpired, "It stayed taken"},
	})
}

// TestStuckWithoutClocks: what a worker never reported shows nothing, and what
// another tool's log tells is not watched.
func TestStuckWithoutClocks(t *testing.T) {
	text := "A acquire [0,1]\nA release [10,11]\nB acquire [20,40000] info" + lateProbe
	if v := plainLock().judge(t, text); v.Property(StuckLock).Outcome != Pass {
		t.Errorf("never reported: %+v", v.Property(StuckLock))
	}
	translated := plainLock().with(func(h *history.Header) { h.Translated = true })
	if v := translated.judge(t, strings.Replace(text, "info", "busy", 1)); v.Property(StuckLock).Outcome != Pass {
		t.Errorf("translated: %+v", v.Property(StuckLock))
	}
}

// TestGhostOfARealRun: the control broken-etcd-queue-stayer on real servers, by
// its smallest witness.
func TestGhostOfARealRun(t *testing.T) {
	h, err := history.ReadFile(filepath.Join("testdata", "patterns", "broken-etcd-queue-stayer.give-up.unfenced.stuck-lock.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if v := Judge(h, Options{}); kindOf(v, StuckLock) != KindGhost {
		t.Errorf("%+v", v.Property(StuckLock))
	}
}

// TestStuckBesideWrongClocks: who waits by a wrong clock may sleep for long, so
// it shows nothing. Clients whose clocks were right do. The TTL is 500 ms.
func TestStuckBesideWrongClocks(t *testing.T) {
	const given = "A acquire [0,1]\nA release [10,11]\n"
	const asleep = given + "B acquire [5,9000] busy\nC acquire [4000,4001]\nC release [4010,4011]\n"
	long := asking("B", 1000, 5000, 100)
	run(t, []propertyCase{
		{"the waiter's own", StuckLock, plainLock(), "fault clock-jump [2,9] on=B\n" + given + long + lateProbe, Pass, 0, "", ""},
		{"the service's", StuckLock, plainLock(), "fault clock-jump [2,9] on=service\n" + given + long + lateProbe, Pass, 0, "", ""},
		{"a client's that had the key before", StuckLock, plainLock(),
			"fault clock-jump [2,9] on=A\n" + given + long + lateProbe, Violated, 1, KindWedged, ""},
		{"another one's, and the machine stalled", StuckLock, plainLock(),
			"fault clock-jump [2,9] on=A\n" + given + long + "stall C [2000,3500]" + lateProbe,
			Inconclusive, 0, "", ""},
		{"one's that sleeps before them in the queue", StuckLock, plainLock(),
			given + "C acquire [20,9000] busy\nfault clock-jump [30,40] on=C\n" + long + lateProbe,
			Pass, 0, "", ""},
		{"one's that slept, and they waited on", StuckLock, plainLock(),
			given + "C acquire [20,1500] busy\nfault clock-jump [30,40] on=C\n" + long + lateProbe,
			Violated, 1, KindWedged, ""},
		{"one's that slept for most of the time", StuckLock, plainLock(),
			given + "C acquire [20,3500] busy\nfault clock-jump [30,40] on=C\n" + long + lateProbe,
			Pass, 0, "", ""},
		{"one's that never reported", StuckLock, plainLock(),
			given + "C acquire [20,1500] info\nfault clock-jump [30,40] on=C\n" + long + lateProbe, Pass, 0, "", ""},
		{"one's that never reported, and is gone", StuckLock, plainLock(),
			given + "C acquire [20,1000] info\nfault clock-jump [30,40] on=C\nC exit [1100]\n" + long + lateProbe,
			Violated, 1, KindWedged, ""},
		{"one's that queued later, with a monotonic clock that is still ahead", StuckLock, plainLock(),
			"fault clock-jump [2,9] on=C\n" + given + "C acquire [20,9000] busy\n" + long + lateProbe,
			Pass, 0, "", ""},
		{"the sleeper's own", StuckLock, plainLock(), "fault clock-rate [2,9] on=B\n" + asleep + lateProbe, Pass, 0, "", ""},
		{"the service's, and one sleeps", StuckLock, plainLock(),
			"fault clock-rate [2,9] on=service\n" + asleep + lateProbe, Pass, 0, "", ""},
		{"another one's, and one sleeps", StuckLock, plainLock(), "fault clock-rate [2,9] on=C\n" + asleep + lateProbe,
			Violated, 1, KindAsleep, ""},
		{"a fresh client's own", StuckLock, plainLock(),
			given + "mark final [3000]\nfault clock-jump [3001,3002] on=Q\nQ acquire [5000,6100] busy", Inconclusive, 0, "",
			"somebody could still hold it"},
		{"another one's, and a fresh client is refused", StuckLock, plainLock(),
			"fault clock-jump [2,9] on=B\n" + given + "mark final [3000]\nQ acquire [5000,6100] busy",
			Violated, 1, "", "a fresh one"},
	})
}
