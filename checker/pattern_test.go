package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// The holder's read and the next holder's grant; what the earlier one does then is up to each case.
const overtaken = `
		A acquire [0,1]
		A read    [2,3]
		B acquire [600,601] first=600
		B read    [602,603]
		B write   [720,721]
		B release [730,731]
		`

// late is what it does when it goes on too late.
const wentOn = overtaken + "A write [710,711]\n"

// hasPattern judges a history whose first violation of a property has a pattern.
func hasPattern(t *testing.T, name string, lock script, property, text, want string) {
	t.Helper()
	t.Run(want+"/"+name, func(t *testing.T) {
		v := lock.judge(t, text+probeText)
		r := v.Property(property)
		if r.Count == 0 {
			t.Fatalf("%s is not violated", property)
		}
		if got := r.Violations[0].Pattern; got != want {
			t.Errorf("pattern %q, want %q: %s", got, want, r.Violations[0].Text)
		}
		if i := slices.IndexFunc(v.Patterns, func(g PatternGroup) bool { return g.Pattern == want }); i < 0 ||
			v.Patterns[i].Of(property) == 0 {
			t.Errorf("the groups %+v have no %s of %s", v.Patterns, property, want)
		}
	})
}

func nodes(s script, n int) script { return s.with(func(h *history.Header) { h.Nodes = n }) }

