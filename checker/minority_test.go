package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// quorum has a lock on so many nodes claim that it tolerates a minority.
func quorum(s script, nodes int) script {
	return s.with(func(h *history.Header) { h.Nodes, h.Claims.Tolerates = nodes, toleratesMinority })
}

func abandons(s script, d int64) script {
	return claim(s, func(c *history.Claims) { c.Abandons = d * ms })
}

// TestMinority: what a fault on a few nodes excuses of a lock that tolerates a minority.
// The key is free and wanted from 11 to 8,000; the TTL is 500, so a lifetime is 1,000.
func TestMinority(t *testing.T) {
	five, session := quorum(plainLock(), 5), quorum(sessionLock(), 3)
	stuck := "A acquire [0,1]\nA release [10,11]\n" + asking("B", 20, 8000, 100) + lateProbe
	struck := func(kind, hosts string) string {
		return fmt.Sprintf("fault %s [30,7000] on=service hosts=%s\n", kind, hosts)
	}
	late := `
		A acquire [0,1]
		fault pause [2,1850] on=service hosts=n1
		B acquire [600,601]
		A write   [1350,1351] refused
		B release [1900,1901]
		A exit    [2000]` + probeText
	run(t, []propertyCase{
		{"two of five were frozen", StuckLock, five, struck("pause", "n1+n2") + stuck, Violated, 1, KindWedged, ""},
		{"three of five were frozen", StuckLock, five, struck("pause", "n1+n2+n3") + stuck, Pass, 0, "", ""},
		{"two of four are no minority", StuckLock, quorum(plainLock(), 4), struck("pause", "n1+n2") + stuck, Pass, 0, "", ""},
		{"a lock that claims nothing", StuckLock, plainLock(), struck("pause", "n1") + stuck, Pass, 0, "", ""},
		{"how many nodes there are is not told", StuckLock, quorum(plainLock(), 0), struck("pause", "n1") + stuck, Pass, 0, "", ""},
		{"which nodes were struck is not told", StuckLock, five, "service x [30,7000]\n" + stuck, Pass, 0, "", ""},
		{"two minorities at one time", StuckLock, five, struck("pause", "n1+n2") + struck("partition", "n3") + stuck, Pass, 0, "", ""},
		{"the same nodes twice", StuckLock, five, struck("pause", "n1+n2") + struck("partition", "n1+n2") + stuck,
			Violated, 1, KindWedged, ""},
		{"one after the other, within a lifetime", StuckLock, five,
			"fault pause [30,40] on=service hosts=n1+n2\nfault pause [900,7000] on=service hosts=n3\n" + stuck, Pass, 0, "", ""},
		{"one a lifetime after the other", StuckLock, five,
			"fault pause [30,40] on=service hosts=n1+n2\nfault pause [1100,7000] on=service hosts=n3\n" + stuck,
			Violated, 1, KindWedged, ""},
		{"a slow node", StuckLock, five, struck("delay", "n1") + stuck, Violated, 1, KindWedged, ""},
		{"it came back with its data", StuckLock, five, struck("crash-restart", "n1 +kept") + stuck, Violated, 1, KindWedged, ""},
		{"it came back without", StuckLock, five, struck("crash-restart", "n1") + stuck, Pass, 0, "", ""},
		{"its clock was wrong", StuckLock, five, struck("clock-jump", "n1") + stuck, Pass, 0, "", ""},
		{"the machine starved it", StuckLock, five, struck("stall", "n1 +own") + stuck, Inconclusive, 0, "", ""},
		{"sessions move on within a lifetime", StuckLock, session, struck("pause", "n1") + stuck, Violated, 1, KindWedged, ""},
		{"and until then they are cut off", StuckLock, session,
			"fault pause [3000,7000] on=service hosts=n1\nA acquire [0,1]\nA release [10,11]\n" +
				asking("B", 20, 7900, 100) + lateProbe, Pass, 0, "", ""},
		{"a leader that is slow is not replaced", StuckLock, session, struck("delay", "n1") + stuck, Pass, 0, "", ""},
		{"late news beside a frozen node", MutualExclusion, grace(session), late, Violated, 1, KindLateNotice, "undisturbed"},
		{"a lock that claims nothing may be late", MutualExclusion,
			grace(session.with(func(h *history.Header) { h.Claims.Tolerates = "" })), late, Violated, 1, KindLeaseOverrun, ""},
		{"a stall alone explains it", MutualExclusion, five, `
		A acquire [0,1]
		fault pause [2,1850] on=service hosts=n1
		stall A   [10,690]
		B acquire [600,601]
		A write   [700,701] refused
		B release [1900,1901]` + probeText, Inconclusive, 0, "", ""},
	})
}

