package checker

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// A case of one property: what it is judged to be, how often it is violated, and of what kind.
type propertyCase struct {
	name, property string
	lock           script
	text           string
	outcome        Outcome
	count          int
	kind           string
	says           string // part of the violation's text, or of the reason
}

func run(t *testing.T, cases []propertyCase) {
	t.Helper()
	for _, x := range cases {
		t.Run(x.property+"/"+x.name, func(t *testing.T) {
			v := x.lock.judge(t, x.text)
			r := v.Property(x.property)
			if r.Outcome != x.outcome || r.Count != x.count {
				t.Fatalf("%v ×%d (%s), want %v ×%d; reasons %q", r.Outcome, r.Count, r.Why, x.outcome, x.count, v.Reasons)
			}
			said := r.Why
			if x.count > 0 {
				said = r.Violations[0].Text
				if r.Violations[0].Kind != x.kind {
					t.Errorf("kind %q, want %q", r.Violations[0].Kind, x.kind)
				}
				bare := x.property == Herd || x.property == MissedTick // of no op
				if r.Violations[0].Property != x.property || len(r.Violations[0].Ops) == 0 && !bare {
					t.Errorf("%+v", r.Violations[0])
				}
			}
			if !strings.Contains(said, x.says) {
				t.Errorf("%q does not say %q", said, x.says)
			}
			t.Log(said)
		})
	}
}

func claim(s script, f func(*history.Claims)) script {
	return s.with(func(h *history.Header) { f(&h.Claims) })
}

func confirms(s script, ops ...string) script {
	return claim(s, func(c *history.Claims) { c.Confirms = ops })
}

func permits(s script, n int) script { return claim(s, func(c *history.Claims) { c.Permits = n }) }

func workload(s script, name string) script {
	return s.with(func(h *history.Header) { h.Workload = name })
}

const handedOver = `
		A acquire [0,1] tok=1
		B acquire [600,601] tok=2
		`

func TestDeadGrant(t *testing.T) {
	lib := library(plainLock())
	run(t, []propertyCase{
		{"in time", DeadGrant, plainLock(), "A acquire [0,1] attempt=0" + probeText, Pass, 0, "", ""},
		{"the lease was over before the reply", DeadGrant, plainLock(), "A acquire [0,601] attempt=0" + probeText,
			Violated, 1, "", "which nothing disturbed"},
		{"a waiter, whose attempt was late", DeadGrant, plainLock(), "A acquire [0,901] attempt=900" + probeText, Pass, 0, "", ""},
		{"a waiter that does not tell of its attempts", DeadGrant, plainLock(), "A acquire [0,901]" + probeText, Pass, 0, "", ""},
		{"the client was stopped before it returned", DeadGrant, plainLock(),
			"pause A [2,599]\nA acquire [0,601] attempt=0" + probeText, Pass, 0, "", ""},
		{"the reply was late on its way", DeadGrant, plainLock(),
			"delay A [2,599]\nA acquire [0,601] attempt=0" + probeText, Violated, 1, "", "which was neither stopped nor skewed"},
		{"the reply was late, and then the client was stopped", DeadGrant, plainLock(),
			"delay A [2,500]\npause A [510,599]\nA acquire [0,601] attempt=0" + probeText, Pass, 0, "", ""},
		{"the machine stalled the client", DeadGrant, plainLock(),
			"stall A [2,599]\nA acquire [0,601] attempt=0" + probeText, Inconclusive, 0, "", "a stall of this machine alone explains"},
		{"a stall just long enough, its ends uncertain", DeadGrant, plainLock(),
			"stall A [2,72]\nA acquire [0,700] attempt=0" + probeText, Inconclusive, 0, "", "stall"},
		{"stalls too short to explain it", DeadGrant, plainLock(),
			"stall A [100,175]\nA acquire [0,901] attempt=0" + probeText, Violated, 1, "", "too short to explain it"},
		{"a stop beside such a stall", DeadGrant, plainLock(),
			"pause A [300,700]\nstall A [100,175]\nA acquire [0,901] attempt=0" + probeText, Pass, 0, "", ""},
		{"nothing left, after a stall", DeadGrant, lib,
			"stall A [100,300]\nA acquire [0,480] attempt=0 valid=-60" + probeText, Inconclusive, 0, "", "stall"},
		{"nothing left at once, stall or not", DeadGrant, lib,
			"stall A [0,60]\nA acquire [0,61] attempt=0 valid=0" + probeText, Violated, 1, "", "good for 0.000 s"},
		{"a stall too short to be recorded may explain it", DeadGrant, plainLock(),
			"A acquire [0,540] attempt=0" + probeText, Pass, 0, "", ""},
		{"another client was stopped", DeadGrant, plainLock(),
			"pause B [2,599]\nA acquire [0,601] attempt=0" + probeText, Violated, 1, "", "0.601 s after"},
		{"the library says itself that nothing is left", DeadGrant, lib,
			"A acquire [0,1] attempt=0 valid=0" + probeText, Violated, 1, "", "good for 0.000 s"},
		{"less than nothing, after a while", DeadGrant, lib, "A acquire [0,480] attempt=0 valid=-60" + probeText,
			Violated, 1, "", "-0.060 s"},
		{"the library looked just in time", DeadGrant, lib, "A acquire [0,495] attempt=0 valid=-1" + probeText, Pass, 0, "", ""},
		{"no grant tells anything", DeadGrant, plainLock(), "A acquire [0,901]", Inconclusive, 0, "", "No grant told"},
		{"a session", DeadGrant, claim(plainLock(), func(c *history.Claims) { c.Validity = "session" }),
			"A acquire [0,601] attempt=0" + probeText, NotJudged, 0, "", "how long"},
	})
}

