package checker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// TestOwedTicks is of a job whose service is away until 1000, so that nobody executes ticks 1200 to
// 1600. Then later ones are executed, up to 3000, and nothing is disturbed since before that. C
// waits all the time.
func TestOwedTicks(t *testing.T) {
	all := jobScript(func(c *history.Claims) { c.Misfire = history.MisfireAll })
	once := jobScript(func(c *history.Claims) { c.Misfire, c.Job = history.MisfireAll, history.AtMostOnce })
	const first = "A acquire [-150,1] attempt=0 tok=1000\nA write [2,3]\nA release [4,5]\nservice x [150,1000]\n"
	const before = first +
		"B acquire [-150,1802] attempt=1801 tok=1800\nB release [1803,1804]\nB acquire [1804,1806] attempt=1805 tok=2000\nB release [1806,1807]\n" +
		"B acquire [1807,1809] attempt=1808 tok=2200\nB release [1809,1810]\nB acquire [1810,1812] attempt=1811 tok=2400\nB release [1812,1813]\n" +
		"B acquire [1813,1815] attempt=1814 tok=2600\nB release [1815,1816]\n"
	const later = "A acquire [10,1821] attempt=1820 tok=2800\nA release [1824,1825]\nA acquire [1826,2001] attempt=2000 tok=3000\nA release [2004,2005]\n"
	const made = "B acquire [1817,2011] attempt=2010 tok=1200\nB release [2012,2013]\nB acquire [2014,2021] attempt=2020 tok=1400\nB release [2022,2023]\n" +
		"B acquire [2024,2031] attempt=2030 tok=1600\nB release [2032,2033]\n"
	waits := func(until int) string { return fmt.Sprintf("C acquire [-150,%d] busy\n", until) }
	run(t, []propertyCase{
		{"nobody made up for them", MissedTick, all, waits(2399) + before + later, Violated, 3, "",
			"tick 1200 of k0 was due at 1.200 s and executed by nobody, though tick 3000 was executed at 3.001 s, " +
				"and client 3 waited for a whole period after that, until 3.205 s, and nothing was disturbed."},
		{"each is made up for, when later ones were executed", MissedTick, all, waits(2399) + before + later + made, Pass, 0, "", ""},
		{"one of them is not", MissedTick, all, waits(2399) + before + later + strings.ReplaceAll(made, "tok=1400", "tok=3200"), Violated, 1, "",
			"tick 1400"},
		{"each is, and the oldest was the last", MissedTick, all, waits(2399) + before + later +
			strings.ReplaceAll(strings.ReplaceAll(made, "tok=1600", "tok=3200"), "tok=1200", "tok=1600") + "B acquire [2034,2041] attempt=2040 tok=1200\nB release [2042,2043]\n",
			Pass, 0, "", ""},
		{"two are not, and an older one was the last that is", MissedTick, all, waits(2399) + before + later + "B acquire [1817,2011] attempt=2010 tok=1200\nB release [2012,2013]\n",
			Violated, 2, "", "though tick 3000 was executed at 3.001 s"},
		{"who came last had the time", MissedTick, all, before + later + "C acquire [1801,2210] busy\n", Violated, 3, "", "tick 3000"},
		{"who came last need not have begun", MissedTick, all, before + later + "C acquire [1802,2201] busy\n", Inconclusive, 0, "", "3 ticks were due under a fault"},
		{"by another rule none is owed", MissedTick, jobScript(nil), waits(2399) + before + later, Pass, 0, "", ""},
		{"one execution makes up for all", MissedTick, jobScript(func(c *history.Claims) { c.Misfire = history.MisfireOnce }),
			waits(2399) + before + later, Pass, 0, "", ""},
		{"it waited for less than a period after that, and for one after the one before", MissedTick, all,
			waits(2030) + before + later, Violated, 3, "", "tick 2800 was executed at 2.821 s"},
		{"it never waited for a period after that", MissedTick, all, waits(2021) + before + later, Inconclusive, 0, "", "3 ticks were due under a fault"},
		{"in order: no later one was executed", MissedTick, all, waits(2399) + first +
			"B acquire [-150,1801] attempt=1800 tok=1200\nB release [1803,1804]\nB acquire [1804,1811] attempt=1810 tok=1400\nB release [1812,1813]\n",
			Violated, 1, "", "tick 3000"},
		{"a fault came before it had waited for a period", MissedTick, all, waits(2399) + before + later + "pause D [2015,2020]", Inconclusive, 0, "", "3 ticks were due under a fault"},
		{"a fault came when it had", MissedTick, all, waits(2399) + before + later + "pause D [2300,2310]", Violated, 3, "", "tick 3000"},
		{"a lease and a period before there was a fault", MissedTick, all, waits(2399) + before + later + "pause D [1100,1300]", Inconclusive, 0, "", "3 ticks were due under a fault"},
		{"and a little earlier", MissedTick, all, waits(2399) + before + later + "pause D [1100,1299]", Violated, 3, "", "tick 3000"},
		{"what a cut link held back may have come a lease before", MissedTick, all, waits(2399) + before + later + "fault partition [698,1099] on=D links", Inconclusive, 0, "", "3 ticks were due under a fault"},
		{"and it came earlier", MissedTick, all, waits(2399) + before + later + "fault partition [700,1099] on=D links", Violated, 3, "", "tick 3000"},
		{"a clock was wrong", MissedTick, all, waits(2399) + "fault clock-jump [-900,-890] on=D\n" + before + later, Inconclusive, 0, "", "3 ticks were due under a fault"},
		{"an instance had ended", MissedTick, all, waits(2399) + before + later + "D acquire [1500,1501] tok=600\nD exit [1990]", Inconclusive, 0, "", "4 ticks were due under a fault"},
		{"an execution tells no tick", MissedTick, all, waits(2399) + before + later + "D acquire [1816,1818] attempt=1817\nD release [1818,1819]", Pass, 0, "", ""},
		{"who claims each once may have lost those of a fault", MissedTick, once, waits(2399) + before + later, Pass, 0, "", ""},
		{"the history is cut", MissedTick, cut(all), waits(2399) + before + later, Inconclusive, 0, "", ""},
	})
}

// What came late is measured, whatever is claimed.
func TestLateEffectsAreMeasured(t *testing.T) {
	unclaimed := jobScript(func(c *history.Claims) { c.Stops = 0 })
	v := unclaimed.judge(t, "A acquire [-50,1] attempt=0 tok=1000\nA write [531,532]\nA release [540,541]\n"+
		"B acquire [-50,601] attempt=600 tok=1600\nB lost [700]\nB write [800,801]\nB release [802,803]\n"+
		"C acquire [-50,1201] attempt=1200 tok=2200\nC write [1210,1211]\nC release [1212,1213]\n"+probeText)
	if stops := v.Stats.Timing(TimeStop); stops.Count != 2 || stops.Max != 100*time.Millisecond {
		t.Errorf("%+v", stops)
	}
	if v := plainLock().judge(t, "A acquire [0,1]\nA write [900,901]\nA release [902,903]"+probeText); v.Stats.Timing(TimeStop).Count != 0 {
		t.Errorf("a lock has no executions: %+v", v.Stats.Timings)
	}
}
