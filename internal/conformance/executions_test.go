package conformance

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/adapter/skeleton"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// ofKind is a bench for an adapter of the kind.
func ofKind(t testing.TB, kind, service, command string, ttl time.Duration) *Bench {
	b := bench(t, service, command, ttl)
	if b.Kind = kind; kind == adapter.KindJob {
		b.Every = ttl / 4
	}
	return b
}

// TestSkeletonsOfKinds: the schedulers and elections that `adapter new` writes pass as they are.
func TestSkeletonsOfKinds(t *testing.T) {
	needed.Apart(t, "TestSkeletons stands for other programs")
	for kind, checks := range map[string][]check{adapter.KindJob: jobChecks, adapter.KindLeader: leaderChecks} {
		for _, l := range skeleton.Languages() {
			t.Run(kind+"/"+l.Name, func(t *testing.T) {
				t.Parallel()
				needPrograms(t, l.Needs...)
				l := l.Of(kind)
				b := ofKind(t, kind, "redis", l.Command, time.Second)
				b.Dir = built(t, l)
				conforms(t, b, checks)
			})
		}
	}
}

// TestExamplesOfKinds: real schedulers and elections, on their real services.
func TestExamplesOfKinds(t *testing.T) {
	needed.Apart(t, "TestSkeletons stands for other programs")
	programs := t.TempDir()
	needGo := goLocks(t, programs)
	// gocron's locker forgets a tick when its execution ends (docs/jobs.md).
	gocron := slices.DeleteFunc(slices.Clone(jobChecks), func(c check) bool { return c.name == "executes no tick twice" })
	for _, e := range []struct {
		name, kind, service, command string
		ttl                          time.Duration
		need                         func(testing.TB)
		checks                       []check
	}{
		{"redis-py", adapter.KindJob, "redis", "python3 jobs/cron.py", time.Second,
			func(t testing.TB) { needModule(t, "redis") }, jobChecks},
		{"BullMQ", adapter.KindJob, "redis", "node jobs/bullmq.js", time.Second,
			func(t testing.TB) { needNodeModule(t, "bullmq") }, jobChecks},
		{"gocron", adapter.KindJob, "redis", programs + "/gocron", time.Second, needGo, gocron},
		{"leader of redis-py", adapter.KindLeader, "redis", "python3 jobs/leader.py", time.Second,
			func(t testing.TB) { needModule(t, "redis") }, leaderChecks},
		{"client-go", adapter.KindLeader, "kubernetes", programs + "/elector", 2 * time.Second, func(t testing.TB) {
			needed.Later(t, "kube-apiserver is built from source")
			build := exec.Command("go", "build", "-trimpath", "-o", programs+"/elector", ".")
			build.Dir = filepath.Join(examples(t), "client-go")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}, leaderChecks},
	} {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			e.need(t)
			clienttest.Calmly(t, stall, func(t testing.TB) {
				b := ofKind(t, e.kind, e.service, e.command, e.ttl)
				b.Dir = examples(t)
				conforms(t, b, e.checks)
			})
		})
	}
}