// TestDeadGrantOfSessions: a client that was stopped in the queue for longer
// than its session can live has no place in it any more.
func TestDeadGrantOfSessions(t *testing.T) {
	session := claim(plainLock(), func(c *history.Claims) { c.Validity = "session" }).
		with(func(h *history.Header) { h.Slack, h.Stall = 300*ms, 20*ms })
	const frozen = "pause A [100,901]\n"
	run(t, []propertyCase{
		{"in time", DeadGrant, session, "A acquire [0,1] attempt=0" + probeText, Pass, 0, "", ""},
		{"a long wait", DeadGrant, session, "A acquire [0,2000] attempt=0" + probeText, Pass, 0, "", ""},
		{"stopped in the queue", DeadGrant, session, frozen + "A acquire [0,1000] attempt=0" + probeText, Violated, 1,
			"", "frozen for 0.801 s while it waited"},
		{"for as long as a session can live", DeadGrant, session,
			"pause A [100,900]\nA acquire [0,1000] attempt=0" + probeText, Pass, 0, "", ""},
		{"twice, each time for less", DeadGrant, session,
			"pause A [100,700]\npause A [710,1310]\nA acquire [0,1400] attempt=0" + probeText, Pass, 0, "", ""},
		{"its healing was noted after the grant", DeadGrant, session,
			"pause A [100,1010] to=901\nA acquire [0,1000] attempt=0" + probeText, Violated, 1, "", "frozen for 0.801 s while it waited"},
		{"noted after the grant, and too short", DeadGrant, session,
			"pause A [100,1010] to=900\nA acquire [0,1000] attempt=0" + probeText, Pass, 0, "", ""},
		{"it was still stopped when the acquire returned", DeadGrant, session,
			"pause A [100,1010]\nA acquire [0,1000] attempt=0" + probeText, Pass, 0, "", ""},
		{"it queued again when it came back", DeadGrant, session, frozen + "A acquire [0,1000] attempt=902" + probeText, Pass, 0, "", ""},
		{"it says so by the place alone", DeadGrant, session, frozen + "A acquire [0,1000] attempt=0 enq=903" + probeText, Pass, 0, "", ""},
		{"it tells nothing", DeadGrant, session, frozen + "A acquire [0,1000]" + probeText, Pass, 0, "", ""},
		{"nobody tells anything", DeadGrant, session, frozen + "A acquire [0,1000]", Inconclusive, 0, "", "No grant told"},
		{"stopped when the request may not have left", DeadGrant, session,
			"pause A [49,901]\nA acquire [0,1000] attempt=0" + probeText, Pass, 0, "", ""},
		{"stopped when the answer may have been read", DeadGrant, session,
			"pause A [79,901]\nA acquire [0,1000] attempt=0" + probeText, Pass, 0, "", ""},
		{"stopped when it must have been", DeadGrant, session,
			"pause A [80,901]\nA acquire [0,1000] attempt=0" + probeText, Violated, 1, "", ""},
		{"stopped so soon, but it had its place", DeadGrant, session,
			"pause A [49,901]\nA acquire [0,1000] attempt=0 enq=48" + probeText, Violated, 1, "", ""},
		{"stopped before it asked", DeadGrant, session, "pause A [1,901]\nA acquire [0,1000] attempt=902" + probeText, Pass, 0, "", ""},
		{"stopped before it asked, and a little after", DeadGrant, session,
			frozen + "A acquire [90,1000] attempt=90 enq=902" + probeText, Pass, 0, "", ""},
		{"another client was stopped", DeadGrant, session, "pause B [100,901]\nA acquire [0,1000] attempt=0" + probeText, Pass, 0, "", ""},
		{"its links were slow", DeadGrant, session, "delay A [100,901]\nA acquire [0,1000] attempt=0" + probeText, Pass, 0, "", ""},
		{"it was cut off, perhaps one way", DeadGrant, session,
			"fault partition [100,901] on=A links\nA acquire [0,1000] attempt=0" + probeText, Pass, 0, "", ""},
		{"the service stood still, too", DeadGrant, session,
			frozen + "service x [200,800]\nA acquire [0,1000] attempt=0" + probeText, Pass, 0, "", ""},
		{"the service was stalled, too", DeadGrant, session,
			frozen + "fault stall [200,300] on=service +own\nA acquire [0,1000] attempt=0" + probeText, Inconclusive, 0, "", "stall"},
		{"and had long been well", DeadGrant, session,
			"pause A [100,1101]\nfault stall [200,300] on=service +own\nA acquire [0,1200] attempt=0" + probeText, Violated, 1, "", ""},
		{"for just as long as a session can live", DeadGrant, session,
			"pause A [100,1100]\nfault stall [200,300] on=service +own\nA acquire [0,1200] attempt=0" + probeText,
			Inconclusive, 0, "", "stall"},
		{"its session was over when the service stalled", DeadGrant, session,
			"pause A [100,1000]\nfault stall [901,950] on=service +own\nA acquire [0,1200] attempt=0" + probeText, Violated, 1, "", ""},
		{"the machine stood still, too", DeadGrant, session,
			frozen + "stall B [200,300]\nA acquire [0,1000] attempt=0" + probeText, Inconclusive, 0, "", "stall"},
		{"a lock without expiry", DeadGrant, claim(session, func(c *history.Claims) { c.NoExpiry = true }),
			frozen + "A acquire [0,1000] attempt=0" + probeText, NotJudged, 0, "", "by time"},
		{"a service that does not say", DeadGrant, session.with(func(h *history.Header) { h.Slack = 0 }),
			frozen + "A acquire [0,1000] attempt=0" + probeText, NotJudged, 0, "", "how long"},
	})
}

