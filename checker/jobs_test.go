package checker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// jobScript is a job with a period of 200 ms and a lease of 500 ms. A tick is due at every whole
// multiple of 200, and its number is that time plus base.
func jobScript(change func(*history.Claims)) script {
	s := plainLock()
	return s.with(func(h *history.Header) {
		h.Started, h.Every, h.Clients, h.Workload = time.UnixMilli(0), 200*ms, 4, "job"
		h.Claims = history.Claims{Token: history.TokenTick, Job: history.AtLeastOnce, Misfire: history.MisfireSkip,
			Stops: 50 * ms, Handover: 700 * ms, StopHandover: 100 * ms}
		if change != nil {
			change(&h.Claims)
		}
	})
}

// orderly is a job that does what it claims: A and B execute ticks in turn, while C waits.
const orderly = `
	C acquire [-150,900] busy
	A acquire [-150,1] attempt=0 tok=1000
	A read    [2,3]
	A write   [20,21]
	A release [22,23]
	A acquire [24,402] attempt=401 tok=1400
	A write   [410,411]
	A release [412,413]
	B acquire [-150,201] attempt=200 tok=1200
	B write   [220,221]
	B release [222,223]
	B acquire [224,601] attempt=600 tok=1600
	B write   [610,611]
	B release [612,613]
`

