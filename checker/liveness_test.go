package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

func fair(s script) script { return claim(s, func(c *history.Claims) { c.Fair = true }) }

func clients(s script, n int) script { return s.with(func(h *history.Header) { h.Clients = n }) }

func TestFIFO(t *testing.T) {
	const overtaken = `
		A acquire [0,1] enq=0.5
		B acquire [2,40] enq=3 first=38
		C acquire [4,20] enq=5 first=18
		A release [15,16]
		C release [30,31]
		B release [50,51]` + probeText
	change := func(from, to string) string { return strings.Replace(overtaken, from, to, 1) }
	run(t, []propertyCase{
		{"a later one was granted first", FIFO, fair(plainLock()), overtaken, Violated, 1, "", "client 3, which asked only at"},
		{"in order", FIFO, fair(plainLock()), change("first=38", "first=10"), Pass, 0, "", ""},
		{"the other asked before it was enqueued", FIFO, fair(plainLock()), change("enq=3", "enq=4"), Pass, 0, "", ""},
		{"the waiter was stopped", FIFO, fair(plainLock()), overtaken + "\npause B [10,12]", Pass, 0, "", ""},
		{"the service was disturbed", FIFO, fair(plainLock()), overtaken + "\nservice x [10,12]", Pass, 0, "", ""},
		{"another one was stopped", FIFO, fair(plainLock()), overtaken + "\npause A [10,12]", Violated, 1, "", ""},
		{"the order of the grants is unknown", FIFO, fair(plainLock()), change("first=38", "first=20"), Pass, 0, "", ""},
		{"tokens tell the order", FIFO, fair(fencedLock()), `
		A acquire [0,1] enq=0.5
		B acquire [2,40] enq=3 tok=2
		C acquire [4,20] enq=5 tok=1
		B release [50,51]` + probeText2, Violated, 1, "", "token 2"},
		{"nobody says when it was enqueued", FIFO, fair(plainLock()),
			strings.NewReplacer("enq=0.5", "", "enq=3", "", "enq=5", "").Replace(overtaken), Inconclusive, 0, "", "enqueued"},
		{"no claim", FIFO, plainLock(), overtaken, NotJudged, 0, "", "fair"},
	})
}

// passedBy is a wait of A in which B and C take turns n times.
func passedBy(n int, wait string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "A acquire [0,%d] %s\n", 10+10*n, wait)
	for i := range n {
		fmt.Fprintf(&b, "%c acquire [%d,%d] enq=%d\n%c release [%d,%d]\n", 'B'+i%2, 2+10*i, 3+10*i, 3+10*i, 'B'+i%2, 5+10*i, 6+10*i)
	}
	return b.String() + probeText
}

func TestStarvation(t *testing.T) {
	lock := clients(workload(plainLock(), "queue"), 3)
	run(t, []propertyCase{
		{"ten rounds of everybody", Starvation, lock, passedBy(31, ""), Violated, 1, "", "31 times"},
		{"and then told no", Starvation, lock, passedBy(31, "busy"), Violated, 1, "", "31 times"},
		{"just as many", Starvation, lock, passedBy(30, ""), Pass, 0, "", ""},
		{"it began later than it was asked to", Starvation, lock, passedBy(31, "start=15"), Pass, 0, "", ""},
		{"its answer was earlier than it was recorded", Starvation, lock, passedBy(31, "run=0,303"), Pass, 0, "", ""},
		{"it was stopped", Starvation, lock, passedBy(31, "") + "\npause A [30,31]", Pass, 0, "", ""},
		{"it never began", Starvation, lock, passedBy(31, "info"), Pass, 0, "", ""},
		{"a fair lock, in any workload", Starvation, clients(fair(plainLock()), 3), passedBy(31, ""), Violated, 1, "", ""},
		{"no claim", Starvation, clients(plainLock(), 3), passedBy(31, ""), NotJudged, 0, "", "queue"},
	})
}