// TestScattered: what a client gives up, or was refused, while a fault keeps it from a few nodes
// may stand there until its lease is over. The TTL is 500, so a lifetime is 1,000.
func TestScattered(t *testing.T) {
	five := quorum(plainLock(), 5)
	const released = "A acquire [0,1]\ndelay A [5,8]\nA release [10,11]\n"
	const refused = "B acquire [0,1]\nA acquire [2,9] busy\nB release [10,11]\n"
	const disturbed = "B acquire [0,1]\ndelay A [5,8]\nA acquire [2,9] busy\nB release [10,11]\n"
	run(t, []propertyCase{
		{"undisturbed", FalseBusy, five, "A acquire [0,1]\nA release [10,11]\nC acquire [20,21] busy" + probeText9, Violated, 1, "", ""},
		{"its release was disturbed", FalseBusy, five, released + "C acquire [20,21] busy" + probeText9, Pass, 0, "", ""},
		{"a lifetime ago", FalseBusy, five, released + "C acquire [1100,1101] busy" + probeText9, Violated, 1, "", ""},
		{"of a lock on one node", FalseBusy, plainLock(), released + "C acquire [20,21] busy" + probeText9, Violated, 1, "", ""},
		{"of a lock whose nodes agree", FalseBusy, quorum(sessionLock(), 5), released + "C acquire [20,21] busy" + probeText9, Violated, 1, "", ""},
		{"a fault on another client", FalseBusy, five, strings.Replace(released, "delay A", "delay C", 1) + "C acquire [20,21] busy" + probeText9,
			Violated, 1, "", ""},
		{"refused, undisturbed", FalseBusy, five, refused + "C acquire [20,21] busy" + probeText9, Violated, 1, "", ""},
		{"refused, disturbed", FalseBusy, five, disturbed + "C acquire [20,21] busy" + probeText9, Pass, 0, "", ""},
	})
}

// TestAbandons: how long what an acquire without a grant left behind excuses a
// lock. The TTL is 500, so not told it is 3,000 until a key is stuck.
func TestAbandons(t *testing.T) {
	const given = "A acquire [0,1]\nA release [10,11]\n"
	const open = "A acquire [0,5] info start=1\n"
	probed := func(from, to int) string {
		return fmt.Sprintf("mark probe [%d]\nP acquire [%d,%d] busy\nA close [5000,5001]\nmark final [5010]\nQ acquire [5011,5012]\nQ release [5013,5014]", from, from+1, to)
	}
	run(t, []propertyCase{
		{"sooner than a TTL", StuckLock, abandons(plainLock(), 100), given + asking("B", 20, 2700, 100) + lateProbe,
			Violated, 1, KindWedged, ""},
		{"not told", StuckLock, plainLock(), given + asking("B", 20, 2700, 100) + lateProbe, Pass, 0, "", ""},
		{"a lease that was not given back may last", StuckLock, abandons(plainLock(), 100),
			"A acquire [0,1]\n" + asking("B", 20, 2700, 100) + lateProbe, Pass, 0, "", ""},
		{"later than a TTL", StuckLock, abandons(plainLock(), 2000), given + asking("B", 20, 3400, 100) + lateProbe, Pass, 0, "", ""},
		{"later than it says", StuckLock, abandons(plainLock(), 2000), given + asking("B", 20, 4700, 100) + lateProbe,
			Violated, 1, KindWedged, ""},
		{"after a fault it is a TTL", StuckLock, abandons(plainLock(), 100),
			given + "service x [30,40]\n" + asking("B", 20, 2900, 100) + lateProbe, Pass, 0, "", ""},
		{"an acquire of unknown fate excuses no longer than a lease", StuckLock, plainLock(), open + probed(100, 1100),
			Violated, 1, KindGhost, "from 1.005 s on"},
		{"it is asked too early", StuckLock, plainLock(), open + "mark final [100]\nQ acquire [101,900] busy",
			Inconclusive, 0, "", "could still hold it"},
		{"its call may be under way yet", StuckLock, plainLock(),
			"A acquire [0,5] info\nmark final [100]\nQ acquire [101,1100] busy", Inconclusive, 0, "", "could still hold it"},
		{"it says that it needs longer", StuckLock, abandons(plainLock(), 1500),
			open + "mark final [100]\nQ acquire [101,1900] busy", Inconclusive, 0, "", "could still hold it"},
		{"and longer than that", StuckLock, abandons(plainLock(), 1500),
			open + "mark final [100]\nQ acquire [101,2100] busy", Violated, 1, "", ""},
	})
}

// TestStallsAreNotCountedTwice: clients and nodes that stand still at one time.
func TestStallsAreNotCountedTwice(t *testing.T) {
	given := "A acquire [0,1]\nA release [10,11]\n" + asking("B", 20, 3400, 100) + lateProbe
	run(t, []propertyCase{
		{"three clients for the same 200 ms", StuckLock, plainLock(),
			given + "\nstall C [1000,1200]\nstall D [1000,1200]\nstall E [1050,1200]", Violated, 1, KindWedged, ""},
		{"one after the other", StuckLock, plainLock(), given + "\nstall C [1000,1200]\nstall D [1200,1400]", Inconclusive, 0, "", ""},
		{"a node of the service, shortly before the end", StuckLock, plainLock(),
			given + "\nfault stall [3000,3200] +own on=service hosts=n1", Violated, 1, KindWedged, ""},
		{"a node of the service, for too long", StuckLock, plainLock(),
			given + "\nfault stall [2000,2500] +own on=service hosts=n1", Inconclusive, 0, "", ""},
		{"a node of the service, in the probe", StuckLock, plainLock(),
			"A acquire [0,1]\nA exit [10]\nmark final [20]\nfault stall [500,700] +own on=service hosts=n1\nQ acquire [21,1100] busy", Inconclusive, 0, "", ""},
		{"and a client at that time", StuckLock, plainLock(),
			"A acquire [0,1]\nA exit [10]\nmark final [20]\nfault stall [500,550] +own on=service hosts=n1\nstall C [500,550]\nQ acquire [21,1100] busy", Violated, 1, KindNeverExpired, ""},
	})
}