func TestOncePerTick(t *testing.T) {
	job := jobScript(nil)
	once := jobScript(func(c *history.Claims) { c.Job = history.AtMostOnce })
	const first = "A acquire [-50,1] attempt=0 tok=1000\nA write [10,11]\n"
	const second = "B write [910,911]\nB release [920,921]\n"
	run(t, []propertyCase{
		{"each tick once", OncePerTick, job, orderly, Pass, 0, "", ""},
		{"while the first one owns it", OncePerTick, job,
			first + "B acquire [-50,400] attempt=399 tok=1000\n" + second + "A release [700,701]", Violated, 1,
			KindTwiceWhileOwned, "tick 1000 of k0 was executed twice: by client 1 from 1.001 s and by client 2 from 1.400 s"},
		{"at the end of the lease", OncePerTick, job,
			first + "B acquire [-50,500] attempt=499 tok=1000\n" + second + "A release [700,701]", Violated, 1, KindTwiceAfterLoss, ""},
		{"just before it", OncePerTick, job,
			first + "B acquire [-50,499] attempt=498 tok=1000\n" + second + "A release [700,701]", Violated, 1, KindTwiceWhileOwned, ""},
		{"the claim may be as old as the wait, where no attempt is told", OncePerTick, job,
			"A acquire [-50,1] tok=1000\nA write [10,11]\nB acquire [-50,450] tok=1000\n" + second, Violated, 1, KindTwiceAfterLoss, ""},
		{"after it was marked as done", OncePerTick, job,
			first + "A release [20,21]\nB acquire [-50,801] attempt=800 tok=1000\n" + second, Violated, 1, KindReplayed, "had marked it as done"},
		{"marked within the lease, and claimed before or after that", OncePerTick, job,
			first + "A release [20,21]\nB acquire [-50,30] attempt=15 tok=1000\n" + second, Violated, 1, KindReplayed, ""},
		{"marked when the lease was over, and claimed before", OncePerTick, job,
			first + "A release [590,601]\nB acquire [-50,602] attempt=595 tok=1000\n" + second, Violated, 1, KindTwiceAfterLoss, ""},
		{"a mark of unknown fate", OncePerTick, job,
			first + "A release [20,21] info start=20\nB acquire [-50,801] attempt=800 tok=1000\n" + second, Violated, 1, KindTwiceAfterLoss, ""},
		{"after a loss, and at most once is claimed", OncePerTick, once,
			first + "pause A [5,890]\nB acquire [-50,801] attempt=800 tok=1000\n" + second, Violated, 1, KindTwiceThoughOnce, ""},
		{"after a loss by a stall of the machine", OncePerTick, job,
			first + "stall A [12,890]\nB acquire [-50,801] attempt=800 tok=1000\n" + second, Inconclusive, 0, "", "a stall of this machine"},
		{"after a loss by a stall and by a fault", OncePerTick, job,
			first + "stall A [12,890]\npause A [13,500]\nB acquire [-50,801] attempt=800 tok=1000\n" + second, Violated, 1, KindTwiceAfterLoss, ""},
		{"another tick of the same job", OncePerTick, job,
			first + "B acquire [-50,201] attempt=200 tok=1200\n" + second + "A release [700,701]", Pass, 0, "", ""},
		{"the same tick of another job", OncePerTick, job,
			first + "B acquire [-50,20] attempt=19 tok=1000 key=k1\nB release [30,31] key=k1\nA release [700,701]", Pass, 0, "", ""},
		{"of two executions no tick is told", OncePerTick, job, "A acquire [-50,1]\nA release [2,3]\nB acquire [-50,201]\nB release [202,203]",
			NotJudged, 0, "", "does not tell"},
		{"the mark was sent as the second one began", OncePerTick, job,
			first + "A release [30,31]\nB acquire [-50,30] attempt=15 tok=1000\n" + second, Violated, 1, KindReplayed, ""},
		{"marked at the end of the lease", OncePerTick, job,
			first + "A release [490,500]\nB acquire [-50,601] attempt=495 tok=1000\n" + second, Violated, 1, KindReplayed, ""},
		{"marked when the lease was over, as the second claim was made", OncePerTick, job,
			first + "A release [590,600]\nB acquire [-50,602] attempt=600 tok=1000\n" + second, Violated, 1, KindReplayed, ""},
		{"an act that was perhaps never begun", OncePerTick, job,
			"A acquire [-50,1] attempt=0 tok=1000\nA write [10,11] info\nB acquire [-50,400] attempt=399 tok=1000\n" + second, Violated, 1,
			KindTwiceWhileOwned, ""},
		{"they are told of in another order", OncePerTick, job,
			"A acquire [-50,600] run=-50,1 attempt=0 tok=1000\nB acquire [-50,400] attempt=399 tok=1000", Violated, 1, KindTwiceWhileOwned,
			"by client 1 from 1.001 s and by client 2 from 1.400 s"},
		{"the second one wrote nothing", OncePerTick, job,
			first + "B acquire [-50,400] attempt=399 tok=1000", Violated, 1, KindTwiceWhileOwned, ""},
		{"while the first one owns it, and stood still by itself", OncePerTick, job,
			first + "stall A [12,390]\nB acquire [-50,400] attempt=399 tok=1000\n" + second, Violated, 1, KindTwiceWhileOwned, ""},
		{"while the first one owns it, which it marked as done afterwards", OncePerTick, job,
			first + "B acquire [-50,400] attempt=399 tok=1000\nA release [410,411]", Violated, 1, KindTwiceWhileOwned, ""},
		{"one of them wrote nothing", OncePerTick, job,
			"A acquire [-50,1] attempt=0 tok=1000\nB acquire [-50,400] attempt=399 tok=1000\n" + second, Violated, 1, KindTwiceWhileOwned, ""},
		{"three executions, each judged with the one before", OncePerTick, job,
			first + "B acquire [-50,601] attempt=600 tok=1000\nC acquire [-50,701] attempt=700 tok=1000\nB write [710,711]\nC write [712,713]",
			Violated, 2, KindTwiceAfterLoss, ""},
		{"a mark is sent twice, and the second is answered", OncePerTick, job,
			first + "A release [20,21] info start=20\nA release [40,41]\nB acquire [-50,801] attempt=800 tok=1000\n" + second,
			Violated, 1, KindReplayed, "had marked it as done at 1.041 s"},
		{"told of late, when the lease was over and another had gone on and marked it", OncePerTick, job,
			"A acquire [-50,501] attempt=500 tok=1000\nA release [520,521]\npause B [1,890]\nB acquire [-50,900] attempt=0 tok=1000\n" + second,
			Violated, 1, KindTwiceAfterLoss, "client 2 from 1.900 s, who may have claimed it first"},
		{"the same, with a lease that was not over", OncePerTick, job,
			"A acquire [-50,499] attempt=498 tok=1000\nA release [520,521]\npause B [1,890]\nB acquire [-50,900] attempt=0 tok=1000\n" + second,
			Violated, 1, KindReplayed, ""},
		{"told of late, while another owns it", OncePerTick, job,
			"A acquire [-50,501] attempt=500 tok=1000\nA write [850,851]\npause B [1,790]\nB acquire [-50,800] attempt=0 tok=1000\n" +
				second + "A release [930,931]", Violated, 1, KindTwiceAfterLoss, ""},
		{"told of late by a stall of the machine", OncePerTick, job,
			"A acquire [-50,501] attempt=500 tok=1000\nA write [850,851]\nstall B [1,790]\nB acquire [-50,800] attempt=0 tok=1000\n" +
				second + "A release [930,931]", Inconclusive, 0, "", "a stall of this machine"},
		{"no tick is told", OncePerTick, job, "A acquire [-50,1]\nA release [2,3]", NotJudged, 0, "", "does not tell"},
		{"a tick is not told", OncePerTick, job, "A acquire [-50,1]\nA release [2,3]\nB acquire [-50,201] attempt=200 tok=1200\nB release [203,204]",
			Inconclusive, 0, "", "does not tell"},
		{"nothing ran", OncePerTick, job, "A acquire [-50,900] busy", NotJudged, 0, "", "No tick"},
	})
}