func TestDeadlock(t *testing.T) {
	const crossed = `
		A acquire [0,1] key=k0
		B acquire [0,1] key=k1
		A acquire [2,403] busy key=k1
		B acquire [3,404] busy key=k0
		A release [410,411] key=k0
		B release [410,411] key=k1
		P acquire [5001,5002] key=k1
		`
	change := func(from, to string) string { return strings.Replace(crossed, from, to, 1) + probeText }
	session := claim(plainLock(), func(c *history.Claims) { c.Validity = "session" })
	vain := func(waits string) string {
		return "A acquire [0,1] key=k0\nB acquire [0,1] key=k1\n" + waits + "\nP acquire [5001,5002] key=k1" + probeText
	}
	run(t, []propertyCase{
		{"each has what the other wants", Deadlock, plainLock(), crossed + probeText, Violated, 1, "", "client 1 had k0 and waited for k1"},
		{"three in a circle", Deadlock, plainLock(), `
		A acquire [0,1] key=k0
		B acquire [0,1] key=k1
		C acquire [0,1] key=k2
		A acquire [2,403] busy key=k1
		B acquire [3,404] busy key=k2
		C acquire [4,405] busy key=k0` + probeText, Violated, 1, "", "client 3 had"},
		{"they wait in one direction", Deadlock, plainLock(),
			change("B acquire [3,404] busy key=k0", "B acquire [3,404] busy key=k2"), Pass, 0, "", ""},
		{"not for long enough", Deadlock, plainLock(), change("A acquire [2,403]", "A acquire [2,240]"), Pass, 0, "", ""},
		{"not for the bound that was set", Deadlock, plainLock().with(func(h *history.Header) { h.Bound = 450 * ms }),
			crossed + probeText, Pass, 0, "", ""},
		{"one lease was over", Deadlock, plainLock(), `
		A acquire [0,1] key=k0
		B acquire [300,301] key=k1
		A acquire [302,703] busy key=k1
		B acquire [303,704] busy key=k0` + probeText, Pass, 0, "", ""},
		{"a session has no such end", Deadlock, session, `
		A acquire [0,1] key=k0
		B acquire [300,301] key=k1
		A acquire [302,703] busy key=k1
		B acquire [303,704] busy key=k0` + probeText, Violated, 1, "", "client 2 had k1"},
		{"a session that a fault may have ended", Deadlock, session, `
		pause A   [100,200]
		A acquire [0,1] key=k0
		B acquire [300,301] key=k1
		A acquire [302,703] busy key=k1
		B acquire [303,704] busy key=k0` + probeText, Pass, 0, "", ""},
		{"one was told of a loss", Deadlock, plainLock(),
			change("B acquire [3,404]", "A lost [100] key=k0\nB acquire [3,404]"), Pass, 0, "", ""},
		{"one was stopped", Deadlock, plainLock(), crossed + "pause A [50,60]" + probeText, Pass, 0, "", ""},
		{"one was stopped when it had lasted for long enough", Deadlock, plainLock(),
			crossed + "pause A [300,310]" + probeText, Violated, 1, "", "from 1.003 s to 1.300 s"},
		{"one gives up, the other has it at last", Deadlock, plainLock(),
			strings.NewReplacer("B acquire [3,404] busy key=k0", "B acquire [3,412] key=k0",
				"B release [410,411] key=k1", "B release [420,421] key=k0").Replace(crossed) +
				probeText, Violated, 1, "", ""},
		{"one stalled", Deadlock, plainLock(), crossed + "stall A [50,60]" + probeText, Inconclusive, 0, "",
			"without a stall of this machine"},
		{"one stalled before its session was asked for anything", Deadlock, session,
			crossed + "stall A [-300,-280]" + probeText, Inconclusive, 0, "", "1 circle"},
		{"one stalled when it had lasted for long enough", Deadlock, plainLock(),
			crossed + "stall A [300,310]" + probeText, Violated, 1, "", "from 1.003 s to 1.300 s"},
		{"one stalled, and was stopped as well", Deadlock, plainLock(),
			crossed + "stall A [50,60]\npause A [40,45]" + probeText, Pass, 0, "", ""},
		{"one stalled, but they did not wait for long enough", Deadlock, plainLock(),
			change("A acquire [2,403]", "A acquire [2,240]") + "\nstall A [50,60]", Pass, 0, "", ""},
		{"neither ever said that it had begun to wait", Deadlock, session,
			vain("A acquire [2,] key=k1\nB acquire [3,] key=k0\nA exit [900]\nB exit [900]"), Inconclusive, 0, "", "never said"},
		{"one never said so, and was given up", Deadlock, session,
			vain("A acquire [2,403] info key=k1\nB acquire [3,404] busy key=k0\nA exit [410]"), Inconclusive, 0, "", "never said"},
		{"one never said so, and was gone too soon", Deadlock, session,
			vain("A acquire [2,] key=k1\nB acquire [3,404] busy key=k0\nA exit [240]"), Pass, 0, "", ""},
		{"one never said so, and an older process of it ended", Deadlock, session,
			vain("A acquire [1,2] key=k0 proc=4\nA acquire [3,] key=k1 proc=4\nB acquire [3,404] busy key=k0\nA exit [240] proc=3"), Inconclusive, 0, "", "never said"},
		{"one never said so, and was killed", Deadlock, session,
			vain("A acquire [2,] key=k1\nB acquire [3,404] busy key=k0\nkill A [200,201]\nA exit [400]"), Pass, 0, "", ""},
		{"one never said so, but had begun to give back what it had", Deadlock, session,
			vain("A release [1.5,] key=k0\nA acquire [2,] key=k1\nB acquire [3,404] busy key=k0"), Pass, 0, "", ""},
		{"one never said so, but was told of a loss", Deadlock, session,
			vain("A acquire [2,] key=k1\nB acquire [3,404] busy key=k0\nA lost [100] key=k0"), Pass, 0, "", ""},
		{"one never said so, nor when it was over", Deadlock, plainLock(),
			vain("A acquire [2,] key=k1\nB acquire [3,404] busy key=k0"), Inconclusive, 0, "", "never said"},
		{"one never said so, and its lease was over", Deadlock, plainLock(),
			vain("A acquire [300,] key=k1\nB acquire [301,804] busy key=k0"), Pass, 0, "", ""},
		{"nobody asks for a second key", Deadlock, plainLock(), healthy, NotJudged, 0, "", "while it had another"},
		{"no claim", Deadlock, noClaims(plainLock()), crossed, NotJudged, 0, "", "how long"},
	})
}

