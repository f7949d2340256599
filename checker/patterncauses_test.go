package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// Patterns at their edges: what a fault explains just so, and what it explains no more.

func TestEdgesOfLeasePatterns(t *testing.T) {
	lease := plainLock()
	double := func(name string, lock script, text, want string) {
		t.Helper()
		hasPattern(t, name, lock, MutualExclusion, text, want)
	}
	double("a share of the processor", lease, "fault throttle [4,705] on=A\n"+wentOn, PatternPaused)
	double("a fault on its links, called a pause", lease, "fault pause [4,705] on=A links\n"+wentOn, PatternCutOff)
	double("the store itself was frozen", lease, "fault pause [4,705] on=store:A frozen\n"+wentOn, PatternStoreAway)
	double("a connection that is reset cuts nobody off", lease, "fault reset [4,705] on=A links\n"+wentOn, PatternUnexplained)
	double("a connection that was reset once", lease, "fault reset [4,5] on=A links\n"+wentOn, PatternWorkedPast)
	double("a fault of a kind that explains nothing by itself", lease, "fault io-error [4,705] on=A\n"+wentOn, PatternUnexplained)
	double("what it did first of its late acts is not remembered", lease,
		overtaken+"A write [610,611] refused\nA write [1305,1306]\nA write [1306,1307]\nA write [1307,1308]\nA write [1309,1310]\nA write [1312,1313]",
		PatternUnexplained)
	double("it did it after its longest rest", lease,
		overtaken+"A write [610,611] refused\nA write [705,706]\nA write [706,707]\nA write [707,708]\nA write [709,710]\nA write [712,713]",
		PatternWorkedPast)
	double("its longest rest was a pause", lease, "pause A [4,605]\n"+overtaken+
		"A write [610,611] refused\nA write [705,706]\nA write [706,707]\nA write [707,708]\nA write [709,710]\nA write [712,713]",
		PatternPaused)
	double("an op that ended later began in its longest rest", lease,
		"pause A [4,120]\n"+overtaken+"A write [640,641] refused\nA write [605,700]\nA write [706,707]\nA write [707,708]\nA write [709,710]\nA write [712,713]",
		PatternPaused)
	double("what it did first of its late acts is remembered", lease,
		overtaken+"A write [706,707]\nA write [707,708]\nA write [709,710]\nA write [712,713]", PatternWorkedPast)
	double("in time but for a nanosecond, without the pause", lease, "pause A [4,216]\n"+wentOn, PatternWorkedPast)
	double("in time, without the pause", lease, "pause A [4,216.1]\n"+wentOn, PatternPaused)
	double("told at the very act", lease, overtaken+"A lost [710]\nA write [710,711]", PatternWorkedPast)
	double("a clock that went wrong as it acted", lease, "fault clock-rate [710,800] on=A\n"+wentOn, PatternClockJumped)
	double("a clock that was right again when it asked", lease, "fault clock-rate [-10,0] on=A\n"+wentOn, PatternClockJumped)
	double("a clock that was right again before it asked", lease, "fault clock-rate [-10,-1] on=A\n"+wentOn, PatternWorkedPast)
	double("stalled, told, and it went on", lease, "stall A [10,120]\n"+overtaken+"A lost [400]\nA write [700,701]", PatternLossIgnored)
	double("the late write itself hung", lease, "fault partition [720,1400] on=store:A\n"+overtaken+
		"A write [710,1500] @1450", PatternWorkedPast)
	slow := func(fault string) string {
		return fault + `
		A acquire [0,1]
		A read    [20,700] @699
		B acquire [600,601] first=600
		A write   [710,711]
		B write   [720,721]
		B release [730,731]`
	}
	double("a read that hung when the cut was over", lease, slow("fault partition [4,19] on=store:A"), PatternWorkedPast)
	double("a read that hung from the end of the cut on", lease, slow("fault partition [4,20] on=store:A"), PatternStoreAway)
	double("a cut as the read came back", lease, slow("fault partition [700,705] on=store:A"), PatternStoreAway)
	double("a cut when the read had come back", lease, slow("fault partition [700.5,705] on=store:A"), PatternWorkedPast)

	double("an act at the very instant of the grant is none beside it", lease,
		"pause A [4,204]\n"+overtaken+"A read [601,602]\nA write [710,711]", PatternWorkedPast)
	double("many acts in time, and then a late one", lease,
		overtaken+strings.Repeat("A read [10,11]\n", 6)+"A write [710,711]", PatternWorkedPast)
	double("a read that hung when the store had been frozen", lease, slow("fault pause [4,204] on=store:A frozen"), PatternStoreAway)
	double("a renewal that hung when the cut was over", lease,
		strings.Replace(slow("fault partition [4,204] on=A links"), "A read    [20,700] @699", "A renew [20,700]", 1), PatternCutOff)

	early := strings.ReplaceAll(wentOn, "[600,601] first=600", "[300,301] first=300")
	measured := strings.NewReplacer("A acquire [0,1]", "A acquire [0,1] valid=490", "B acquire [300,301]",
		"B acquire [300,301] valid=490").Replace(early)
	double("it measured its lease by a wrong clock", library(lease), "fault clock-rate [100,200] on=A\n"+measured, PatternClockJumped)
	double("the service measures, and its own clock was wrong", lease, "fault clock-rate [100,200] on=A\n"+early, PatternGrantedTwice)
	double("what nobody injected into the service", lease, "service x [100,110] +own\n"+early, PatternGrantedTwice)
	double("the primary froze at the very instant", lease,
		"fault pause [301,900] on=service hosts=1 target=primary\n"+early, PatternService)
	double("a primary that crashed", lease, "fault crash-restart [100,900] on=service hosts=1 target=primary\n"+early, PatternRestart)
	double("one server was back as the next one went", nodes(lease, 3),
		"fault pause [50,100] on=service hosts=1\nfault pause [100,200] on=service hosts=1\n"+early, PatternService)
	double("of two servers that were away, one was by itself", nodes(lease, 3),
		"fault pause [50,200] on=service hosts=1 +own\nfault pause [100,200] on=service hosts=1\n"+early, PatternService)
}