func TestOverlap(t *testing.T) {
	job := jobScript(nil)
	const first = "A acquire [-50,1] attempt=0 tok=1000\n"
	run(t, []propertyCase{
		{"one after the other", Overlap, job, orderly, Pass, 0, "", ""},
		{"while the first one owns it", Overlap, job,
			first + "A write [300,301]\nB acquire [-50,201] attempt=200 tok=1200\nB write [210,211]", Violated, 1, KindOverlapWhileOwned,
			"client 1 still acted at 1.300 s, and client 2 had begun at 1.201 s"},
		{"it ends as the next begins", Overlap, job,
			first + "A write [201,202]\nB acquire [-50,201] attempt=200 tok=1200\nB write [210,211]", Pass, 0, "", ""},
		{"it stood still until its lease was over", Overlap, job,
			first + "pause A [2,790]\nA write [800,801]\nB acquire [-50,601] attempt=600 tok=1600\nB write [610,611]", Violated, 1,
			KindOverlapAfterLoss, ""},
		{"it was claimed first, and told of when its lease was over", Overlap, job,
			"A acquire [-50,501] attempt=500 tok=1000\nA write [800,801]\npause B [1,690]\nB acquire [-50,700] attempt=0 tok=1000\nB write [710,711]",
			Violated, 1, KindOverlapAfterLoss, ""},
		{"it was told of its loss before", Overlap, job,
			first + "A lost [150]\nA write [300,301]\nB acquire [-50,201] attempt=200 tok=1200\nB write [210,211]", Violated, 1,
			KindOverlapAfterLoss, ""},
		{"the machine stood still", Overlap, job,
			first + "stall A [2,790]\nA write [800,801]\nB acquire [-50,601] attempt=600 tok=1600\nB write [610,611]", Inconclusive, 0, "",
			"a stall of this machine"},
		{"it begins as the lease of the other ends", Overlap, job,
			first + "A write [600,601]\nB acquire [-50,500] attempt=499 tok=1400\nB write [510,511]", Violated, 1, KindOverlapAfterLoss, ""},
		{"it begins as the other is told of its loss", Overlap, job,
			first + "A lost [201]\nA write [300,301]\nB acquire [-50,201] attempt=200 tok=1200\nB write [210,211]", Violated, 1,
			KindOverlapAfterLoss, ""},
		{"the other was told of its loss afterwards", Overlap, job,
			first + "A lost [250]\nA write [300,301]\nB acquire [-50,201] attempt=200 tok=1200\nB write [210,211]", Violated, 1,
			KindOverlapWhileOwned, ""},
		{"the other only read", Overlap, job,
			first + "A read [300,301]\nB acquire [-50,201] attempt=200 tok=1200\nB write [210,211]", Violated, 1, KindOverlapWhileOwned, ""},
		{"the other wrote as it began, and read afterwards", Overlap, job,
			first + "A write [201,202]\nA read [300,301]\nB acquire [-50,201] attempt=200 tok=1200\nB write [210,211]", Violated, 1,
			KindOverlapWhileOwned, ""},
		{"a renewal is no act of the application", Overlap, job,
			first + "A write [2,3]\nA renew [300,301]\nB acquire [-50,201] attempt=200 tok=1200\nB write [210,211]", Pass, 0, "", ""},
		{"acts that are answered in another order", Overlap, job,
			first + "A write [300,350]\nA read [300,360]\nA read [100,370]\nB acquire [-50,201] attempt=200 tok=1200\nB write [210,211]",
			Violated, 1, KindOverlapWhileOwned, "client 1 still acted at 1.300 s"},
		{"a stall and a fault", Overlap, job,
			first + "stall A [2,790]\npause A [3,500]\nA write [800,801]\nB acquire [-50,601] attempt=600 tok=1600\nB write [610,611]", Violated, 1,
			KindOverlapAfterLoss, ""},
		{"neither a stall nor a fault", Overlap, job,
			first + "A write [800,801]\nB acquire [-50,601] attempt=600 tok=1600\nB write [610,611]", Violated, 1, KindOverlapAfterLoss, ""},
		{"executions of two jobs", Overlap, job,
			first + "A write [300,301]\nB acquire [-50,201] attempt=200 tok=1200 key=k1\nB write [210,211] key=k1", Pass, 0, "", ""},
		{"an application that does nothing", Overlap, job,
			first + "A write [300,301]\nB acquire [-50,201] attempt=200 tok=1200", Pass, 0, "", ""},
		{"three beside each other", Overlap, job,
			first + "A write [300,301]\nB acquire [-50,101] attempt=100 tok=1200\nB write [290,291]\nC acquire [-50,201] attempt=200 tok=1400\nC write [210,211]",
			Violated, 3, KindOverlapWhileOwned, ""},
		{"it is allowed", Overlap, jobScript(func(c *history.Claims) { c.Overlap = true }),
			first + "A write [300,301]\nB acquire [-50,201] attempt=200 tok=1200\nB write [210,211]", NotJudged, 0, "", "may overlap"},
	})
}