// Each pattern has a history that must get it, and the ones that look like it and must not.
func TestPatterns(t *testing.T) {
	lease, held := plainLock(), confirms(grace(session(plainLock())), "held")
	run := func(name string, lock script, property, text, want string) {
		t.Helper()
		hasPattern(t, name, lock, property, text, want)
	}
	double := func(name string, lock script, text, want string) {
		t.Helper()
		run(name, lock, MutualExclusion, text, want)
	}

	double("a pause past the lease", lease, "pause A [4,705]\n"+wentOn, PatternPaused)
	double("the application stood still", lease, "fault stall [4,705] on=A aside\n"+wentOn, PatternPaused)
	double("a short pause, of a holder that is slow anyway", lease, "pause A [4,24]\n"+wentOn, PatternWorkedPast)
	double("a pause of another client", lease, "pause C [4,705]\n"+wentOn, PatternWorkedPast)
	double("a pause of one that worked past its lease before it", lease, `
		A acquire [0,1]
		A read    [2,3]
		B acquire [600,601] first=600
		A write   [610,611]
		pause A   [620,1500]
		A write   [1501,1502]
		B write   [2000,2001]
		B release [2010,2011]`, PatternWorkedPast)
	double("a session, paused", held, "pause A [4,705]\n"+wentOn, PatternPaused)
	double("a session, paused for too short a time", held, "pause A [4,104]\n"+wentOn, PatternUnexplained)
	double("the application of a session stood still, which is renewed beside it", held,
		"fault stall [4,705] on=A aside\n"+overtaken+"A write [725,726]", PatternGrantedTwice)

	double("its links were cut", lease, "fault partition [4,705] on=A links\n"+wentOn, PatternCutOff)
	double("its links were cut for a moment", lease, "fault partition [4,14] on=A links\n"+wentOn, PatternWorkedPast)
	double("a pause and a cut, either of which explains it", lease,
		"pause A [4,705]\nfault partition [4,705] on=A links\n"+wentOn, PatternSeveral)
	double("a pause that explains it, and a cut that does not", lease,
		"pause A [4,705]\nfault partition [4,14] on=A links\n"+wentOn, PatternPaused)
	double("the store was out of reach", lease, "fault partition [4,705] on=store:A\n"+wentOn, PatternStoreAway)
	double("the store was out of reach for somebody else", lease, "fault partition [4,705] on=store:C\n"+wentOn, PatternWorkedPast)
	double("a read that hung beyond the end of the cut", lease, `
		fault partition [4,204] on=store:A
		A acquire [0,1]
		A read    [5,700] @699
		B acquire [600,601] first=600
		A write   [710,711]
		B write   [720,721]
		B release [730,731]`, PatternStoreAway)
	double("the watchdog starved", held, "fault renewer-stall [4,705] on=A\n"+wentOn, PatternRenewalStarved)
	double("the watchdog starved for a moment", held, "fault renewer-stall [4,54] on=A\n"+wentOn, PatternGrantedTwice)

	double("a session that was ended", held, "fault expire-session [500,510] on=A\n"+wentOn, PatternSessionUnseen)
	double("a session whose client was cut off", held, "fault partition [4,705] on=A links\n"+wentOn, PatternSessionUnseen)
	double("a session that was ended, and the client told", held,
		"fault expire-session [500,510] on=A\n"+overtaken+"A lost [700]\nA write [710,711]", PatternLossIgnored)
	double("a session that the lock says nothing of", held,
		overtaken+"pause A [4,500]\nA write [700,701]\nA write [790,791]\nA write [900,901]", PatternSessionUnseen)

	double("the clock of a server jumped", lease, "fault clock-jump [100,110] on=service hosts=1\n"+
		strings.ReplaceAll(wentOn, "[600,601] first=600", "[300,301] first=300"), PatternClockJumped)
	double("a clock jumped, and the lease was over anyway", lease,
		"fault clock-jump [100,110] on=service hosts=1\n"+wentOn, PatternWorkedPast)
	double("the holder's own clock was wrong", lease, "fault clock-rate [100,700] on=A\n"+wentOn, PatternClockJumped)

	early := strings.ReplaceAll(wentOn, "[600,601] first=600", "[300,301] first=300")
	double("a failover", lease, "fault failover [100,200] on=service hosts=1 target=service\n"+early, PatternFailover)
	double("a failover that lost nothing", lease, "fault failover [100,200] on=service hosts=1 target=service +kept\n"+early, PatternService)
	double("a failover that was over before", lease,
		"fault failover [-200,-100] on=service hosts=1 target=service\n"+early, PatternGrantedTwice)
	double("another granted it while the primary was frozen", lease,
		"pause B [1,2]\nfault pause [100,900] on=service hosts=1 target=primary\n"+early, PatternFailover)
	double("the primary was frozen, and ran again", lease,
		"fault pause [100,200] on=service hosts=1 target=primary\n"+early, PatternService)
	double("a server came back without its data", lease,
		"fault crash-restart [100,200] on=service hosts=1 target=redis-1\n"+early, PatternRestart)
	double("a server came back with its data", lease,
		"fault crash-restart [100,200] on=service hosts=1 target=redis-1 +kept\n"+early, PatternService)
	double("a primary came back with its data", lease,
		"fault crash-restart [100,200] on=service hosts=1 target=primary +kept\n"+early, PatternFailover)
	double("a server came back before the grant", lease,
		"fault crash-restart [-200,-100] on=service hosts=1 target=redis-1\n"+early, PatternGrantedTwice)
	double("a restart and a clock", lease,
		"fault crash-restart [100,200] on=service hosts=1\nfault clock-jump [100,200] on=service hosts=1\n"+early, PatternSeveral)
	double("no majority was left", nodes(held, 3), "fault pause [100,700] on=service hosts=2\n"+wentOn, PatternQuorum)
	double("a minority was away", nodes(held, 3), "fault pause [100,700] on=service hosts=1\n"+wentOn, PatternService)
	double("two minorities at once are a majority", nodes(held, 3),
		"fault pause [100,700] on=service hosts=1\nfault pause [110,700] on=service hosts=1\n"+wentOn,
		PatternSeveral) // the first alone is none: what explains it is not shown

	double("a late release freed the next holder's key", lease, stolen, PatternStolen)
	double("its effect is not refused, but the service was disturbed", lease,
		"fault delay [520,530] on=service links hosts=1\n"+stolen, PatternService)
	double("it was refused", lease, strings.ReplaceAll(stolen, "A release [601,602]", "A release [601,602] notheld"), PatternGrantedTwice)
	double("nothing happened at all", lease, early, PatternGrantedTwice)

	double("the answer came when the lease was over", lease, `
		A acquire [0,700] attempt=0
		A read    [701,702]
		B acquire [600,601] first=600
		B write   [720,721]
		A write   [730,731]
		B write   [740,741]
		B release [750,751]`, PatternLateReply)
	double("nobody promised anything", noClaims(lease), wentOn, PatternUnexplained)

	crowd := "D acquire [300,301]\nD write [650,651]\nD release [760,761]\n"
	double("one of two holders of a semaphore was paused", permits(lease, 2), "pause A [4,705]\n"+crowd+wentOn, PatternPaused)
	double("two holders of a semaphore, and a third", permits(lease, 2),
		strings.ReplaceAll(crowd, "300,301", "20,21")+strings.ReplaceAll(wentOn, "[600,601] first=600", "[300,301] first=300"),
		PatternGrantedTwice)

	charged := strings.NewReplacer("A write [710,711]", "A write [710,711] value=1", "B write   [720,721]",
		"B write [605,606] value=1").Replace(wentOn)
	run("an order charged twice", workload(lease, workloadPayment), DuplicateEffect, "pause A [4,705]\n"+charged, PatternPaused)
	run("an order charged twice, by a charge that was long under way", workload(lease, workloadPayment), DuplicateEffect,
		strings.ReplaceAll(charged, "A write [710,711]", "A write [590,711] @710"), PatternLateRequest)

	const twoHeld = "A acquire [0,1]\nA read [2,3]\nB acquire [5,6] first=5\nB read [7,8]\nA write [4,%s] @11 value=1\nA read [13,14]\nB write [15,16] value=1\nA exit [30]\nB exit [31]"
	run("an order charged twice, by two who held the key", workload(lease, workloadPayment), DuplicateEffect,
		fmt.Sprintf(twoHeld, "12"), PatternGrantedTwice)
	run("an order charged twice, once by a charge that was never answered", workload(lease, workloadPayment),
		DuplicateEffect, fmt.Sprintf(twoHeld, ""), PatternGrantedTwice)

	run("a write in flight", lease, UnfencedWrite, overtaken+"A write [590,760] @750", PatternLateRequest)
	run("a write that was sent too late", lease, UnfencedWrite, "pause A [4,735]\n"+overtaken+"A write [740,760] @750", PatternPaused)
	run("a write of which nobody knows when it was sent", lease, UnfencedWrite,
		overtaken+"A write [590,] @750\nA exit [800]", PatternUnexplained)
	run("what it read was overwritten from behind", lease, LostUpdate, "pause A [4,705]\n"+wentOn, PatternPaused)

	run("a renewal was confirmed", confirms(lease, "renew"), Continuity, handedOver+"A renew [700,701]", PatternForeignRenewal)
	run("a question was answered yes", confirms(lease, "held"), Continuity, handedOver+"A held [700,701]", PatternOwnerUnchecked)
	run("a session was vouched for", held, Continuity, "pause A [2,590]\n"+handedOver+"A held [700,701]", PatternSessionUnseen)
	run("a release was answered ok", confirms(lease, "release"), Continuity, handedOver+"A release [700,701]", PatternOwnerUnchecked)
	const inPromise = "A acquire [0,1]\n%s\nB acquire [300,301] first=300\nA %s [400,401]"
	run("a question was answered yes, inside its promise", confirms(lease, "held"), Continuity,
		fmt.Sprintf(inPromise, "", "held"), PatternOwnerUnchecked)
	run("a release was answered ok, inside its promise", confirms(lease, "release"), Continuity,
		fmt.Sprintf(inPromise, "", "release"), PatternOwnerUnchecked)
	run("a question was answered yes, and a server had forgotten all", confirms(lease, "held"), Continuity,
		fmt.Sprintf(inPromise, "fault crash-restart [100,200] on=service hosts=1", "held"), PatternOwnerUnchecked)
	run("a question was answered yes, and a clock was wrong", confirms(lease, "held"), Continuity,
		"fault clock-rate [100,700] on=A\n"+handedOver+"A held [700,701]", PatternOwnerUnchecked)
	run("two servers knew an owner each", confirms(lease, "held"), Continuity,
		fmt.Sprintf(inPromise, "fault failover [100,200] on=service hosts=1 target=service", "held"), PatternFailover)
	run("an acquire that was late", lease, DeadGrant, "A acquire [0,601] attempt=0", PatternLateReply)
	run("an acquire that was dead at once", library(lease), DeadGrant, "A acquire [0,1] attempt=0 valid=0", PatternUnexplained)
	run("a late release", lease, StolenRelease, stolen, PatternStolen)

	const tokens = "A acquire [0,1] tok=7\nA release [10,11]\n%s\nB acquire [100,101] tok=3\nB release [110,111]"
	run("a counter began anew", fencedLock(), TokenOrder,
		fmt.Sprintf(tokens, "fault crash-restart [50,60] on=service hosts=1"), PatternRestart)
	run("a counter that came back with its server", fencedLock(), TokenOrder,
		fmt.Sprintf(tokens, "fault crash-restart [50,60] on=service hosts=1 +kept"), PatternTokens)
	run("a counter that nothing touched", fencedLock(), TokenOrder, fmt.Sprintf(tokens, ""), PatternTokens)
	run("a pause takes no counter back", fencedLock(), TokenOrder,
		fmt.Sprintf(tokens, "fault pause [50,60] on=service hosts=1"), PatternTokens)
}