func TestHerd(t *testing.T) {
	lock := clients(workload(claim(plainLock(), func(c *history.Claims) { c.WakesOne = true }), "stampede"), 40)
	turns := func(n, requests int) string {
		text := "S requests [1] n=1000\n"
		for i := range n {
			text += fmt.Sprintf("%c acquire [%d,%d]\n%c release [%d,%d]\n", 'A'+i%8, 10*i+2, 10*i+3, 'A'+i%8, 10*i+5, 10*i+6)
		}
		return text + fmt.Sprintf("S requests [%d] n=%d", 10*n+2, 1000+requests) + probeText
	}
	// 20 hand-overs in 201 ms: 48 requests are heartbeats of 40 clients.
	run(t, []propertyCase{
		{"one for each waiter", Herd, lock, turns(20, 40*20+48), Violated, 1, "", "40 a hand-over"},
		{"a few for each hand-over", Herd, lock, turns(20, 8*20), Pass, 0, "", "A hand-over cost 5.6"},
		{"heartbeats are not counted", Herd, lock, turns(20, 19*20+48), Pass, 0, "", ""},
		{"just above the bound", Herd, lock, turns(20, 20*20+48), Violated, 1, "", ""},
		{"too few hand-overs", Herd, lock, turns(9, 4000), Inconclusive, 0, "", "Grants between the two counts: 9"},
		{"too few clients", Herd, clients(lock, 39), turns(20, 4000), Inconclusive, 0, "", "39 clients"},
		{"a node was started anew", Herd, lock, turns(20, -5), Inconclusive, 0, "", "backwards"},
		{"a fault touched the service", Herd, lock, turns(20, 4000) + "\nservice x [20,30]", Inconclusive, 0, "", "fault"},
		{"the machine stalled the service for long", Herd, lock, turns(20, 4000) + "\nservice x [-230,20] +own",
			Inconclusive, 0, "", "fault"},
		{"the machine stalled the service for a moment", Herd, lock, turns(20, 4000) + "\nservice x [-229,20] +own", Violated, 1, "", ""},
		{"counted once", Herd, lock, "S requests [1] n=5" + probeText, Inconclusive, 0, "", "not counted"},
		{"no claim", Herd, workload(plainLock(), "stampede"), turns(20, 4000), NotJudged, 0, "", "only one waiter"},
		{"another workload", Herd, workload(lock, "counter"), turns(20, 4000), NotJudged, 0, "", "stampede"},
	})
}