func TestMissedTick(t *testing.T) {
	job := jobScript(nil)
	// B has lived for longer than a period.
	const lives = "B acquire [-450,-300] busy\n"
	const before = lives + "A acquire [-150,1] attempt=0 tok=1000\nA write [2,3]\nA release [4,5]\n"
	const after = "\nB acquire [-150,601] attempt=600 tok=1600\nB release [602,603]"
	run(t, []propertyCase{
		{"every tick is executed", MissedTick, job, orderly, Pass, 0, "", "4 ticks were due"},
		{"two are not", MissedTick, job, before + after, Violated, 2, "", "tick 1200 of k0 was due at 1.200 s and executed by nobody"},
		{"one is executed late, in the period of the next", MissedTick, job,
			before + "C acquire [-150,402] attempt=401 tok=1200\nC release [402,403]" + after, Pass, 0, "", ""},
		{"an instance that waited was frozen", MissedTick, job, before + "pause C [190,210]" + after, Pass, 0, "", ""},
		{"the service was disturbed a lease before", MissedTick, job, before + "service x [-400,-350]" + after, Violated, 1, "", "tick 1400"},
		{"the machine stood still", MissedTick, job, before + "stall B [300,390]" + after, Pass, 0, "", ""},
		{"a clock had been wrong", MissedTick, job, "fault clock-jump [-900,-890] on=D\n" + before + after, Pass, 0, "", ""},
		{"another execution went on", MissedTick, job,
			"A acquire [-150,1] attempt=0 tok=1000\nA write [2,3]\nA write [390,391]\nA release [500,501]" + after, Pass, 0, "", ""},
		{"another execution was never marked as done", MissedTick, job,
			"A acquire [-150,1] attempt=0 tok=1000\nA write [2,3]" + after, Pass, 0, "", ""},
		{"an instance died", MissedTick, job,
			before + "C acquire [-150,1] tok=800\nA exit [4]\nC exit [3]" + after, Pass, 0, "", ""},
		{"nobody waited for it all the time", MissedTick, job,
			before + "B acquire [-150,350] busy\nB acquire [560,601] attempt=600 tok=1600\nB release [602,603]", Pass, 0, "", ""},
		{"nobody waited for any", MissedTick, job, "A acquire [-50,1] attempt=0 tok=1000\nA release [2,3]", Inconclusive, 0, "",
			"No tick was due"},
		{"waits that follow each other are one", MissedTick, job,
			before + "B acquire [-150,250] busy\nB acquire [260,601] attempt=600 tok=1600\nB release [602,603]", Violated, 2, "", ""},
		{"a stall breaks a wait in two, if it is longer than stalls are", MissedTick, job,
			before + "B acquire [-150,250] busy\nB acquire [600,801] attempt=800 tok=1800\nB release [802,803]", Violated, 1, "", "tick 1600"},
		{"it waited for two jobs in turn", MissedTick, job,
			before + "B acquire [-150,350] busy\nB acquire [351,590] busy key=k1\nB acquire [591,650] busy", Pass, 0, "", ""},
		{"a wait that was perhaps never begun", MissedTick, job, before + "B acquire [200,401] info", Inconclusive, 0, "",
			"No tick was due"},
		{"a stall breaks a wait in two, if it is longer than stalls are, and not before", MissedTick, job,
			before + "B acquire [-150,250] busy\nB acquire [300,601] attempt=600 tok=1600\nB release [602,603]", Violated, 2, "", "tick 1200"},
		{"two waited for the same ticks", MissedTick, job,
			before + "C acquire [-150,590] busy\nB acquire [-150,790] busy", Violated, 2, "", "tick 1200"},
		{"who came last need not have begun it, and another waited for it, too", MissedTick, job,
			before + "C acquire [150,590] busy\nB acquire [-150,790] busy", Violated, 2, "", "tick 1200"},
		{"an instance that ended has a successor, which need not have begun the first one", MissedTick, job,
			before + "B acquire [-150,150] busy\nB exit [155]\nB acquire [170,600] busy proc=2", Violated, 1, "", "tick 1400"},
		{"its end is told when its successor waits", MissedTick, job,
			before + "A acquire [20,602] busy\nB acquire [-150,-1] busy proc=1\nB acquire [10,300] busy proc=2\nB exit [350] proc=1\nmark quiet [602]",
			Inconclusive, 0, "", "No tick was due"},
		{"it waited for just the period", MissedTick, job, before + "B acquire [200,400] busy", Violated, 1, "", "tick 1200"},
		{"its process first waited a period before", MissedTick, job, "A acquire [-50,-45] attempt=-50 tok=1000\nA write [-40,-39]\nA release [-38,-37]\nB acquire [0,400] busy", Violated, 1, "", "tick 1200"},
		{"its process first waited for anything later", MissedTick, job, "A acquire [-50,-45] attempt=-50 tok=1000\nA write [-40,-39]\nA release [-38,-37]\nB acquire [1,400] busy", Inconclusive, 0, "", "No tick was due"},
		{"it waited for less than the period", MissedTick, job, before + "B acquire [201,400] busy", Inconclusive, 0, "", "No tick was due"},
		{"and for less at the end", MissedTick, job, before + "B acquire [200,399] busy", Inconclusive, 0, "", "No tick was due"},
		{"one was executed without its number, at the last instant", MissedTick, job,
			before + "B acquire [200,401] busy\nC acquire [-150,400]\nC release [401,402]", Pass, 0, "", "2 ticks were due"},
		{"one was executed without its number, and it was due at that instant", MissedTick, job,
			before + "B acquire [200,401] busy\nC acquire [-150,200]\nC release [201,202]", Pass, 0, "", "2 ticks were due"},
		{"one was executed without its number, too late", MissedTick, job,
			before + "B acquire [200,401] busy\nC acquire [402,403]\nC release [404,405]", Violated, 1, "", ""},
		{"one without its number, claimed in time and told of too late", MissedTick, job,
			before + "B acquire [200,401] busy\nC acquire [395,403]\nC release [404,405]", Inconclusive, 0, "", "No tick was due"},
		{"another execution went on until the period began", MissedTick, job,
			lives + "A acquire [-150,1] attempt=0 tok=1000\nA write [2,3]\nA release [199,200]\nB acquire [200,401] busy", Inconclusive, 0, "", ""},
		{"and until just before", MissedTick, job,
			lives + "A acquire [-150,1] attempt=0 tok=1000\nA write [2,3]\nA release [198,199]\nB acquire [200,401] busy", Violated, 1, "", ""},
		{"another execution's lease ended before", MissedTick, job,
			lives + "A acquire [-150,1] attempt=0 tok=1000\nA write [2,3]\nB acquire [3000,3200] busy", Violated, 1, "", "tick 4000"},
		{"another execution had acted since", MissedTick, job,
			lives + "A acquire [-150,1] attempt=0 tok=1000\nA write [3100,3101]\nB acquire [3000,3200] busy", Inconclusive, 0, "", ""},
		{"a fault that had ended a lease and a period before", MissedTick, job,
			before + "B acquire [1000,1200] busy\npause C [200,299]", Violated, 1, "", ""},
		{"a fault that ended just that long before", MissedTick, job,
			before + "B acquire [1000,1200] busy\npause C [200,300]", Inconclusive, 0, "", ""},
		{"a cut link, whose packets may have come a lease before", MissedTick, job,
			before + "B acquire [1000,1200] busy\nfault partition [98,299] on=C links", Inconclusive, 0, "", "No tick was due"},
		{"a cut link, whose packets came earlier", MissedTick, job,
			before + "B acquire [1000,1200] busy\nfault partition [99,299] on=C links", Violated, 1, "", ""},
		{"a fault that began when the period was over", MissedTick, job,
			before + "B acquire [1000,1200] busy\npause C [1200,1300]", Inconclusive, 0, "", ""},
		{"a fault that began later", MissedTick, job, before + "B acquire [1000,1200] busy\npause C [1201,1300]", Violated, 1, "", ""},
		{"a clock went wrong when the period was over", MissedTick, job,
			before + "B acquire [1000,1200] busy\nfault clock-jump [1200,1300] on=D", NotJudged, 0, "", "A clock was wrong"},
		{"a clock went wrong later", MissedTick, job,
			before + "B acquire [1000,1200] busy\nfault clock-jump [1201,1300] on=D", Violated, 1, "", ""},
		{"an instance had died just a lease before", MissedTick, job,
			before + "C acquire [-150,1] tok=800\nC exit [500]\nB acquire [1000,1200] busy", Inconclusive, 0, "", ""},
		{"an instance had died earlier", MissedTick, job,
			before + "C acquire [-150,1] tok=800\nC exit [499]\nB acquire [1200,1400] busy", Violated, 1, "", ""},
		{"an instance died when the period was over", MissedTick, job,
			before + "C acquire [-150,1] tok=800\nB acquire [1200,1400] busy\nC exit [1400]", Inconclusive, 0, "", ""},
		{"an instance died later", MissedTick, job,
			before + "C acquire [-150,1] tok=800\nB acquire [1200,1400] busy\nC exit [1401]", Violated, 1, "", ""},
		{"the history began between two ticks", MissedTick, job.with(func(h *history.Header) { h.Started = time.UnixMilli(150) }),
			lives + "A acquire [-50,51] attempt=50 tok=1200\nA release [52,53]\nB acquire [200,500] busy", Violated, 1, "",
			"tick 1400 of k0 was due at 1.250 s"},
		{"ticks of two jobs", MissedTick, job,
			before + "C acquire [150,201] attempt=200 tok=1200 key=k1\nC release [202,203] key=k1\nB acquire [200,401] busy", Violated, 1, "",
			"tick 1200 of k0"},
		{"the workload winds down: who waits no more claims it, and tells nobody", MissedTick, job,
			before + "B acquire [200,401] busy\nmark quiet [402]", Inconclusive, 0, "", "No tick was due"},
		{"the workload winds down, and all had waited on", MissedTick, job,
			before + "A acquire [20,402] busy\nB acquire [200,401] busy\nmark quiet [402]", Violated, 1, "", "tick 1200"},
		{"the workload winds down, and one waited until just then", MissedTick, job,
			before + "A acquire [20,400] busy\nB acquire [200,401] busy\nmark quiet [402]", Violated, 1, "", "tick 1200"},
		{"the workload winds down, and who waits no more is dead", MissedTick, job,
			before + "A exit [30]\nB acquire [800,1001] busy\nmark quiet [1002]", Violated, 1, "", "tick 1800"},
		{"a clock had been wrong before each", MissedTick, job, "fault clock-jump [-900,-890] on=D\n" + before + "B acquire [10,601] attempt=600 tok=1600\nB release [602,603]",
			NotJudged, 0, "", "A clock was wrong"},
		{"nothing is claimed", MissedTick, jobScript(func(c *history.Claims) { c.Misfire = "" }), orderly, NotJudged, 0, "",
			"does not declare"},
	})
}

