package checker

import (
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
			Stops: 50 * ms, Handover: 700 * ms}
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
	const before = "A acquire [-150,1] attempt=0 tok=1000\nA write [2,3]\nA release [4,5]\n"
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
			"client 1 died at 1.012 s while it executed k0, and by 1.912 s no other instance had executed it"},
		{"another goes on too late", Handover, job, dies + "B acquire [-50,914] attempt=913 tok=1800\nB release [914,915]", Violated, 1, "", ""},
		{"at the last instant", Handover, job, dies + "B acquire [-50,912] attempt=911 tok=1800\nB release [914,915]", Pass, 0, "", ""},
		{"the other was disturbed", Handover, job, dies + "pause B [500,510]\nB acquire [-50,2000] busy", Inconclusive, 0, "", "After no death"},
		{"the service was disturbed", Handover, job, dies + "service x [500,510]\nB acquire [-50,2000] busy", Inconclusive, 0, "", ""},
		{"the machine stood still, and the rest is not twice the bound", Handover, job,
			dies + "stall B [500,600]\nB acquire [-50,1900] busy", Inconclusive, 0, "", ""},
		{"the machine stood still, and the rest is twice the bound", Handover, job,
			dies + "stall B [500,600]\nB acquire [-50,2000] busy", Violated, 1, "", ""},
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
		if judged := r.Outcome != NotJudged; judged != Named(r.Name).ofJobs && r.Name != LostUpdate && r.Name != Handover {
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
	if r := v.Property(MissedTick); r.Outcome == Pass {
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
		if !p.ofJobs {
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
		v := jobScript(func(c *history.Claims) { c.Overlap = overlap }).judge(t, beside)
		if r := v.Property(LostUpdate); r.Outcome != want {
			t.Errorf("overlap %v: %v: %s", overlap, r.Outcome, r.Why)
		}
	}
}

// TestAnyJob: whatever a history of a job says, what is told of it is what is counted.
func TestAnyJob(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(rounds(1_000)) {
		lock, text := anyHistory(seed)
		job := jobScript(func(c *history.Claims) {
			c.Job = [...]string{history.AtMostOnce, history.AtLeastOnce}[seed%2]
			c.Stops, c.Handover = ms, 2*ms
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
