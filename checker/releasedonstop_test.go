package checker

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

func TestReleasedOnStop(t *testing.T) {
	job := jobScript(nil)
	const stops = "A acquire [-50,1] attempt=0 tok=1000\nA close [10,12]\nA exit [14]\n"
	run(t, []propertyCase{
		{"another goes on", ReleasedOnStop, job, stops + "B acquire [-50,201] attempt=200 tok=1200\nB release [202,203]", Pass, 0, "", ""},
		{"at the last instant", ReleasedOnStop, job, stops + "B acquire [-50,312] attempt=311 tok=1200\nB release [313,314]", Pass, 0, "", ""},
		{"later", ReleasedOnStop, job, stops + "B acquire [-50,314] attempt=313 tok=1200\nB release [315,316]", Violated, 1, "", ""},
		{"nobody goes on", ReleasedOnStop, job, stops + "B acquire [-50,2000] busy", Violated, 1, "",
			"client 1 was stopped in order at 1.012 s while it executed k0, and by 1.312 s no other instance had executed it, though client 2 waited for it."},
		{"it was stopped, and is no death", Handover, job, stops + "B acquire [-50,2000] busy", NotJudged, 0, "", "No instance died"},
		{"a close of unknown fate is a death", ReleasedOnStop, job,
			"A acquire [-50,1] attempt=0 tok=1000\nA close [10,12] info\nA exit [14]\nB acquire [-50,2000] busy", NotJudged, 0, "", "No instance was stopped"},
		{"a close of unknown fate is judged as a death", Handover, job,
			"A acquire [-50,1] attempt=0 tok=1000\nA close [10,12] info\nA exit [14]\nB acquire [-50,2000] busy", Violated, 1, "", "client 1 died"},
		{"it had marked its execution as done", ReleasedOnStop, job,
			"A acquire [-50,1] attempt=0 tok=1000\nA release [2,3]\nA close [10,12]\nB acquire [-50,2000] busy", NotJudged, 0, "", ""},
		{"the workload winds down", ReleasedOnStop, job,
			"A acquire [-50,1] attempt=0 tok=1000\nmark quiet [9]\nA close [10,12]\nA exit [14]\nB acquire [-50,2000] busy", NotJudged, 0, "", ""},
		{"the other was disturbed", ReleasedOnStop, job, stops + "pause B [200,210]\nB acquire [-50,2000] busy", Inconclusive, 0, "",
			"After no orderly stop"},
		{"the service was disturbed", ReleasedOnStop, job, stops + "service x [200,210]\nB acquire [-50,2000] busy", Inconclusive, 0, "", ""},
		{"nobody waited", ReleasedOnStop, job, stops + "B acquire [500,2000] busy", Inconclusive, 0, "", "After no orderly stop"},
		{"the machine stood still, and the rest is not twice the bound", ReleasedOnStop, job,
			stops + "stall B [100,200]\nB acquire [-50,700] busy", Inconclusive, 0, "", ""},
		{"another died, which has more time", ReleasedOnStop, job, stops + "B acquire [-50,201] attempt=200 tok=1200\nkill B [210,212]\nB exit [212]\n" +
			"C acquire [-40,801] attempt=800 tok=1800\nC release [802,803]", Pass, 0, "", ""},
		{"a mark of another phase comes first", ReleasedOnStop, job,
			"mark run [-55]\n" + stops + "B acquire [-50,2000] busy", Violated, 1, "", "client 1 was stopped in order"},
		{"nothing is claimed", ReleasedOnStop, jobScript(func(c *history.Claims) { c.StopHandover = 0 }), stops, NotJudged, 0, "", "does not declare"},
		{"what it gave up is another's to execute", OncePerTick, job,
			stops + "B acquire [-50,201] attempt=200 tok=1000\nB release [202,203]", Violated, 1, KindTwiceAfterLoss, ""},
		{"before it gave it up", OncePerTick, job,
			stops + "B acquire [-50,9] attempt=8 tok=1000\nB release [10,11]", Violated, 1, KindTwiceWhileOwned, ""},
	})
}

// TestReleasedOnStopOfLocks: a component that holds a lock is judged alike, where that claims it,
// and no verdict on another lock mentions it.
func TestReleasedOnStopOfLocks(t *testing.T) {
	lock := plainLock().with(func(h *history.Header) { h.Claims.StopHandover = 100 * ms })
	const stops = "A acquire [0,1]\nA close [10,12]\nA exit [14]\n"
	run(t, []propertyCase{
		{"another goes on", ReleasedOnStop, lock, stops + "B acquire [5,112]\nB release [113,114]" + probeText, Pass, 0, "", ""},
		{"later", ReleasedOnStop, lock, stops + "B acquire [5,114]\nB release [115,116]" + probeText, Violated, 1, "",
			"client 1 was stopped in order at 1.012 s while it held k0, and by 1.112 s no other instance had been granted it, though client 2 waited"},
		{"it had released it", ReleasedOnStop, lock, "A acquire [0,1]\nA release [2,3]\nA close [10,12]\nB acquire [5,20]" + probeText,
			NotJudged, 0, "", "No instance was stopped in order while it held"},
		{"another had been stopped while it waited for its turn", ReleasedOnStop, lock,
			"C acquire [-20,-19] attempt=-20\nfault kill [-15,-14] on=C\nC exit [-14]\nA acquire [-18,1] attempt=-18\nA close [10,12]\nA exit [14]\nB acquire [5,114] attempt=5\nB release [115,116]" +
				probeText, Violated, 1, "", ""},
		{"nobody waited", ReleasedOnStop, lock, stops + "B acquire [50,500]\nB release [501,502]" + probeText, Inconclusive, 0, "", ""},
	})
	v := plainLock().judge(t, stops)
	if r := v.Property(ReleasedOnStop); r != nil {
		t.Errorf("%+v", r)
	}
}