func TestStopDeadline(t *testing.T) {
	job := jobScript(nil)
	const first = "A acquire [-50,1] attempt=0 tok=1000\n"
	const end = "\nA release [900,901]"
	run(t, []propertyCase{
		{"all stop in time", StopDeadline, job, orderly, Pass, 0, "", "50"},
		{"within what it claims", StopDeadline, job, first + "A write [551,552]" + end, Pass, 0, "", "0.050 s after it at the latest"},
		{"later", StopDeadline, job, first + "A write [552,553]" + end, Violated, 1, KindRanOn,
			"client 1 wrote k0 at 1.552 s, 0.051 s after it had lost the execution of k0; it claims to stop within 0.050 s"},
		{"later than it was told", StopDeadline, job, first + "A lost [100]\nA write [151,152]" + end, Violated, 1, KindRanOn, ""},
		{"it was told, and stopped", StopDeadline, job, first + "A lost [100]\nA write [400,401] declined" + end, Pass, 0, "", ""},
		{"at the loss itself", StopDeadline, job, first + "A write [501,502]" + end, Pass, 0, "", "Of 0 executions"},
		{"the later of two", StopDeadline, job, first + "A write [531,532]" + end +
			"\nB acquire [-50,601] attempt=600 tok=1600\nB write [1111,1112]\nB release [1113,1114]", Pass, 0, "",
			"Of 2 executions that ended after a loss, the last effect came 0.030 s after it at the latest"},
		{"its application stood still, and not its scheduler", StopDeadline, job,
			first + "fault freeze [10,790] on=A aside\nA write [800,801]" + end, Violated, 1, KindWokeLate, ""},
		{"its application stood still, and the machine", StopDeadline, job,
			first + "fault freeze [10,790] on=A aside\nstall A [10,20]\nA write [800,801]" + end, Violated, 1, KindWokeLate, ""},
		{"its application had stood still before", StopDeadline, job,
			first + "fault freeze [-200,-100] on=A aside\nA write [800,801]" + end, Violated, 1, KindRanOn, ""},
		{"it stood still afterwards", StopDeadline, job, first + "A write [800,801]\npause A [810,820]" + end, Violated, 1, KindRanOn, ""},
		{"another stood still", StopDeadline, job, first + "pause B [10,790]\nA write [800,801]" + end, Violated, 1, KindRanOn, ""},
		{"a late read has no effect", StopDeadline, job, first + "A read [800,801]" + end, Pass, 0, "", "Of 0 executions"},
		{"a write that is refused has none", StopDeadline, job, first + "A write [800,801] refused" + end, Pass, 0, "", "Of 0 executions"},
		{"one of unknown fate may have one", StopDeadline, job, first + "A write [800,801] info start=800" + end, Violated, 1, KindRanOn, ""},
		{"an older write is told of later", StopDeadline, job, first + "A write [552,700]\nA write [400,701]" + end, Violated, 1, KindRanOn,
			"wrote k0 at 1.552 s"},
		{"it was frozen", StopDeadline, job, first + "pause A [10,790]\nA write [800,801]" + end, Violated, 1, KindWokeLate, ""},
		{"the machine stood still", StopDeadline, job, first + "stall A [10,790]\nA write [800,801]" + end, Inconclusive, 0, "",
			"a stall of this machine"},
		{"nothing is claimed", StopDeadline, jobScript(func(c *history.Claims) { c.Stops = 0 }), orderly, NotJudged, 0, "", "does not declare"},
	})
}