// TestDeadWorkers: a client is killed and goes on as a new process under its
// number. TTL 500 ms, slack 500 ms.
func TestDeadWorkers(t *testing.T) {
	const heir = "\nA acquire [300,301] proc=21\nA release [302,303] proc=21"
	run(t, []propertyCase{
		{"its grant runs out", StuckLock, plainLock(), `
		A acquire [0,1] proc=1
		A exit    [100] proc=1
		B acquire [110,550]
		B release [560,561]` + probeText, Pass, 0, "", ""},
		{"its grant never runs out", StuckLock, plainLock(), `
		A acquire [0,1] proc=1
		kill A    [90,100]
		A exit    [100] proc=1
		B acquire [110,900] busy
		A acquire [120,900] busy proc=21
		mark probe [1000]
		P acquire  [1001,2000] busy
		A exit     [2001] proc=21
		mark final [2010]
		Q acquire  [2011,4000] busy`, Violated, 2, "", "nobody could hold k0 from 1.100 s on"},
		{"the machine stalls the probe now and then", StuckLock, plainLock(), `
		A acquire [0,1] proc=1
		A exit    [100] proc=1
		mark final [200]
		stall Q    [900,1050]
		Q acquire  [201,1300] busy`, Violated, 1, KindNeverExpired, ""},
		{"the machine stalls it for too long", StuckLock, plainLock(), `
		A acquire [0,1] proc=1
		A exit    [100] proc=1
		mark final [200]
		stall Q    [700,950]
		Q acquire  [201,1300] busy`, Inconclusive, 0, "", ""},
		{"it may run for a TTL and the slack after the death", StuckLock, plainLock(), `
		A acquire [0,1] proc=1
		A exit    [1000] proc=1
		mark final [1100]
		Q acquire  [1101,1990] busy`, Inconclusive, 0, "", "gave up"},
		{"killed while it acquired: it may have been granted just before", StuckLock, plainLock(), `
		A acquire [990,] proc=1
		A exit    [1000] proc=1
		mark final [1100]
		Q acquire  [1101,1990] busy`, Inconclusive, 0, "", ""},
		{"killed while it acquired, and its grant never runs out", StuckLock, plainLock(), `
		A acquire [990,] proc=1
		A exit    [1000] proc=1
		mark final [1100]
		Q acquire  [1101,2100] busy`, Violated, 1, KindNeverExpired, "from 2.000 s on"},
		{"its acquire is written off after its death", StuckLock, plainLock(), `
		A acquire [990,1002] info proc=1
		A exit    [1000] proc=1
		mark final [1100]
		Q acquire  [1101,2100] busy`, Violated, 1, KindNeverExpired, ""},
		{"its answer is recorded after its death", StuckLock, plainLock(), `
		A acquire [990,1002] run=991,992 proc=1
		A exit    [1000] proc=1
		mark final [1100]
		Q acquire  [1101,2100] busy`, Violated, 1, KindNeverExpired, ""},
		{"its heir still holds", StuckLock, plainLock(), `
		A acquire [0,1] proc=1
		A exit    [100] proc=1
		A acquire [700,701] proc=21
		mark probe [900]
		P acquire  [901,2900] busy
		A exit     [3000] proc=21
		mark final [3010]
		Q acquire  [3011,3012]`, Pass, 0, "", ""},
		{"its heir is granted inside the dead one's lease", MutualExclusion, plainLock(), `
		A acquire [0,1] proc=1
		A exit    [100] proc=1` + heir + probeText, Pass, 0, "", ""},
		{"the dead can't be owed anything", MutualExclusion, plainLock(), `
		A acquire [0,1] proc=1
		kill A    [90,100]
		A exit    [100] proc=1
		B acquire [300,301]
		B release [302,303]` + probeText, Pass, 0, "", ""},
		{"but until the kill it was owed the key", MutualExclusion, plainLock(), `
		A acquire [0,1] proc=1
		kill A    [90,100]
		A exit    [100] proc=1
		B acquire [50,51]
		B release [302,303]` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"its last write arrives after its death", UnfencedWrite, plainLock(), `
		A acquire [0,1] proc=1
		A write   [80,] @650 proc=1
		A exit    [100] proc=1
		B acquire [600,601]
		B write   [610,611]
		B release [700,701]` + probeText, Violated, 1, "", ""},
		{"the heir knows nothing of the hold", MutualExclusion, noClaims(plainLock()), `
		A acquire [0,1] proc=1
		A write   [2,3] proc=1
		A exit    [100] proc=1
		B acquire [600,601]
		B write   [602,603]
		A acquire [200,700] proc=21
		A write   [701,702] proc=21
		B write   [610,611]
		A release [710,711] proc=21` + probeText, Pass, 0, "", ""},
	})
}
