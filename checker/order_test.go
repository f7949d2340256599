package checker

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestOrderOfPollers: locks that poll and report the start of the call as the
// first attempt. The TTL is 500.
func TestOrderOfPollers(t *testing.T) {
	const polled = `
		A acquire [0,10] first=0 attempt=8
		pause A   [20,690]
		B acquire [1,601] first=1 attempt=600
		A write   [700,701]
		B write   [720,721]
		A exit    [730]
		B release [740,741]` + probeText
	change := func(old, to string) string { return strings.Replace(polled, old, to, 1) }
	run(t, []propertyCase{
		{"its attempt began after the other's grant", MutualExclusion, plainLock(), polled, Violated, 1,
			KindLeaseOverrun, "client 1 was frozen"},
		{"its attempt is not told", MutualExclusion, plainLock(), change(" attempt=600", ""), Violated, 1,
			KindLeaseOverrun, "The history does not tell"},
		{"a reply may have been lost", MutualExclusion, plainLock(), polled + "\ndelay B [100,110]", Violated, 1,
			KindLeaseOverrun, "The history does not tell"},
		{"a reply may have been lost at the service", MutualExclusion, plainLock(), polled + "\nservice x [100,110]",
			Violated, 1, KindLeaseOverrun, ""},
		{"granted inside the other's promise", MutualExclusion, plainLock(), `
		A acquire [0,10] first=0 attempt=8
		B acquire [1,480] first=1 attempt=470 proc=2
		B release [482,483]` + probeText, Violated, 1, KindGrantedWhileValid, "client 2 was granted k0 at 1.480 s"},
		{"a reply that was late", MutualExclusion, plainLock(), `
		B acquire [1,700] first=1 attempt=5
		A acquire [2,512] first=2 attempt=510
		A write   [520,521]
		A release [530,531]` + probeText, Pass, 0, "", ""},
		{"given back between", MutualExclusion, plainLock(), `
		A acquire [0,10] first=0 attempt=8
		A release [100,101]
		B acquire [1,105] first=1 attempt=104
		B write   [110,111]
		B release [120,121]` + probeText, Pass, 0, "", ""},
		{"a stall alone explains it", MutualExclusion, plainLock(), change("pause A", "stall A"), Inconclusive, 0, "", ""},
	})
}

// TestDoubleHoldOfADeadGrant: the session of a waiter ended while it was
// frozen. The TTL is 500, and a session that is not heard lives for 1,000.
func TestDoubleHoldOfADeadGrant(t *testing.T) {
	lock := sessionLock().with(func(h *history.Header) { h.Slack, h.Stall = 500*ms, 20*ms })
	const dead = `
		A acquire [0,1600] first=0 attempt=0
		pause A   [100,1500]
		B acquire [601,602]
		A write   [1610,1611]
		B write   [1620,1621]
		A release [1630,1631]
		B release [1640,1641]` + probeText
	change := func(old, to string) string { return strings.Replace(dead, old, to, 1) }
	ended := strings.NewReplacer("pause A   [100,1500]", "fault expire-session [490,500] on=A", "attempt=0",
		"attempt=0 ended=500").Replace(dead)
	run(t, []propertyCase{
		{"it was granted all the same", MutualExclusion, lock, dead, Violated, 1, KindGrantedDead,
			"when the lock granted it to client 1, at 2.600 s, that grant was over already"},
		{"and that is a dead grant", DeadGrant, lock, dead, Violated, 1, "", "client 1"},
		{"it queued again", MutualExclusion, lock, change("first=0 attempt=0", "first=1501 attempt=1501"), Violated, 1,
			KindGrantedWhileValid, ""},
		{"it was frozen for too short a time to tell", MutualExclusion, lock,
			change("pause A   [100,1500]", "pause A   [100,1000]"), Violated, 1, KindLeaseOverrun, ""},
		{"it held the key when it was frozen", MutualExclusion, lock, strings.Replace(dead, "[0,1600]", "[0,1]", 1),
			Violated, 1, KindLeaseOverrun, ""},
		{"it did not act", MutualExclusion, lock, strings.NewReplacer("A write   [1610,1611]", "",
			"A release [1630,1631]", "A exit [1605]").Replace(dead), Pass, 0, "", ""},
		{"a stall may have kept the session", DeadGrant, lock, dead + "\nstall C [300,800]", Inconclusive, 0, "", ""},
		{"its session was ended a life before", DeadGrant, lock, ended, Violated, 1, "", "ended by 1.500 s, 1.100 s before"},
		{"and another holds as well", MutualExclusion, lock, ended, Violated, 1, KindGrantedDead, "that grant was over already"},
		{"its session was ended a little later", DeadGrant, lock, strings.Replace(ended, "ended=500", "ended=600", 1), Pass, 0, "", ""},
		{"a stall explains that it did not hear", DeadGrant, lock, ended + "\nstall A [700,800]", Inconclusive, 0, "", ""},
		{"a stall of the service explains it too", DeadGrant, lock, ended + "\nfault stall [700,800] on=service +own",
			Inconclusive, 0, "", ""},
		{"it was cut off meanwhile", DeadGrant, lock, ended + "\nfault partition [700,800] on=A links", Pass, 0, "", ""},
		{"a lock that lasts until it is given back", DeadGrant,
			lock.with(func(h *history.Header) { h.Claims.NoExpiry = true }), ended, NotJudged, 0, "", ""},
		{"a lease that was over", MutualExclusion, plainLock(), `
		A acquire [0,700] attempt=1
		B acquire [600,601]
		A write   [710,711]
		B write   [720,721]
		A release [730,731] notheld
		B release [740,741]` + probeText, Violated, 1, KindGrantedDead, ""},
	})
}