func TestHandover(t *testing.T) {
	job := jobScript(nil)
	const dies = "A acquire [-50,1] attempt=0 tok=1000\nkill A [10,12]\nA exit [12]\n"
	run(t, []propertyCase{
		{"another goes on", Handover, job, dies + "B acquire [-50,601] attempt=600 tok=1600\nB release [602,603]", Pass, 0, "", ""},
		{"nobody goes on", Handover, job, dies + "B acquire [-50,2000] busy", Violated, 1, "",
			"client 1 died at 1.012 s while it executed k0, and by 1.912 s no other instance had executed it, though client 2 waited for it."},
		{"another goes on too late", Handover, job, dies + "B acquire [-50,914] attempt=913 tok=1800\nB release [914,915]", Violated, 1, "", ""},
		{"at the last instant", Handover, job, dies + "B acquire [-50,912] attempt=911 tok=1800\nB release [914,915]", Pass, 0, "", ""},
		{"the other was disturbed", Handover, job, dies + "pause B [500,510]\nB acquire [-50,2000] busy", Inconclusive, 0, "", "After no death"},
		{"the service was disturbed", Handover, job, dies + "service x [500,510]\nB acquire [-50,2000] busy", Inconclusive, 0, "", ""},
		{"the machine stood still, and the rest is not twice the bound", Handover, job,
			dies + "stall B [500,600]\nB acquire [-50,1900] busy", Inconclusive, 0, "", ""},
		{"the machine stood still, and the rest is twice the bound", Handover, job,
			dies + "stall B [500,600]\nB acquire [-50,2000] busy", Violated, 1, "", ""},
		{"the machine stood still, and the rest is twice the bound to the instant", Handover, job,
			dies + "stall B [500,600]\nB acquire [-50,1912] busy", Inconclusive, 0, "", ""},
		{"the machine stood still, as did the service, and the rest is not twice the bound", Handover, job,
			dies + "stall B [500,600]\nservice x [700,800] +own\nB acquire [-50,2000] busy", Inconclusive, 0, "", ""},
		{"it was disturbed when the wait was over, within twice the bound", Handover, job,
			dies + "B acquire [-50,1000] busy\npause B [1500,1510]", Violated, 1, "", ""},
		{"it was disturbed long after", Handover, job, dies + "B acquire [-50,9000] busy\npause B [5000,5010]", Violated, 1, "", ""},
		{"it waited for just the claimed time", Handover, job, dies + "B acquire [-50,912] busy", Inconclusive, 0, "", "After no death"},
		{"it waited for less", Handover, job, dies + "B acquire [-50,800] busy", Inconclusive, 0, "", "After no death"},
		{"one of two waited for less", Handover, job, dies + "C acquire [-50,2000] busy\nB acquire [-40,800] busy", Violated, 1, "",
			"though client 3 waited"},
		{"one of two stood still", Handover, job,
			dies + "stall B [500,600]\nC acquire [-50,2000] busy\nB acquire [-40,1900] busy", Violated, 1, "", "though client 3 waited"},
		{"two waited", Handover, job, dies + "C acquire [-50,2000] busy\nB acquire [-40,2000] busy", Violated, 1, "",
			"though client 2 waited"},
		{"another told of its execution late", Handover, job,
			dies + "B acquire [-50,950] attempt=700 tok=1600\nB release [951,952]\nC acquire [-50,2000] busy", Inconclusive, 0, "",
			"After no death"},
		{"another had executed it before", Handover, job,
			"B acquire [-50,-2] attempt=-3 tok=800\nB release [-2,-1]\n" + dies + "C acquire [-50,2000] busy", Violated, 1, "", ""},
		{"another began as it died", Handover, job,
			dies + "B acquire [-50,12] attempt=2 tok=1000\nB release [13,14]\nC acquire [-50,2000] busy", Violated, 1, "", ""},
		{"the other executed the job, and was not yet waiting again", Handover, job,
			dies + "B acquire [-50,5] attempt=4 tok=800\nB release [6,8]\nB acquire [20,2000] busy", Inconclusive, 0, "", "After no death"},
		{"the other was between two waits", Handover, job,
			"B acquire [-50,10] busy\nA acquire [-50,11] attempt=0 tok=1000\nkill A [11,12]\nA exit [12]\nB acquire [20,2000] busy",
			Violated, 1, "", ""},
		{"it had marked its execution as done", Handover, job,
			"A acquire [-50,1] attempt=0 tok=1000\nA release [2,3]\nA exit [12]\nB acquire [-50,2000] busy", NotJudged, 0, "", "No instance died"},
		{"it came back, and died again before it executed anything", Handover, job,
			dies + "A exit [300] proc=11\nB acquire [-50,2300] busy", Violated, 1, "", "client 1 died at 1.012 s"},
		{"it came back and executed the job itself", Handover, job,
			dies + "A acquire [100,601] attempt=600 tok=1600 proc=11\nA release [602,603] proc=11\nB acquire [-50,2000] busy",
			Inconclusive, 0, "", "After no death"},
		{"it came back, and another was in time", Handover, job,
			dies + "A acquire [100,601] attempt=600 tok=1600 proc=11\nA release [602,603] proc=11\nB acquire [-50,801] attempt=800 tok=1800\nB release [802,803]",
			Pass, 0, "", ""},
		{"it came back, and too late", Handover, job,
			dies + "A acquire [100,1001] attempt=1000 tok=2000 proc=11\nA release [1002,1003] proc=11\nB acquire [-50,2000] busy",
			Violated, 1, "", ""},
		{"a cut link before it died, whose packets may have come since", Handover, job,
			"fault partition [-400,-199] on=C links\n" + dies + "B acquire [-50,2000] busy", Inconclusive, 0, "", "After no death"},
		{"a cut link, whose packets came before", Handover, job,
			"fault partition [-400,-205] on=C links\n" + dies + "B acquire [-50,2000] busy", Violated, 1, "", ""},
		{"nobody but the dead one seems to have waited", Handover, job, dies + "A acquire [-40,2000] info start=-40", Inconclusive, 0, "", ""},
		{"nobody waited", Handover, job, dies + "B acquire [500,2000] busy", Inconclusive, 0, "", "After no death"},
		{"nobody died", Handover, job, orderly, NotJudged, 0, "", "No instance died"},
		{"nothing is claimed", Handover, jobScript(func(c *history.Claims) { c.Handover = 0 }), orderly, NotJudged, 0, "", "does not declare"},
	})
}