// A key that stays taken was kept by somebody who vanished, or by a release that freed nothing.
func TestPatternsOfStuckKeys(t *testing.T) {
	const probes = `
		mark probe [1000]
		P acquire [4000,4500] busy
		P exit    [4600]
		mark final [4700]
		Q acquire [8000,8500] busy
		Q exit    [8600]`
	for _, x := range []struct{ name, text, want string }{
		{"the holder died", "A acquire [0,1]\nkill A [10,11]\nA exit [12]", PatternNeverExpired},
		{"it died in the acquire", "A acquire [0,]\nkill A [10,11]\nA exit [12]", PatternNeverExpired},
		{"it died as it was granted it", "A acquire [0,1]\nA exit [1]", PatternNeverExpired},
		{"one closed, and was answered late, when the holder had died",
			"A acquire [0,5] info\nB acquire [54,55]\nB exit [60]\nA close [10,100] run=10,50", PatternNeverExpired},
		{"nobody ever had it", "A acquire [0,1] key=k1\nA exit [900]", PatternUnexplained},
		{"it was told that it had it no more", "A acquire [0,1]\nA release [10,11] notheld\nA exit [900]", PatternUnexplained},
		{"all was given back", "A acquire [0,1]\nA release [10,11]\nA exit [900]", PatternReleaseLost},
		{"one died, and another had it since",
			"A acquire [0,1]\nkill A [10,11]\nA exit [12]\nB acquire [600,601]\nB release [610,611]\nB exit [900]", PatternReleaseLost},
	} {
		t.Run(x.name, func(t *testing.T) {
			v := plainLock().judge(t, x.text+probes)
			r := v.Property(StuckLock)
			if r.Count == 0 || r.Violations[0].Pattern != x.want {
				t.Errorf("%v ×%d %+v, want %s", r.Outcome, r.Count, r.Violations, x.want)
			}
		})
	}
}

// What is grouped is what was counted: every violation of a property that has
// patterns has one, whether its particulars are kept or not.
func TestEveryViolationHasItsPattern(t *testing.T) {
	for seed := range uint64(60) {
		h, _ := runWorld(worldConfig{service: service{session: seed%2 == 0, early: seed%3 == 0,
			blindDelete: seed%5 == 0, resets: seed%7 == 0, sticky: seed%11 == 0},
			pauses: true, slowWrites: seed%4 == 0, fenced: seed%8 == 0, clients: 4}, seed)
		v := Judge(h, Options{Keep: 1})
		grouped := map[string]int{}
		for _, g := range v.Patterns {
			if PatternSays(g.Pattern) == "" || g.Total() == 0 {
				t.Errorf("seed %d: a group %+v", seed, g)
			}
			for _, c := range g.Counts {
				grouped[c.Property] += c.Count
			}
		}
		for _, p := range v.Properties {
			if p.Count > 0 && p.Violations[0].Pattern != "" && grouped[p.Name] != p.Count {
				t.Errorf("seed %d: %s is violated %d times, and %d are in groups", seed, p.Name, p.Count, grouped[p.Name])
			}
		}
	}
}