// TestStalledSessions: only a stall of half a TTL can have ended a session; the
// TTL is 500, and stalls are measured up to 50 too short at either end.
func TestStalledSessions(t *testing.T) {
	const given = "A acquire [0,1]\nB acquire [400,401]\nB release [410,411]\nA release [700,701] info\n"
	endless := claim(sessionLock(), func(c *history.Claims) { c.NoExpiry = true })
	acts := given + "A write [405,406]\nB write [408,409]\n"
	run(t, []propertyCase{
		{"for a moment", MutualExclusion, sessionLock(), given + "stall A [100,200]" + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"the service, and then at once the client", MutualExclusion, sessionLock(),
			given + "service x [120,250] +own\nstall A [260,330]" + probeText, Pass, 0, "", ""},
		{"for half a TTL from the other grant on", MutualExclusion, sessionLock(),
			given + "stall A [401,690]" + probeText, Pass, 0, "", ""},
		{"for half a TTL until a TTL before", MutualExclusion, sessionLock(), given + "stall A [-400,-99]" + probeText, Pass, 0, "", ""},
		{"until the end of the history", MutualExclusion, sessionLock(), given + "stall A [395,]" + probeText, Pass, 0, "", ""},
		{"from the other grant on, until the end of the history", MutualExclusion, sessionLock(),
			given + "stall A [401,]" + probeText, Pass, 0, "", ""},
		{"after the other grant, until the end of the history", MutualExclusion, sessionLock(),
			given + "stall A [402,]" + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"for half a TTL", MutualExclusion, sessionLock(), given + "stall A [100,260]" + probeText, Pass, 0, "", ""},
		{"and both acted", MutualExclusion, sessionLock(), acts + "stall A [100,260]" + probeText, Inconclusive, 0, "",
			"is all that explains"},
		{"both acted, and it was too short", MutualExclusion, sessionLock(), acts + "stall A [100,200]" + probeText,
			Violated, 1, KindGrantedWhileValid, ""},
		{"two times, far from each other", MutualExclusion, sessionLock(),
			given + "stall A [20,80]\nstall A [250,320]" + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"two times, one right after the other", MutualExclusion, sessionLock(),
			given + "stall A [100,180]\nstall A [200,290]" + probeText, Pass, 0, "", ""},
		{"the service for a moment", MutualExclusion, sessionLock(), given + "service x [100,200] +own" + probeText,
			Violated, 1, KindGrantedWhileValid, ""},
		{"the service for long", MutualExclusion, sessionLock(), given + "service x [100,300] +own" + probeText, Pass, 0, "", ""},
		{"another client", MutualExclusion, sessionLock(), given + "stall C [100,390]" + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"long before", MutualExclusion, sessionLock(), given + "stall A [-400,-200]" + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"an injected stop of any length", MutualExclusion, sessionLock(), given + "pause A [100,110]" + probeText, Pass, 0, "", ""},
		{"a session that does not end by time", MutualExclusion, endless, given + "stall A [100,390]" + probeText,
			Violated, 1, KindGrantedWhileValid, ""},
		{"for a moment, and the loss was noticed", MutualExclusion, sessionLock(),
			given + "stall A [100,200]\nA lost [402]" + probeText, Pass, 0, "", ""},
		{"for a moment, and its release was refused", MutualExclusion, sessionLock(),
			strings.Replace(given, "info", "notheld", 1) + "stall A [100,200]" + probeText, Pass, 0, "", ""},
		{"the loss was noticed, and nothing stalled", MutualExclusion, sessionLock(),
			given + "A lost [402]" + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"its lock gave it up", MutualExclusion, endless, given + "stall A [100,390]\nA lost [402]" + probeText, Pass, 0, "", ""},
	})
}