func TestEdgesOfSessionPatterns(t *testing.T) {
	held := confirms(grace(session(plainLock())), "held")
	double := func(name string, lock script, text, want string) {
		t.Helper()
		hasPattern(t, name, lock, MutualExclusion, text, want)
	}
	// it explains nothing, but the session promises nothing for sure
	const moment = "fault io-error [500,510] on=A\n"
	double("its connection was cut", held, "fault cut [500,510] on=A links\n"+wentOn, PatternSessionUnseen)
	double("ended as another was granted it", held, "fault expire-session [601,610] on=A\n"+wentOn, PatternSessionUnseen)
	double("ended as it began", held, moment+"fault expire-session [-10,0] on=A\n"+wentOn, PatternSessionUnseen)
	double("ended before it began", held, moment+"fault expire-session [-10,-1] on=A\n"+wentOn, PatternUnexplained)
	double("a connection that was reset as it was granted", held, moment+"fault reset [0.5,1] on=A links\n"+wentOn, PatternUnexplained)
	double("a connection that was reset when it was granted", held, moment+"fault reset [0.5,1.1] on=A links\n"+wentOn,
		PatternSessionUnseen)
	double("no TTL: nobody knows what is long", held.with(func(h *history.Header) { h.TTL = 0 }),
		"pause A [600,602]\n"+wentOn, PatternUnexplained)
	double("cut off, and told", held, "fault partition [4,500] on=A links\n"+overtaken+
		"A lost [700]\nA write [710,711]", PatternLossIgnored)
	double("the application stood still, and was renewed beside it", held,
		moment+"fault stall [4,705] on=A aside\n"+overtaken+"A write [725,726]", PatternUnexplained)
	double("the watchdog starved for a moment before", held, "fault renewer-stall [500,550] on=A\n"+wentOn, PatternUnexplained)
	double("a fault of the service long before", held, `
		fault pause [10,300] on=service hosts=1
		fault io-error [1500,1510] on=A
		A acquire [0,1]
		A read    [2,3]
		B acquire [1700,1701] first=1700
		B read    [1702,1703]
		A write   [1710,1711]
		B write   [1720,1721]
		B release [1730,1731]`, PatternUnexplained)
	double("no majority for a moment", nodes(held, 3), "fault pause [300,400] on=service hosts=2\n"+wentOn, PatternService)
	double("no majority for half a TTL", nodes(held, 3), "fault pause [300,550] on=service hosts=2\n"+wentOn, PatternQuorum)
	double("no majority for a little less", nodes(held, 3), "fault pause [300,549] on=service hosts=2\n"+wentOn, PatternService)
}

