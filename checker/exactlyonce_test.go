package checker

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestExactlyOnce: of a scheduler that claims exactly once the effects are judged, and not how
// often an execution began.
func TestExactlyOnce(t *testing.T) {
	job := jobScript(func(c *history.Claims) { c.Job = history.ExactlyOnce })
	lost := job
	lost.noLedger = true
	storeless := job.with(func(h *history.Header) { h.Store = history.Store{} })
	storeless.noLedger = true
	const first = "A acquire [-50,1] attempt=0 tok=1000\nA write [10,11]\n"
	const again = "B acquire [-50,801] attempt=800 tok=1000\n"
	run(t, []propertyCase{
		{"each tick once", OncePerTick, job, orderly, Pass, 0, "", ""},
		{"twice, after a loss", OncePerTick, job,
			first + "pause A [12,790]\n" + again + "B write [910,911]\nB release [920,921]", Violated, 1, KindEffectTwice,
			"the effect of tick 1000 of k0 came twice: by client 1 at 1.010 s and by client 2 at 1.911 s."},
		{"twice, by a stall of the machine", OncePerTick, job,
			first + "stall A [12,790]\n" + again + "B write [910,911]", Violated, 1, KindEffectTwice, ""},
		{"begun again, before the first one had its effect, which came", OncePerTick, job,
			"A acquire [-50,1] attempt=0 tok=1000\n" + again + "A write [805,806]\nB write [910,911] refused", Pass, 0, "", ""},
		{"begun again while it was owned, and refused", OncePerTick, job,
			first + "B acquire [-50,400] attempt=399 tok=1000\nB write [410,411] refused\nA release [700,701]", Pass, 0, "", ""},
		{"begun again, and it has no effect", OncePerTick, job, first + again + "B read [910,911]\nB release [920,921]", Pass, 0, "", ""},
		{"the effect came though nobody was answered", OncePerTick, job,
			"A acquire [-50,1] attempt=0 tok=1000\nA write [10,500] info @12\n" + again + "B write [910,911]", Violated, 1, KindEffectTwice,
			"by client 1 at 1.012 s"},
		{"nobody was answered, and no effect came", OncePerTick, job,
			"A acquire [-50,1] attempt=0 tok=1000\nA write [10,500] info\n" + again + "B write [910,911]", Pass, 0, "", ""},
		{"no effect came at all", OncePerTick, job,
			"A acquire [-50,1] attempt=0 tok=1000\nA write [10,11] refused\n" + again + "B write [910,911] refused", NotJudged, 0, "",
			"took no effect"},
		{"the later execution had its effect first", OncePerTick, job,
			"A acquire [-50,1] attempt=0 tok=1000\n" + again + "B write [910,911]\nA write [950,951]", Violated, 1, KindEffectTwice,
			"by client 2 at 1.911 s and by client 1 at 1.950 s."},
		{"three effects", OncePerTick, job,
			first + again + "B write [910,911]\nC acquire [-50,1501] attempt=1500 tok=1000\nC write [1510,1511]", Violated, 2, KindEffectTwice, ""},
		{"two of one execution are its own", OncePerTick, job, first + "A write [20,21]\nA release [30,31]", Pass, 0, "", ""},
		{"the first one acts again afterwards", OncePerTick, job,
			first + again + "B write [910,911]\nA write [950,951]", Violated, 1, KindEffectTwice,
			"by client 1 at 1.010 s and by client 2 at 1.911 s."},
		{"effects of two ticks", OncePerTick, job,
			first + "B acquire [-50,201] attempt=200 tok=1200\nB write [210,211]\nB release [220,221]", Pass, 0, "", ""},
		{"the ledger is lost", OncePerTick, lost, first + again + "B write [910,911]", Inconclusive, 0, "", "ledger is missing"},
		{"there was no store", OncePerTick, storeless, first + again, NotJudged, 0, "", "no protected resource"},
		{"a tick is not told", OncePerTick, job, "A acquire [-50,1]\nA release [2,3]\nB acquire [-50,201] attempt=200 tok=1200\nB release [203,204]",
			Inconclusive, 0, "", "does not tell"},
		{"two do not tell theirs", OncePerTick, job,
			"A acquire [-50,1]\nA write [2,3]\nB acquire [-50,201]\nB write [203,204]\nC acquire [-50,401] attempt=400 tok=1400", Inconclusive, 0, "", ""},
		{"a scheduler of at least once is not judged by effects", OncePerTick, jobScript(nil),
			"A acquire [-50,1] attempt=0 tok=1000\n" + again + "A write [905,906] refused", Violated, 1, KindTwiceAfterLoss, ""},
	})
}