// TestFalseBusy: busy is false if all else was settled when the acquire was
// invoked, and nobody else asked until its end.
func TestFalseBusy(t *testing.T) {
	const used, asks = "A acquire [0,1]\nA release [2,3]\n", "B acquire [10,20] busy"
	session := claim(plainLock(), func(c *history.Claims) { c.Validity = "session" })
	run(t, []propertyCase{
		{"nobody had it, ever", FalseBusy, plainLock(), asks + probeText, Violated, 1, "", "it had never been granted"},
		{"released before", FalseBusy, plainLock(), used + asks + probeText, Violated, 1, "", "its last grant, to client 1, was settled"},
		{"its own key, by a reply that was lost", FalseBusy, plainLock(), "delay B [12,15]\n" + used + asks + probeText,
			Violated, 1, "", "client 2"},
		{"the cause is one until the next grant", FalseBusy, plainLock(),
			used + asks + "\nA acquire [21,22] busy\nB acquire [23,24] busy" + probeText, Violated, 1, "", ""},
		{"and another one after it", FalseBusy, plainLock(),
			used + asks + "\nA acquire [21,22]\nA release [23,24]\nB acquire [25,26] busy" + probeText, Violated, 2, "", ""},
		{"still held", FalseBusy, plainLock(), "A acquire [0,1]\n" + asks + probeText, Pass, 0, "", ""},
		{"held by itself", FalseBusy, plainLock(), "B acquire [0,1]\n" + asks + probeText, Pass, 0, "", ""},
		{"another key", FalseBusy, plainLock(), "A acquire [0,1] key=k1\n" + asks + probeText, Violated, 1, "", ""},
		{"released while it asked", FalseBusy, plainLock(), "A acquire [0,1]\nA release [9,11]\n" + asks + probeText, Pass, 0, "", ""},
		{"released, answer unknown", FalseBusy, plainLock(), "A acquire [0,1]\nA release [2,3] info\n" + asks + probeText, Pass, 0, "", ""},
		{"an attempt of unknown fate", FalseBusy, plainLock(), "A acquire [0,1] info\n" + asks + probeText, Pass, 0, "", ""},
		{"its own attempt of unknown fate", FalseBusy, plainLock(), "B acquire [0,1] info\n" + asks + probeText, Pass, 0, "", ""},
		{"long after an attempt of unknown fate", FalseBusy, plainLock(),
			"A acquire [0,1] info start=0\nB acquire [1002,1003] busy" + probeText9, Violated, 1, "", "client 2"},
		{"just before", FalseBusy, plainLock(), "A acquire [0,1] info start=0\nB acquire [1001,1002] busy" + probeText9, Pass, 0, "", ""},
		{"long after its own", FalseBusy, plainLock(),
			"B acquire [0,1] info start=0\nB acquire [1002,1003] busy" + probeText9, Violated, 1, "", ""},
		{"an attempt that never reported", FalseBusy, plainLock(),
			"A acquire [0,1] info\nB acquire [4002,4003] busy" + probeText9, Pass, 0, "", ""},
		{"an attempt of unknown fate that leaves nothing for long", FalseBusy,
			claim(plainLock(), func(c *history.Claims) { c.Abandons = 100 * ms }),
			"A acquire [0,1] info start=0\nB acquire [602,603] busy" + probeText9, Violated, 1, "", ""},
		{"one that a fault held back", FalseBusy, plainLock(),
			"A acquire [0,1] info start=0\ndelay A [1,300]\nB acquire [1550,1551] busy" + probeText9, Pass, 0, "", ""},
		{"long after that", FalseBusy, plainLock(),
			"A acquire [0,1] info start=0\ndelay A [1,300]\nB acquire [1600,1601] busy" + probeText9, Violated, 1, "", ""},
		{"one that a fault holds back", FalseBusy, plainLock(),
			"A acquire [0,1] info start=0\ndelay A [1,9000]\nB acquire [1600,1601] busy" + probeText9, Pass, 0, "", ""},
		{"one after which the machine stood still", FalseBusy, plainLock(),
			"A acquire [0,1] info start=0\nstall C [100,200]\nB acquire [1050,1051] busy" + probeText9, Pass, 0, "", ""},
		{"one after which the service stood still", FalseBusy, plainLock(),
			"A acquire [0,1] info start=0\nfault stall [1100,1110] on=service +own\nB acquire [1120,1121] busy" + probeText9,
			Inconclusive, 0, "", "1 client was told that the key is taken, which a stall"},
		{"one of a session of a service that does not say", FalseBusy, session,
			"A acquire [0,1] info start=0\nB acquire [4100,4101] busy" + probeText9, Pass, 0, "", ""},
		{"one without an expiry", FalseBusy, claim(plainLock(), func(c *history.Claims) { c.NoExpiry = true }),
			"A acquire [0,1] info start=0\nB acquire [4100,4101] busy" + probeText9, Pass, 0, "", ""},
		{"one whose client is gone", FalseBusy, plainLock(),
			"A acquire [0,1] info start=0\nA exit [500]\nB acquire [1100,1101] busy" + probeText9, Pass, 0, "", ""},
		{"the votes were split", FalseBusy, plainLock(),
			"A acquire [0,11] busy\nB acquire [1,12] busy\nC acquire [2,13] busy" + probeText, Pass, 0, "", ""},
		{"and once more by one alone", FalseBusy, plainLock(),
			"A acquire [0,11] busy\nB acquire [1,12] busy\nA acquire [13,14] busy" + probeText, Violated, 1, "", "client 1"},
		{"another asked before", FalseBusy, plainLock(), "A acquire [0,11] busy\n" + asks + probeText, Pass, 0, "", ""},
		{"another asked meanwhile", FalseBusy, plainLock(), asks + "\nA acquire [15,16]\nA release [17,18]" + probeText, Pass, 0, "", ""},
		{"the service had taken the release for too late", FalseBusy, plainLock(),
			"A acquire [0,1]\nA release [2,3] notheld\n" + asks + probeText, Pass, 0, "", ""},
		{"and long after that", FalseBusy, plainLock(),
			"A acquire [0,1]\nA release [2,3] notheld\nB acquire [1004,1005] busy" + probeText9, Violated, 1, "", ""},
		{"just before", FalseBusy, plainLock(), "A acquire [0,1]\nA release [2,3] notheld\nB acquire [1003,1004] busy" +
			probeText9, Pass, 0, "", ""},
		{"a dead client's lease", FalseBusy, plainLock(),
			"A acquire [0,1]\nkill A [2,3]\nA exit [3]\nB acquire [900,901] busy" + probeText9, Pass, 0, "", ""},
		{"and long after that", FalseBusy, plainLock(),
			"A acquire [0,1]\nkill A [2,3]\nA exit [3]\nB acquire [1100,1101] busy" + probeText9, Violated, 1, "", ""},
		{"a dead waiter", FalseBusy, plainLock(), "A acquire [0,]\nkill A [2,3]\nA exit [3]\nB acquire [900,901] busy" +
			probeText9, Pass, 0, "", ""},
		{"a machine that stood still meanwhile", FalseBusy, plainLock(),
			"A acquire [0,1]\nkill A [2,3]\nA exit [3]\nstall C [100,200]\nB acquire [1100,1101] busy" + probeText9, Pass, 0, "", ""},
		{"a dead client's, without expiry", FalseBusy,
			claim(plainLock(), func(c *history.Claims) { c.NoExpiry = true }),
			"A acquire [0,1]\nA exit [3]\nB acquire [1100,1101] busy" + probeText9, Pass, 0, "", ""},
		{"a session of a service that does not say", FalseBusy, session,
			"A acquire [0,1]\nA exit [3]\nB acquire [1100,1101] busy" + probeText9, Pass, 0, "", ""},
		{"a session that is over", FalseBusy, session.with(func(h *history.Header) { h.Slack = ms }),
			"A acquire [0,1]\nA exit [3]\nB acquire [1100,1101] busy" + probeText9, Violated, 1, "", ""},
		{"an attempt that was sent twice", FalseBusy, plainLock(),
			"A acquire [0,1] first=0 attempt=0.5\nA release [2,3]\n" + asks + probeText, Pass, 0, "", ""},
		{"the service lost what it knew", FalseBusy, plainLock(), used + "service x [4,5]\n" + asks + probeText, Pass, 0, "", ""},
		{"the service was stalled", FalseBusy, plainLock(),
			used + "fault stall [4,5] on=service +own\n" + asks + probeText, Inconclusive, 0, "",
			"1 client was told that the key is taken, which a stall"},
		{"the service was stalled, and asked again", FalseBusy, plainLock(),
			"fault stall [0,1] on=service +own\n" + used + asks + "\nB acquire [1010,1020] busy" + probeText9, Violated, 1, "", ""},
		{"a stall long ago, without expiry", FalseBusy,
			claim(plainLock(), func(c *history.Claims) { c.NoExpiry = true }),
			"fault stall [0,1] on=service +own\nB acquire [1010,1020] busy" + probeText9, Violated, 1, "", ""},
		{"a fault long ago, without expiry", FalseBusy,
			claim(plainLock(), func(c *history.Claims) { c.NoExpiry = true }),
			"service x [0,1]\nB acquire [1010,1020] busy" + probeText9, Pass, 0, "", ""},
		{"long before", FalseBusy, plainLock(),
			"service x [0,1]\nA acquire [1000,1001]\nA release [1002,1003]\nB acquire [1010,1020] busy" + probeText9, Violated, 1, "", ""},
		{"a wrong clock, and a dead client", FalseBusy, plainLock(),
			"fault clock-jump [0,1] on=C\nA acquire [0,1]\nA exit [3]\nB acquire [1100,1101] busy" + probeText9, Pass, 0, "", ""},
		{"an error is no busy", FalseBusy, plainLock(), "B acquire [10,20] fail" + probeText, NotJudged, 0, "", "No client was told"},
		{"a history that ends too early", FalseBusy, untilCut(plainLock()), used + "A acquire [4,5]\n" + asks,
			Inconclusive, 0, "", "does not prove"},
		{"a semaphore", FalseBusy, permits(plainLock(), 2), asks + probeText, Violated, 1, "", ""},
		{"a translated history", FalseBusy, plainLock().with(func(h *history.Header) { h.Translated = true }), asks,
			NotJudged, 0, "", "Nobody watched"},
	})
}