// TestMutantsOfKinds: a scheduler, or an election, with one mistake, and the check that tells it.
func TestMutantsOfKinds(t *testing.T) {
	needed.Apart(t, "TestMutants stands for other programs")
	needPrograms(t, "python3")
	const job, leader = adapter.KindJob, adapter.KindLeader
	const going = `going.pop(request["run"], None)`
	for _, m := range []struct {
		name, kind, from, to, check string
		outcome                     Outcome
		want                        string
	}{
		{"a lock", job, `"job": "at-most-once",`, ``, hello, Broke, `without "job"`},
		{"another kind", leader, `"leader": True,`, ``, hello, Broke, `did not declare "leader"`},
		{"says ok to anything", job, `elif op != "close":`, `elif False:`, "declares that an op is unsupported", Failed, "it said ok"},
		{"never begins", job, `if claimed:`, `if False:`, tellingWork, Failed, "no execution began"},
		{"tells of no end", job, `        work.done()`, `        pass`, tellingWork, Failed, "has not told of its end"},
		{"tells of no end of a term", leader, `return term.done()`, `return`, tellingWork, Failed, "has not told of its end"},
		{"one name", job, `self.run, self.over = os.urandom(8).hex(),`, `self.run, self.over = "mine",`, tellingWork, Failed, "was told of before"},
		{"tells of it twice", job, `        send({"event": "run", "run": self.run, **more})`,
			`        for _ in range(2): send({"event": "run", "run": self.run, **more})`, tellingWork, Failed, "was told of before"},
		{"seconds", job, `Work(tick=tick,`, `Work(tick=tick // 1000,`, tellingWork, Failed, "which is in seconds"},
		{"microseconds", job, `Work(tick=tick,`, `Work(tick=tick * 1000,`, tellingWork, Failed, "which is in microseconds"},
		{"nanoseconds", job, `Work(tick=tick,`, `Work(tick=tick * 1000000,`, tellingWork, Failed, "which is in nanoseconds"},
		{"a number", job, `Work(tick=tick,`, `Work(tick=tick // self.every,`, tellingWork, Failed, "far from now"},
		{"when it ran", job, `Work(tick=tick,`, `Work(tick=tick + 1,`, tellingWork, Failed, "no whole multiple"},
		{"too early", job, `Work(tick=tick,`, `Work(tick=tick + 60 * self.every,`, tellingWork, Failed, "not due yet"},
		{"the wrong clock", job, `now_ns = time.monotonic_ns`, `now_ns = time.time_ns`, tellingWork, Failed, "attempt_ns"},
		{"no stamps", leader, `Work(attempt_ns=began)`, `Work()`, "tells when it won the election", NotApplicable, "without attempt_ns"},
		{"no ticks", job, `Work(tick=tick, `, `Work(`, "executes no tick twice", NotApplicable, "without a tick"},
		{"does not wait", job, `        work.wait()`, `        pass`, tellingWork, Failed, "was not told to end it"},
		{"waits for a while", job, `work.wait()`, `work.wait(0.1)`, tellingWork, Failed, "was not told to end it"},
		{"does not know its work", job, going, `None`, tellingWork, Failed, "while it was going on"},
		{"forgets nothing", job, going, `going.get(request["run"])`, "refuses a go for what is over", Passed, ""},
		{"says ok to all", job, `reply.update(ok=False, error="not_held")`, `pass`, "refuses a go for what is over", Failed, "for the second time"},
		{"leaves it open", leader, `reply.update(ok=False, error="not_held")`, `reply.update(ok=False, error="unknown")`,
			"refuses a go for a term that is over", NotShown, `says "unknown"`},
		{"all execute it", job, `if claimed:`, `if True:`, "executes no tick twice", Failed, "nothing was disturbed"},
		{"overlaps", job, `"overlap": True,`, ``, "executes one tick at a time", Failed, "had not ended"},
		{"all lead", leader, `'NX', `, ``, "has one leader at a time", Failed, "had not ended"},
		{"no expiry", leader, `'NX', 'PX', ARGV[2])`, `'NX')`, "goes on when the leader dies", Failed, "no term began"},
		{"one key for all ticks", job, `[f"cron:{tick}"], [self.client, MEMORY_MS]`, `["cron"], [self.client, MEMORY_MS]`, tellingWork, Failed, "no execution began"},
		{"tells of no loss", leader, `        term.lost("the lease is over")`, `        pass`,
			"tells of a term that ended while it was frozen", Failed, "did not tell within"},
		{"notices it alone", leader, `"leader": True,`, `"leader": True, "notices": "alone",`,
			"notices by its own clock that it is cut off", Passed, ""},
		{"notices nothing alone", leader, `(until - now_ns()) / 1e9`, `60`,
			"notices by its own clock that it is cut off", Failed, "did not tell within"},
		{"marks it before it answers", job, `            if work is None:`,
			`            mine.redis.eval(MARK, ["x"], ["y"], time.monotonic() + 9)
            if work is None:`, "answers while the service is frozen, and goes on", Broke, "has not answered go"},
		{"does not end", leader, `    main(Candidate)`, "    main(Candidate)\n    time.sleep(100)", "closes and ends", Failed, "it did not end within"},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			swap := []string{m.from, m.to}
			switch m.name {
			case "notices nothing alone":
				swap = append(swap, `"leader": True,`, `"leader": True, "notices": "alone",`)
			case "no expiry": // nor does a renewal give one
				swap = append(swap, `redis.call('PEXPIRE', KEYS[1], ARGV[2])`, `1`)
			}
			path := changed(t, m.kind, swap...)
			clienttest.Calmly(t, stall, func(t testing.TB) {
				b := ofKind(t, m.kind, "redis", "python3 "+path, time.Second)
				b.Slack = 3 * time.Second // what never comes need not be waited for
				wanted := []string{hello, tellingWork}
				if m.check != hello && m.check != tellingWork {
					wanted = append(wanted, m.check)
				}
				var got *Result
				all := map[string][]check{job: jobChecks, leader: leaderChecks}[m.kind]
				err := run(t.Context(), b, someOf(t, all, wanted...), func(r Result) {
					if r.Check == m.check {
						got = &r
					} else if r.Outcome != Passed {
						t.Errorf("%+v", r)
					}
				})
				if err != nil || got == nil {
					t.Fatalf("%+v, %v", got, err)
				}
				if got.Outcome != m.outcome || !strings.Contains(got.Text, m.want) {
					t.Errorf("%s: %s\n%s\nwant %s: %s", got.Outcome, got.Text, strings.Join(got.Exchange, "\n"), m.outcome, m.want)
				}
			})
		})
	}
}

// TestWrongTick: a tick at the edges of what is right.
func TestWrongTick(t *testing.T) {
	const now, every = 1_795_816_584_100, 500
	for tick, want := range map[int64]string{
		0: "", now - 100: "", now - 600: "", now: "no whole multiple", now + 400: "not due yet",
		now / 1000: "seconds", now * 1000: "microseconds", now * 1_000_000: "nanoseconds", 7: "far from now",
	} {
		if got := wrongTick(tick, now, every); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%d: %q, want %q", tick, got, want)
		}
	}
}