// TestJobsAndLocks: a verdict on a job judges none of the properties of locks, and one on a lock
// does not mention those of jobs.
func TestJobsAndLocks(t *testing.T) {
	v := jobScript(nil).judge(t, orderly)
	for _, r := range v.Properties {
		ends := r.Name == Handover || r.Name == ReleasedOnStop
		if judged := r.Outcome != NotJudged; judged != Named(r.Name).ofJobs && r.Name != LostUpdate && !ends {
			t.Errorf("%s: %v, %s", r.Name, r.Outcome, r.Why)
		}
	}
	if v.Outcome != Pass {
		t.Errorf("%v: %v", v.Outcome, v.Reasons)
	}
	v = plainLock().judge(t, "A acquire [0,1]\nA release [10,11]"+probeText)
	if r := v.Property(OncePerTick); r != nil {
		t.Errorf("%+v", r)
	}
}

// TestJobHostile: a period of a millisecond over a long history ends the search for ticks.
func TestJobHostile(t *testing.T) {
	s := jobScript(nil).with(func(h *history.Header) { h.Every = ms })
	v := s.judge(t, "A acquire [0,1] tok=1001\nA release [2,3]\nB acquire [0,3000000] busy\npause B [0,3000000]")
	if r := v.Property(MissedTick); r.Outcome != Inconclusive || !strings.Contains(r.Why, "more than 1048576 ticks") {
		t.Errorf("%v: %s", r.Outcome, r.Why)
	}
	cut := jobScript(nil)
	cut.cut = true
	v = cut.judge(t, orderly)
	if r := v.Property(OncePerTick); r.Outcome != Inconclusive {
		t.Errorf("a history that was cut: %v", r.Outcome)
	}
}