// TestDeadRenewal: a renewal is judged as an acquire is, from its own attempt.
func TestDeadRenewal(t *testing.T) {
	lib := library(plainLock())
	const granted = "A acquire [0,1] attempt=0 valid=490\n"
	late := granted + "A renew [400,1001] attempt=400"
	run(t, []propertyCase{
		{"in time", DeadRenewal, plainLock(), granted + "A renew [400,401] attempt=400" + probeText, Pass, 0, "", ""},
		{"the lease was over before the reply", DeadRenewal, plainLock(), late + probeText, Violated, 1, "",
			"0.601 s after the renewal had begun"},
		{"exactly a stall beyond the lease", DeadRenewal, plainLock(),
			granted + "A renew [400,950] attempt=400" + probeText, Pass, 0, "", ""},
		{"and a little more", DeadRenewal, plainLock(), granted + "A renew [400,950.1] attempt=400" + probeText,
			Violated, 1, "", "nothing disturbed"},
		{"tried again, and answered in time", DeadRenewal, plainLock(),
			granted + "A renew [400,1001] attempt=900" + probeText, Pass, 0, "", ""},
		{"it does not tell of its attempts", DeadRenewal, plainLock(), granted + "A renew [400,1001]" + probeText,
			Inconclusive, 0, "", "No renewal told"},
		{"answered no", DeadRenewal, plainLock(), late + " notheld" + probeText, NotJudged, 0, "", "No renewal was answered ok"},
		{"unknown", DeadRenewal, plainLock(), late + " info start=400" + probeText, NotJudged, 0, "", "No renewal was answered ok"},
		{"nobody renews", DeadRenewal, plainLock(), granted + probeText, NotJudged, 0, "", "No renewal"},
		{"a renewal confirms nothing", DeadRenewal, confirms(plainLock(), "release"), late + probeText, NotJudged, 0,
			"", "does not declare"},
		{"a session", DeadRenewal, claim(plainLock(), func(c *history.Claims) { c.Validity = "session" }),
			late + probeText, NotJudged, 0, "", "how long"},
		{"the client was stopped before it returned", DeadRenewal, plainLock(), "pause A [402,999]\n" + late + probeText, Pass, 0, "", ""},
		{"another client was stopped", DeadRenewal, plainLock(), "pause B [402,999]\n" + late + probeText, Violated, 1, "", ""},
		{"the client was stopped before the renewal", DeadRenewal, plainLock(),
			"pause A [100,399]\n" + late + probeText, Violated, 1, "", ""},
		{"the reply was late on its way", DeadRenewal, plainLock(), "delay A [402,999]\n" + late + probeText, Violated,
			1, "", "neither stopped nor skewed"},
		{"the machine stalled the client", DeadRenewal, plainLock(), "stall A [402,999]\n" + late + probeText,
			Inconclusive, 0, "", "1 renewal returned only after the lease"},
		{"the library says itself that nothing is left", DeadRenewal, lib,
			granted + "A renew [400,401] valid=0" + probeText, Violated, 1, "", "good for 0.000 s"},
		{"it says so after a while", DeadRenewal, lib, granted + "A renew [400,880] attempt=400 valid=-50" + probeText,
			Violated, 1, "", "-0.050 s"},
		{"the library looked just in time", DeadRenewal, lib,
			granted + "A renew [400,895] attempt=400 valid=-1" + probeText, Pass, 0, "", ""},
		{"the acquire was dead, the renewal is not", DeadRenewal, plainLock(),
			"A acquire [0,601] attempt=0\nA renew [602,603] attempt=602" + probeText, Pass, 0, "", ""},
	})
}

