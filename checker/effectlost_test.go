package checker

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestEffectLost: of a scheduler that claims exactly once, a tick that began has its effect, unless
// nobody had to execute it again.
func TestEffectLost(t *testing.T) {
	job := jobScript(func(c *history.Claims) { c.Job = history.ExactlyOnce }).with(func(h *history.Header) { h.Every = 2000 * ms })
	claiming := func(change func(*history.Claims)) script {
		return job.with(func(h *history.Header) { change(&h.Claims) })
	}
	lost, cut := job, job
	lost.noLedger, cut.cut = true, true
	const begins = "A acquire [-50,1] attempt=0 tok=1000\n"
	const dies = begins + "kill A [10,12]\nA exit [12]\n"
	const next = "B acquire [-50,2001] attempt=2000 tok=3000\nB write [2002,2003]\nB release [2004,2005]\n"
	const again = "C acquire [-50,701] attempt=700 tok=1000\n"
	run(t, []propertyCase{
		{"its instance dies, and nobody executes it again", OncePerTick, job, dies + next, Violated, 1, KindEffectLost,
			"the effect of tick 1000 of k0 never came: client 1 died at 1.012 s while it executed it, and nobody did again, though client 2 waited until 3.000 s."},
		{"another one executes it", OncePerTick, job, dies + again + "C write [710,711]\nC release [712,713]\n" + next, Pass, 0, "",
			"The store took the effect of 2 ticks."},
		{"another one executes it when the next one is due", OncePerTick, job,
			dies + "C acquire [-50,2101] attempt=2100 tok=1000\nC write [2110,2111]\nC release [2112,2113]\n" + next, Pass, 0, "", ""},
		{"the effect was under way as it died, and comes", OncePerTick, job,
			begins + "A write [9,] @11\nkill A [10,12]\nA exit [12]\n" + next, Pass, 0, "", ""},
		{"the effect was under way as it died, and never comes", OncePerTick, job,
			begins + "A write [9,] info\nkill A [10,12]\nA exit [12]\n" + next, Violated, 1, KindEffectLost, ""},
		{"the mark was under way as it died", OncePerTick, job,
			begins + "A release [9,] info\nkill A [10,12]\nA exit [12]\n" + next, Pass, 0, "", "1 other began and had none"},
		{"another one executes it and dies as well", OncePerTick, job, dies + again + "kill C [898,900]\nC exit [900]\n" + next, Pass, 0, "",
			"1 other began"},
		{"another one executes it and dies as well, when it is the latest for long", OncePerTick,
			job.with(func(h *history.Header) { h.Every = 4000 * ms }),
			dies + again + "kill C [710,712]\nC exit [712]\nB acquire [-50,4001] attempt=4000 tok=5000\nB write [4002,4003]", Violated, 1,
			KindEffectLost, "client 3 died"},
		{"another one executes it, and its write is refused", OncePerTick, job,
			dies + again + "C write [710,711] refused\nC release [712,713]\n" + next, Pass, 0, "", ""},
		{"another one executes it, and nobody knows of its write", OncePerTick, job,
			dies + again + "C write [710,711] info\nC release [712,713] notheld\n" + next, Pass, 0, "", ""},
		{"the time was too short for another one", OncePerTick, job, begins + "kill A [798,800]\nA exit [800]\n" + next, Pass, 0, "", ""},
		{"the time was just long enough", OncePerTick, job, begins + "kill A [790,799]\nA exit [799]\n" + next, Violated, 1, KindEffectLost, ""},
		{"nobody waited", OncePerTick, job, dies + "B acquire [20,2001] attempt=2000 tok=3000\nB write [2002,2003]", Pass, 0, "", ""},
		{"the one that waited was disturbed", OncePerTick, job, dies + "pause B [500,510]\n" + next, Pass, 0, "", ""},
		{"the one that waited had been disturbed before", OncePerTick, job, "pause B [-900,-300]\n" + dies + next, Pass, 0, "", ""},
		{"the one that waited had been disturbed long before", OncePerTick, job, "pause B [-900,-500]\n" + dies + next, Violated, 1,
			KindEffectLost, ""},
		{"a third one was disturbed, which may have claimed it", OncePerTick, job, dies + "pause D [1500,1510]\n" + next, Pass, 0, "", ""},
		{"the service was disturbed", OncePerTick, job, dies + "service x [500,510]\n" + next, Pass, 0, "", ""},
		{"the machine stood still", OncePerTick, job, dies + "stall B [500,600]\n" + next, Pass, 0, "", ""},
		{"a clock had been wrong", OncePerTick, job, "fault clock-jump [-900,-890] on=D\n" + dies + next, Pass, 0, "", ""},
		{"it came back, and was struck again", OncePerTick, job,
			dies + "A acquire [400,] info start=400 proc=11\nkill A [600,602]\nA exit [602] proc=11\n" + next, Pass, 0, "", ""},
		{"it came back, and waited with the others", OncePerTick, job,
			dies + "A acquire [400,1999] busy proc=11\n" + next, Violated, 1, KindEffectLost, ""},
		{"another one ended by itself, which may have claimed it", OncePerTick, job, dies + "C exit [900]\n" + next, Pass, 0, "", ""},
		{"an older execution went on", OncePerTick, job,
			"C acquire [-2050,-1999] attempt=-2000 tok=-1000\nC write [-1990,-1989]\n" + dies + "C write [300,301]\nC release [302,303]\n" + next,
			Pass, 0, "", ""},
		{"an older execution was over", OncePerTick, job,
			"C acquire [-2050,-1999] attempt=-2000 tok=-1000\nC write [-1990,-1989]\nC release [-1980,-1979]\n" + dies + next, Violated, 1,
			KindEffectLost, ""},
		{"the workload wound down", OncePerTick, job,
			"B acquire [-50,2] attempt=0 tok=999\nB write [3,4]\nB release [5,6]\n" + dies + "B acquire [7,1000] busy\nmark quiet [1001]", Pass, 0, "", ""},
		{"the ledger is lost", OncePerTick, lost, dies + next, Inconclusive, 0, "", "ledger is missing"},
		{"the history was cut", OncePerTick, cut, dies + next, Inconclusive, 0, "", ""},
		{"the store took nothing", OncePerTick, job, dies + "B acquire [-50,2001] attempt=2000 tok=3000\nB write [2002,2003] refused\nB release [2004,2005]", NotJudged, 0, "",
			"took no effect"},
		{"nothing is claimed of deaths", OncePerTick, claiming(func(c *history.Claims) { c.Handover = 0 }), dies + next, Pass, 0, "", ""},
		{"it claims at least once", OncePerTick, claiming(func(c *history.Claims) { c.Job = history.AtLeastOnce }), dies + next, Pass, 0, "", ""},
		{"it was stopped in order", OncePerTick, job, begins + "A close [10,12]\n" + next, Violated, 1, KindEffectLost, "client 1 was stopped in order at 1.012 s"},
		{"it was stopped in order, and its process ended", OncePerTick, job, begins + "A close [10,12]\nA exit [13]\n" + next, Violated, 1,
			KindEffectLost, ""},
		{"it was stopped in order, came back, and ended by itself", OncePerTick, job,
			begins + "A close [10,12]\nA exit [13]\nA acquire [400,] info start=400 proc=11\nA exit [602] proc=11\n" + next, Pass, 0, "", ""},
		{"it was stopped in order, and another one went on", OncePerTick, job,
			begins + "A close [10,12]\nC acquire [-50,101] attempt=100 tok=1000\nC write [110,111]\nC release [112,113]\n" + next, Pass, 0, "", ""},
		{"nothing is claimed of orderly stops", OncePerTick, claiming(func(c *history.Claims) { c.StopHandover = 0 }),
			begins + "A close [10,12]\n" + next, Pass, 0, "", ""},
		{"its instance lives", OncePerTick, job, begins + next, Pass, 0, "", ""},
		{"marked by an instance that had told of its loss", OncePerTick, job,
			begins + "A lost [501]\nA write [510,511] declined\nA release [512,513]\n" + next, Violated, 1, KindEffectLost,
			"client 1 had told its application at 1.501 s that it had lost it, and marked it as done at 1.513 s."},
		{"marked by such a one, when another one had had its effect", OncePerTick, job,
			begins + "A lost [501]\n" + again + "C write [710,711]\nC release [712,713]\nA release [720,721]\n" + next, Pass, 0, "", ""},
		{"a mark of such a one is refused", OncePerTick, job,
			begins + "A lost [501]\nA write [510,511] declined\nA release [512,513] notheld\n" + next, Pass, 0, "", ""},
		{"marked before the loss was told", OncePerTick, job, begins + "A release [490,491]\nA lost [501]\n" + next, Pass, 0, "", ""},
		{"marked by such a one, whose write was refused", OncePerTick, job,
			begins + "A write [490,491] refused\nA lost [501]\nA release [511,512]\n" + next, Pass, 0, "", ""},
		{"marked by such a one, whose read failed", OncePerTick, job,
			begins + "A read [490,491] fail\nA lost [501]\nA release [511,512]\n" + next, Pass, 0, "", ""},
		{"marked without an effect, and no loss was told", OncePerTick, job, begins + "A release [11,12]\n" + next, Pass, 0, "", ""},
	})
}