func TestEdgesOfWritePatterns(t *testing.T) {
	lease, held := plainLock(), session(plainLock())
	run := func(name string, lock script, property, text, want string) {
		t.Helper()
		hasPattern(t, name, lock, property, text, want)
	}
	run("asked in time, begun too late", lease, UnfencedWrite, overtaken+"A write [400,760] start=740 @750", PatternWorkedPast)
	run("never reported, and not its first late act", lease, UnfencedWrite,
		"pause A [4,204]\n"+overtaken+"A read [610,611]\nA write [740,] @750\nA exit [800]", PatternWorkedPast)
	run("an update that was lost to a write in flight", lease, LostUpdate, overtaken+"A write [590,760] @705", PatternLateRequest)
	run("an update that was lost to a write sent as it was granted", lease, LostUpdate,
		overtaken+"A write [601,760] @705", PatternLateRequest)
	run("an update that was lost, and nobody knows who was first", noClaims(lease), LostUpdate, `
		A acquire [0,5]
		B acquire [0,10]
		A read    [6,7]
		B read    [11,12]
		A write   [8,30] @29
		B write   [40,41]`, PatternUnexplained)
	run("confirmed to one that it was promised to", confirms(lease, "renew"), Continuity,
		"A acquire [0,1]\nB acquire [300,301] first=300\nA renew [400,401]", PatternGrantedTwice)
	run("confirmed by a wrong clock", confirms(lease, "renew"), Continuity,
		"fault clock-rate [100,700] on=A\n"+handedOver+"A renew [700,701]", PatternClockJumped)
	run("a session that gave back what it had not", confirms(held, "release"), Continuity,
		"pause A [2,590]\n"+handedOver+"A release [700,701]", PatternOwnerUnchecked)

	const tokens = "A acquire [0,1] tok=7\nA release [10,11]\n%s\nB acquire [100,200] run=100,101 tok=3\nB release [210,211]"
	token := func(name, fault, want string) {
		t.Helper()
		run(name, fencedLock(), TokenOrder, fmt.Sprintf(tokens, fault), want)
	}
	token("a replica took over", "fault failover [50,60] on=service hosts=1", PatternFailover)
	token("a clock jumped", "fault clock-jump [50,60] on=service hosts=1", PatternClockJumped)
	token("a restart and a failover", "fault crash-restart [50,60] on=service hosts=1\nfault failover [70,80] on=service hosts=1", PatternSeveral)
	token("a restart before the grant, and one after it",
		"fault crash-restart [50,60] on=service hosts=1\nfault crash-restart [150,160] on=service hosts=1", PatternRestart)
	token("a restart after the grant", "fault crash-restart [150,160] on=service hosts=1", PatternTokens)
	token("a server came back by itself, as the grant was made", "fault crash-restart [101,160] on=service hosts=1 +own", PatternRestart)
	token("a server had come back by itself, as the first one asked", "fault crash-restart [-10,0] on=service hosts=1 +own", PatternRestart)
	token("a server had come back by itself before", "fault crash-restart [-10,-1] on=service hosts=1 +own", PatternTokens)
}

// TestTheRestartOfLongAgo: the faults of long ago are forgotten, but not the
// restart that took a counter back.
func TestTheRestartOfLongAgo(t *testing.T) {
	for text, want := range map[string]string{"fault crash-restart [50,60] on=service hosts=1": PatternRestart, "": PatternTokens} {
		h := fencedLock().history("A acquire [0,1] tok=7\nA release [10,11]\n" + text +
			"\nB acquire [6000,6001] tok=3\nB release [6010,6011]")
		s := New(h.Header, h.Keys, Options{})
		for i := range h.Events {
			if h.Events[i].Kind == history.Acquire && h.Events[i].Type == history.Invoke && h.Events[i].Client == 2 {
				addFaultsElsewhere(s, at(5000))
			}
			s.Add(&h.Events[i])
		}
		if v := s.Finish(false); len(s.faults.service) > 0 || v.Property(TokenOrder).Count != 1 ||
			v.Property(TokenOrder).Violations[0].Pattern != want {
			t.Errorf("%q: %d faults of the service are remembered, %+v, want %s", text, len(s.faults.service), v.Property(TokenOrder), want)
		}
	}
}

// TestOnePattern: what is said of all violations at once, and when.
func TestOnePattern(t *testing.T) {
	group := func(name string, n int) PatternGroup {
		return PatternGroup{Pattern: name, Counts: []PropertyCount{{MutualExclusion, 1}, {LostUpdate, n - 1}}}
	}
	for _, x := range []struct {
		groups []PatternGroup
		want   bool
	}{
		{nil, false},
		{[]PatternGroup{group(PatternPaused, 2)}, true},
		{[]PatternGroup{group(PatternPaused, 1)}, false},
		{[]PatternGroup{group(PatternUnexplained, 2)}, false},
		{[]PatternGroup{group(PatternPaused, 2), group(PatternCutOff, 2)}, false},
	} {
		if v := (Verdict{Patterns: x.groups}); v.SamePattern() != x.want {
			t.Errorf("%+v: %v", x.groups, !x.want)
		}
	}
	for _, p := range Patterns() {
		if PatternSays(p.Name) != p.Says || p.Says == "" {
			t.Errorf("%s: %q", p.Name, PatternSays(p.Name))
		}
	}
	if says := PatternSays("none such"); says != "" {
		t.Errorf("a pattern that there is not: %q", says)
	}
	var tal tally
	for _, e := range []tallyEntry{{&lostUpdate, "", PatternPaused, false, 1},
		{&lostUpdate, "", PatternCutOff, false, 1}, {&unfencedWrite, "", PatternPaused, false, 1},
		{&lostUpdate, "", PatternPaused, false, 1}, {&lostUpdate, "", PatternPaused, true, 1},
		{&lostUpdate, KindStale, PatternPaused, false, 3}} {
		tal.add(e)
	}
	if want := []tallyEntry{{&lostUpdate, "", PatternPaused, false, 2}, {&lostUpdate, "", PatternCutOff, false, 1},
		{&unfencedWrite, "", PatternPaused, false, 1},
		{&lostUpdate, "", PatternPaused, true, 1}, {&lostUpdate, KindStale, PatternPaused, false, 3}}; !slices.Equal(tal.entries, want) {
		t.Errorf("%+v, want %+v", tal.entries, want)
	}
}