const stolen = `
		A acquire [0,1]
		pause A   [2,600]
		B acquire [510,511]
		A release [601,602]
		C acquire [603,604] first=603
		C release [700,701]
		B release [702,703] notheld`

func TestStolenRelease(t *testing.T) {
	change := func(from, to string) string {
		if !strings.Contains(stolen, from) {
			panic("no " + from)
		}
		return strings.ReplaceAll(stolen, from, to) + probeText
	}
	grantedAt := func(t string) string {
		return strings.NewReplacer("[603,604]", "[603,"+t+"]", "[700,701]", "[800,801]", "[702,703]",
			"[802,803]").Replace(stolen) + probeText
	}
	run(t, []propertyCase{
		{"a late release freed the next holder's key", StolenRelease, plainLock(), stolen + probeText, Violated, 1, "",
			"client 1 released its grant"},
		{"its fate is unknown, but it was sent", StolenRelease, plainLock(),
			change("A release [601,602]", "A release [601,602] info start=601"), Violated, 1, "", ""},
		{"it never said that it began", StolenRelease, plainLock(),
			change("A release [601,602]", "A release [601,602] info"), Pass, 0, "", ""},
		{"it was refused", StolenRelease, plainLock(), change("A release [601,602]", "A release [601,602] notheld"), Pass, 0, "", ""},
		{"it began when the third was granted already", StolenRelease, plainLock(),
			change("C acquire [603,604] first=603", "C acquire [590,604]"), Pass, 0, "", ""},
		{"the lease of the older grant may still have run", StolenRelease, plainLock(),
			change("A acquire [0,1]", "A acquire [0,1]\nA renew [300,301]"), Pass, 0, "", ""},
		{"a renewal of unknown fate", StolenRelease, plainLock(),
			change("A acquire [0,1]", "A acquire [0,1]\nA renew [1.5,1.7] info"), Pass, 0, "", ""},
		{"a fault touched the service", StolenRelease, plainLock(),
			change("A release [601", "service x [520,530]\nA release [601"), Pass, 0, "", ""},
		{"the service was stalled", StolenRelease, plainLock(),
			change("A release [601", "fault stall [520,530] on=service +own\nA release [601"), Inconclusive, 0, "",
			"a stall of the service"},
		{"the holder released it itself", StolenRelease, plainLock(),
			change("A release [601,602]", "B release [590,591] g=\nA release [601,602]"), Pass, 0, "", ""},
		{"a session that had been told", StolenRelease, claim(plainLock(), func(c *history.Claims) { c.Validity = "session" }), strings.ReplaceAll(`
		A acquire [0,1]
		A lost    [505]
		B acquire [510,511]
		A release [1601,1602]
		C acquire [1603,1604] first=1603
		C release [1700,1701]`, "g=", "g="), Violated, 1, "", ""},
		{"the next client waited for long beside a key that was free, if it was", StolenRelease, plainLock(),
			grantedAt("728.1"), Pass, 0, "", ""},
		{"it waited for no longer than a quarter of the TTL", StolenRelease, plainLock(), grantedAt("728"), Violated, 1, "", ""},
		{"it asked some time after the release", StolenRelease, plainLock(),
			change("C acquire [603,604] first=603", "C acquire [690,691] first=690"), Violated, 1, "", ""},
		{"it asked so late that nobody saw what had freed the key", StolenRelease, plainLock(),
			strings.Replace(grantedAt("728"), "C acquire [603,728] first=603", "C acquire [727.1,728] first=727.1", 1), Pass, 0, "", ""},
		{"it asked just in time", StolenRelease, plainLock(),
			strings.Replace(grantedAt("728"), "C acquire [603,728] first=603", "C acquire [727,728] first=727", 1), Violated, 1, "", ""},
		{"the lock confirmed the holder's grant since", StolenRelease, plainLock(),
			strings.ReplaceAll(change("C acquire [603,604] first=603",
				"B renew [620,621] g=\n\t\tC acquire [690,691] first=690"), "g=\n", "\n"), Pass, 0, "", ""},
		{"it confirmed that only when the third had it", StolenRelease, plainLock(),
			change("C release [700,701]", "B renew [692,693]\n\t\tC release [700,701]"), Violated, 1, "", ""},
		{"nothing is promised", StolenRelease, noClaims(plainLock()), stolen, NotJudged, 0, "", "promises nothing"},
	})
}