// ofLocks are the names of the properties that locks are judged by: the histories of TestAnyJob
// are for the others.
func ofLocks() (names []string) {
	for _, p := range properties {
		if !p.ofJobs && !p.ofStops {
			names = append(names, p.Name)
		}
	}
	return names
}

// TestOverlapsThatAreDeclared: what executions that may overlap do to each other's writes is not
// held against the scheduler.
func TestOverlapsThatAreDeclared(t *testing.T) {
	const beside = "A acquire [-50,1] attempt=0 tok=1000\nA read [2,3]\nB acquire [-50,201] attempt=200 tok=1200\nB read [202,203]\nB write [210,211]\n" +
		"B release [212,213]\nA write [300,301]\nA release [302,303]"
	for overlap, want := range map[bool]Outcome{false: Violated, true: NotJudged} {
		t.Run(fmt.Sprint(overlap), func(t *testing.T) {
			v := jobScript(func(c *history.Claims) { c.Overlap = overlap }).judge(t, beside)
			if r := v.Property(LostUpdate); r.Outcome != want {
				t.Errorf("%v: %s", r.Outcome, r.Why)
			}
		})
	}
}

// TestAnyJob: whatever a history of a job says, what is told of it is what is counted.
func TestAnyJob(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(rounds(1_000)) {
		lock, text := anyHistory(seed)
		job := jobScript(func(c *history.Claims) {
			c.Job = [...]string{history.AtMostOnce, history.AtLeastOnce}[seed%2]
			c.Stops, c.Handover, c.StopHandover = ms, 2*ms, ms
		})
		job.header.TTL, job.header.Every, job.header.Stall, job.header.Translated = 5*ms, 3*ms, ms, false
		job.cut, job.noLedger = lock.cut, lock.noLedger
		told := map[string]int{}
		v := Judge(job.history(text), Options{Keep: 3, OnViolation: func(v Violation) { told[v.Property]++ }})
		for i := range v.Properties {
			r := &v.Properties[i]
			seen[r.Name+" "+r.Outcome.String()]++
			if told[r.Name] != r.Count || len(r.Violations) != min(3, r.Count) ||
				r.Why == "" && (r.Outcome == Inconclusive || r.Outcome == NotJudged) {
				t.Errorf("history %d: told of %d: %+v\n%s", seed, told[r.Name], r, text)
			}
		}
	}
	for _, name := range []string{OncePerTick, Overlap, MissedTick, StopDeadline} {
		if seen[name+" violated"] == 0 || seen[name+" inconclusive"] == 0 {
			t.Errorf("the histories are too much alike: %s: %v", name, seen)
		}
	}
}