func TestDuplicateEffect(t *testing.T) {
	pay, lead := workload(plainLock(), "payment"), workload(plainLock(), "leader")
	const twice = `
		A acquire [0,1]
		A read    [2,3]
		pause A   [10,700]
		B acquire [600,601]
		B read    [602,603]
		B write   [604,605] value=1
		A write   [701,702] value=1
		B release [712,713]
		A release [714,715] notheld` + probeText
	run(t, []propertyCase{
		{"an order is charged twice", DuplicateEffect, pay, twice, Violated, 1, KindStale, "order k0 was charged twice"},
		{"sent before, and on its way for long", DuplicateEffect, pay,
			strings.Replace(twice, "A write   [701,702]", "A write [5,702] start=6 @701", 1), Violated, 1, KindInFlight,
			"had sent its write"},
		{"the stale write came first", DuplicateEffect, pay,
			strings.Replace(twice, "A write   [701,702]", "A write [602.1,702] start=602.2 @602.3", 1), Violated, 1, KindStale, ""},
		{"the second was refused", DuplicateEffect, pay,
			strings.Replace(twice, "A write   [701,702]", "A write [701,702] refused", 1), Pass, 0, "", ""},
		{"the second met another version", DuplicateEffect, pay,
			strings.Replace(twice, "A write   [701,702]", "A write [701,702] conflict", 1), Pass, 0, "", ""},
		{"another order", DuplicateEffect, pay, strings.Replace(twice, "B write   [604,605]",
			"B write [604,605] key=k1", 1), Pass, 0, "", ""},
		{"the store applied one request twice", DuplicateEffect, pay, "A acquire [0,1]\nA write [5,8] @5.5,7" + probeText, Pass, 0, "", ""},
		{"only a stall explains it", DuplicateEffect, pay, strings.Replace(twice, "pause", "stall", 1), Inconclusive, 0, "", "stall"},
		{"a tick runs twice", DuplicateEffect, lead, twice, Violated, 1, KindStale, "tick 1 of k0 ran twice"},
		{"another tick", DuplicateEffect, lead, strings.Replace(twice, "A write   [701,702] value=1",
			"A write [701,702] value=2", 1), Pass, 0, "", ""},
		{"without a lock", DuplicateEffect, permits(noClaims(pay), 0), twice, Violated, 1, "", ""},
		{"another workload", DuplicateEffect, plainLock(), twice, NotJudged, 0, "", "payment"},
		{"no ledger", DuplicateEffect, noLedger(pay), twice, Inconclusive, 0, "", "ledger"},
	})
	v := pay.judge(t, twice)
	if v.Severity != Corrupting || v.Property(DuplicateEffect).Violations[0].A.Client != 1 ||
		v.Property(DuplicateEffect).Violations[0].B.Client != 2 {
		t.Errorf("%v, %+v", v.Severity, v.Property(DuplicateEffect).Violations[0])
	}
}

// TestNoLock: where no exclusion is claimed, only what happens to the data is judged.
func TestNoLock(t *testing.T) {
	free := permits(noClaims(confirms(plainLock())), 0)
	const both = `
		A acquire [0,1]
		B acquire [0,1]
		A read    [2,3]
		B read    [2,3]
		A write   [4,5]
		`
	run(t, []propertyCase{
		{"a conditional write that meets another version", LostUpdate, free,
			both + "B write [6,7] conflict\nB read [8,9]\nB write [10,11]", Pass, 0, "", ""},
		{"a write that does not look", LostUpdate, free, both + "B write [6,7]", Violated, 1, "", "never seen"},
		{"a write that does not look, in a stall", LostUpdate, free, both + "stall B [5,6]\nB write [6,7]", Violated, 1, "", ""},
		{"an atomic write", LostUpdate, free, both + "B write [6,7] atomic", Pass, 0, "", ""},
		{"an atomic write under a lock", LostUpdate, noClaims(plainLock()), both + "B write [6,7] atomic", Pass, 0, "", ""},
	})
	v := free.judge(t, both+"B write [6,7] conflict")
	for _, r := range v.Properties {
		want := NotJudged
		if r.Name == LostUpdate {
			want = Pass
		}
		if r.Outcome != want || want == NotJudged && r.Why == "" {
			t.Errorf("%s: %v (%s), want %v", r.Name, r.Outcome, r.Why, want)
		}
	}
	if v.Outcome != Pass || v.Stats.Conflicts != 1 || v.Stats.Refused != 0 || v.Stats.Accepted != 1 || v.Stats.Handovers != 1 {
		t.Errorf("%v %q %+v", v.Outcome, v.Reasons, v.Stats)
	}
	var told []string
	Judge(free.history(both+"mark final [900]\nQ acquire [901,2900] busy"),
		Options{OnViolation: func(v Violation) { told = append(told, v.Property) }})
	if slices.Contains(told, StuckLock) {
		t.Error("told of a violation that is not judged")
	}
}
