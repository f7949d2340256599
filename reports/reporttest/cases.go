package reporttest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/reports"
)

// OfOneCause is a suite in which ten scenarios failed because of one refusal, on
// hosts of their own, two were skipped for one reason, and one failed otherwise.
func OfOneCause() reports.Suite {
	var s reports.Suite
	for i := range 10 {
		s.Scenarios = append(s.Scenarios, reports.Scenario{Name: fmt.Sprintf("redis-setnx/hold-%c/unfenced", 'a'+i),
			Lock: "redis-setnx", Fault: "hold", Store: "unfenced",
			Dir: fmt.Sprint(i), Rerun: fmt.Sprintf("lockchaos run %d", i),
			Failed: fmt.Sprintf("close the packet filter of host client-%d: open /proc/thread-self/net/nfnetlink_queue: permission denied\nand more of client-%d", i, i)})
	}
	s.Scenarios[3].Verdict = checker.Verdict{Outcome: checker.Violated,
		Properties: []checker.PropertyResult{{Name: checker.UnfencedWrite, Outcome: checker.Violated}}}
	for _, name := range []string{"a", "b"} {
		s.Scenarios = append(s.Scenarios, reports.Scenario{Name: "redlock/cut-" + name,
			Skipped: "packet queue: no such file; to do: modprobe it"})
	}
	s.Scenarios = append(s.Scenarios, reports.Scenario{Name: "etcd-lease/other",
		Failed: "node etcd-1: it ended: exit status 7"})
	return s
}

// Hostile is what a program under test may print to break out of a page.
const Hostile = "</title><script>alert(1)</script>\"'><img src=http://192.0.2.1/x onerror=alert(1)>\u202eevil\u2066\x1b[2J\x00&lt;"

func Scenario(name string, h *history.History, v checker.Verdict) reports.Scenario {
	part := strings.Split(name, "/")
	s := reports.Scenario{Name: name, Lock: part[0], Service: "redis ×1", Fault: part[1], Store: part[2],
		Dir: strings.ReplaceAll(name, "/", "."), Seed: 7, Verdict: v, History: h, Met: true,
		Rerun:   "lockchaos run " + name + " --seed 7",
		Recheck: "lockchaos check runs/2026-11-20T21-30-04/" + strings.ReplaceAll(name, "/", ".") + "/history.jsonl",
		Elapsed: 6100 * time.Millisecond, Run: "quick, 2026-11-20 21:30", Runtime: "private network, Linux 6.18",
		Version: "0.1.0"}
	s.Strike = map[string]reports.Strike{"pause-holder": reports.FreezesHolder,
		"pause-after-check": reports.FreezesAfterCheck, "kill-holder": reports.KillsHolder}[s.Fault]
	if strings.HasPrefix(name, "etcd") {
		s.Service = "etcd ×3"
	}
	for _, p := range v.Properties {
		s.Expect = append(s.Expect, reports.Expectation{Property: p.Name, Want: p.Outcome.String(),
			Got: p.Outcome.String(), Met: true})
	}
	return s
}

func PassCase() reports.Scenario {
	h, v := Sim{Clients: 4, Duration: 3000 * Ms, Tokens: true, Fenced: true}.Run()
	s := Scenario("redis-setnx-fenced/none/fenced", h, v)
	s.About = "nothing is disturbed (the control)"
	s.Why = "Nothing disturbs clients, network or service, so every holder is done long before its lease is over."
	return s
}

func CorruptedCase() reports.Scenario {
	h, v := Sim{Clients: 4, Duration: 6000 * Ms, Freezes: 4}.Run()
	s := Scenario("redis-setnx/pause-holder/unfenced", h, v)
	s.About = "the holder is frozen past its lease, between read and write"
	Explain(&s)
	s.Why = "The holder cannot see its lease run out while it is frozen. This lock issues no fencing token, so nothing could stop the late write."
	return s
}

// Explain adds what the checker and the search for witnesses find in a run of frozen holders.
func Explain(s *reports.Scenario) {
	g := checker.PatternGroup{Pattern: checker.PatternPaused, Says: checker.PatternSays(checker.PatternPaused)}
	for i := range s.Verdict.Properties {
		p := &s.Verdict.Properties[i]
		if p.Outcome != checker.Violated {
			continue
		}
		for j := range p.Violations {
			p.Violations[j].Pattern = g.Pattern
		}
		g.Counts = append(g.Counts, checker.PropertyCount{Property: p.Name, Count: p.Count})
	}
	s.Verdict.Patterns = []checker.PatternGroup{g}
	const each = time.Millisecond
	s.Verdict.Stats.Timings = []checker.Timing{{What: checker.TimeWait, Count: 120, P50: 40 * each, P95: 300 * each,
		P99: 480 * each, Max: 500 * each},
		{What: checker.TimeHold, Count: 120, P50: 14 * each, P95: 25 * each, P99: 920 * each, Max: 921 * each}}
	bare := *s
	bare.History = nil // the verdict alone tells of the holders
	holders := int64(bare.Noted().Holders)
	low, high := checker.Wilson(holders, 120)
	s.Verdict.Stats.Overlapped = checker.Rate{Count: holders, Of: 120, Low: low, High: high}
	s.Verdict.Stats.WaitersMax = 3
	v := reports.Told(*s)
	s.Witnesses = []reports.Witness{{Property: v.Property, At: v.At, File: "witness." + v.Property + ".jsonl",
		Ops: len(v.Ops), Of: 480, Kept: v.Ops, Minimal: true,
		Recheck: "lockchaos check runs/2026-11-20T21-30-04/" + s.Dir + "/witness." + v.Property + ".jsonl"}}
}

func ContainedCase() reports.Scenario {
	h, v := Sim{Clients: 4, Duration: 6000 * Ms, Freezes: 4, Tokens: true, Fenced: true}.Run()
	s := Scenario("redis-setnx-fenced/pause-holder/fenced", h, v)
	s.Why = "The store has seen a greater token by the time the late write arrives, and refuses it."
	return s
}

func InconclusiveCase() reports.Scenario {
	h, v := Sim{Clients: 2, Duration: 400 * Ms, Tokens: true}.Run()
	v.Outcome = checker.Inconclusive
	v.Properties = []checker.PropertyResult{{Name: checker.MutualExclusion, Why: "the fault did not bite"},
		{Name: checker.StuckLock, Outcome: checker.Pass}}
	v.Reasons = []string{"No pause met a holder: the scenario needs 2.", "The history was cut after line 118."}
	v.Truncated = true
	v.Stats.Faults = []checker.FaultStats{{Plan: 1, Planned: PlannedPause, Kind: "pause", Target: "holder",
		When: "random", Injected: true, Begun: 2},
		{Plan: 2, Planned: "for 1s, after 2m0s", Kind: "partition", Target: "minority", When: "random", Injected: true}}
	h.Header.Fault = "pause-holder"
	h.Header.Needs.Bites = 2
	s := Scenario("etcd-lease/pause-holder/unfenced", h, v)
	s.Met = false
	s.Expect = []reports.Expectation{{Property: checker.MutualExclusion, Want: "violated", Got: "inconclusive"}}
	return s
}

// ClockCase is a quiet run under faults of the clocks of a server and of a client.
func ClockCase() reports.Scenario {
	h, v := Sim{Clients: 2, Duration: 1600 * Ms, Tokens: true}.Run()
	id := 0
	fault := func(f history.FaultInfo, from, to int64, host string, pid int, shown func(at int64) (wall, mono int64)) {
		id++
		f.ID, f.Plan, f.Phase, f.When, f.Injected = id, id, "begin", "random", true
		begin := f
		f.Phase, f.From, f.To, f.Bit, f.Evidence = "end", from, to, true, "the clock of "+host+" was wrong"
		read := func(at int64, step string) {
			wall, mono := shown(at)
			f.Clocks = append(f.Clocks, history.ClockReading{At: at, Host: host, PID: pid, Wall: wall, Mono: mono,
				Step: step})
		}
		read(from-Ms, "before")
		read(from, "begin")
		for at := from + 10*Ms; at < to; at += 10 * Ms {
			read(at, "")
		}
		read(to, "end")
		read(to+Ms, "healed")
		h.Header.Faults = append(h.Header.Faults, history.PlannedFault{Kind: f.Kind, Target: f.Target, When: f.When})
		v.Stats.Faults = append(v.Stats.Faults, checker.FaultStats{Plan: id, Kind: f.Kind, Target: f.Target,
			When: f.When, Injected: true, Begun: 1, Bit: 1, Evidence: f.Evidence})
		last := len(h.Events) - 1
		h.Events = append(h.Events[:last:last], history.Event{Time: from, Type: history.Fault, Fault: &begin},
			history.Event{Time: to + 2*Ms, Type: history.Fault, Fault: &f}, h.Events[last])
	}
	inside := func(from, to, at int64) bool { return at >= from && at <= to }
	fault(history.FaultInfo{Kind: "clock-jump", Target: "redis-1", Service: true}, 200*Ms, 600*Ms, "redis-1", 33,
		func(at int64) (int64, int64) {
			if inside(200*Ms, 600*Ms, at) {
				return int64(time.Hour), 0
			}
			return 0, 0
		})
	fault(history.FaultInfo{Kind: "clock-strobe", Target: "holder", Clients: []int32{2}}, 400*Ms, 500*Ms, "client-2",
		70, func(at int64) (int64, int64) {
			if inside(400*Ms, 500*Ms, at) && at/(10*Ms)%2 == 0 {
				return -30e9, 0
			}
			return 0, 0
		})
	fault(history.FaultInfo{Kind: "clock-rate", Target: "holder", Clients: []int32{2}}, 800*Ms, 1200*Ms, "client-2", 70,
		func(at int64) (int64, int64) {
			return 0, 4 * (min(max(at, 800*Ms), 1200*Ms) - 800*Ms)
		})
	h.Header.Fault = "clock-jump-redis-1-wall"
	return Scenario("redis-setnx-fenced/clock-jump-redis-1-wall/unfenced", h, v)
}

func FailedCase() reports.Scenario {
	s := Scenario("etcd-lease/none/fenced", nil, checker.Verdict{})
	s.Met, s.Expect = false, nil
	s.Failed = "start etcd-2 on 10.88.0.4: not ready after 10 s: connection refused\n  its log: logs/etcd-2.log\n  next: lockchaos doctor"
	return s
}

func SkippedCase() reports.Scenario {
	s := Scenario("etcd-lease/none/unfenced", nil, checker.Verdict{})
	s.Met, s.Expect = false, nil
	s.Skipped = "the kernel refuses user namespaces: set kernel.unprivileged_userns_clone=1"
	return s
}

// SurpriseCase is a lock that fell undisturbed: unexpected.
func SurpriseCase() reports.Scenario {
	h, v := Sim{Clients: 3, Duration: 6000 * Ms, Freezes: 1}.Run()
	s := Scenario("redis-setnx/none/unfenced", h, v)
	s.Met = false
	s.Expect[0] = reports.Expectation{Property: checker.MutualExclusion, Want: "pass", Got: "violated"}
	return s
}

// HostileCase puts hostile text wherever a text of others can come from.
func HostileCase() reports.Scenario {
	s := CorruptedCase()
	long := Hostile + strings.Repeat("x", 10_000)
	s.Name, s.Dir, s.About, s.Why, s.Lock = long, "../../"+Hostile, long, long, long
	s.Service, s.Runtime, s.Run, s.Rerun = long, long, long, long
	s.StandIns = []string{long}
	s.History.Header.Lock, s.History.Header.Service, s.History.Header.Workload = long, long, long
	s.History.Header.Store.Engine = long
	s.History.Header.Versions = []history.Part{{Name: long, Version: long}}
	s.History.Keys = []string{long}
	for i := range s.History.Events {
		e := &s.History.Events[i]
		if e.Type == history.Fail {
			e.Type, e.Text = history.Info, long
		}
		if e.Fault != nil {
			e.Fault.Evidence, e.Fault.Target = long, long
		}
	}
	s.Verdict.Reasons = []string{long}
	for i := range s.Verdict.Properties {
		p := &s.Verdict.Properties[i]
		p.Why = long
		for j := range p.Violations {
			p.Violations[j].Text, p.Violations[j].Key, p.Violations[j].Kind = long, long, long
		}
	}
	return s
}

// Stories is a suite as the built-in one comes out when all is well.
func Stories() reports.Suite {
	quiet := PassCase()
	plain := quiet
	plain.Name, plain.Lock, plain.Store, plain.Dir = "redis-setnx/none/unfenced", "redis-setnx", "unfenced",
		"redis-setnx.none.unfenced"
	etcd := CorruptedCase()
	etcd.Name, etcd.Lock, etcd.Service, etcd.Dir = "etcd-lease/pause-holder/unfenced", "etcd-lease", "etcd ×3",
		"etcd-lease.pause-holder.unfenced"
	etcdFenced := ContainedCase()
	etcdFenced.Name, etcdFenced.Lock, etcdFenced.Service, etcdFenced.Dir = "etcd-lease/pause-holder/fenced",
		"etcd-lease", "etcd ×3", "etcd-lease.pause-holder.fenced"
	s := Suite(plain, CorruptedCase(), quiet, ContainedCase(), etcd, etcdFenced)
	s.Twins()
	return s
}

// Mixed is a suite with everything that can go wrong.
func Mixed() reports.Suite {
	s := Suite(SurpriseCase(), CorruptedCase(), PassCase(), ContainedCase(), SkippedCase(), FailedCase(),
		InconclusiveCase())
	s.StandIns = []string{"redis-server was not found: miniredis, an in-process imitation, stood in for it."}
	return s
}

func Suite(all ...reports.Scenario) reports.Suite {
	return reports.Suite{Name: "quick", Command: "lockchaos run quick --seed 7", Runtime: "private network, Linux 6.18",
		Seed: 7, Elapsed: 47 * time.Second, Version: "0.1.0",
		Started: time.Date(2026, 11, 20, 21, 30, 4, 0, time.UTC), Scenarios: all,
		Versions: []history.Part{{Name: "lockchaos", Version: "0.1.0"}, {Name: "redis-server", Version: "7.0.15"},
			{Name: "etcd", Version: "3.6.4"}, {Name: "sqlite", Version: "3.50.4"}}}
}

// Hidden reports whether a character may not stand in a page.
func Hidden(r rune) bool { return r != '\n' && r != '\t' && harmless.Hidden(r) }

// MixedCase is a corrupted run with overruns, and two violations that are defects
// of the lock: a grant inside a promise, and false confirmations. The first one is
// far less frequent than the overruns, does no harm to the data, and comes last.
func MixedCase() reports.Scenario {
	s := CorruptedCase()
	s.Verdict.Properties = slices.Clone(s.Verdict.Properties)
	p := s.Property(checker.MutualExclusion)
	p.Violations = slices.Clone(p.Violations)
	last := p.Violations[len(p.Violations)-1]
	given := last
	given.Kind, given.Pattern, given.Severity, given.Text = checker.KindGrantedWhileValid, checker.PatternStolen,
		checker.Untested, "the defect that is told"
	given.At++
	p.Violations, p.Count = append(p.Violations, given), p.Count+1
	p.Kinds = map[string]int{checker.KindLeaseOverrun: p.Count - 1, checker.KindGrantedWhileValid: 1}
	confirmed := checker.PropertyResult{Name: checker.Continuity, Outcome: checker.Violated}
	for _, v := range p.Violations[:5] {
		v.Property, v.Kind, v.Severity = checker.Continuity, "", checker.SeverityNone
		v.Pattern, v.Text = checker.PatternOwnerUnchecked, "a false confirmation"
		confirmed.Violations, confirmed.Count = append(confirmed.Violations, v), confirmed.Count+1
	}
	s.Verdict.Properties = append(s.Verdict.Properties, confirmed)
	for i := range p.Violations[:len(p.Violations)-1] {
		p.Violations[i].Pattern = checker.PatternPaused
	}
	s.Verdict.Patterns = []checker.PatternGroup{
		{Pattern: checker.PatternPaused, Says: "holder paused",
			Counts: []checker.PropertyCount{{Property: checker.MutualExclusion, Count: p.Count - 1}}},
		{Pattern: checker.PatternStolen, Says: "key freed",
			Counts: []checker.PropertyCount{{Property: checker.MutualExclusion, Count: 1}}},
		{Pattern: checker.PatternOwnerUnchecked, Says: "owner unchecked",
			Counts: []checker.PropertyCount{{Property: checker.Continuity, Count: 5}}},
	}
	s.Expect, s.Met = nil, false
	return s
}

// Gated is a run under a policy: one scenario twice, of which one violation is
// known and another is not; one that is open and only warned of.
func Gated() reports.Suite {
	known := CorruptedCase()
	known.File, known.Line = "ci/lockchaos.yaml", 12
	known.Expect = []reports.Expectation{
		{Property: checker.MutualExclusion, Want: "hold", Got: "violated", Met: true,
			Known: "a lease can be outlived: LOCK-12, until we have a fence"},
		{Property: checker.LostUpdate, Want: "hold", Got: "violated",
			Note: "It was known until 2026-10-01: the nightly job."},
		{Property: checker.StuckLock, Want: "hold", Got: "pass", Met: true},
	}
	known.Met = false
	second := known
	second.Dir, second.Seed = "2/"+known.Dir, 8
	open := InconclusiveCase()
	open.Lenient, open.Builtin = true, "scenarios/full.yaml:77"
	open.Expect = []reports.Expectation{{Property: checker.MutualExclusion, Want: "hold", Got: "inconclusive"}}
	s := Suite(known, second, open, PassCase(), SkippedCase(), FailedCase())
	s.Name = "gate"
	s.Remarks = []reports.Remark{{Level: reports.Note, Rule: "known-gone",
		Text: "redis-setnx/none/unfenced: token-order is known to be violated, and was not in 2 runs: take it off the list.",
		File: "ci/lockchaos.yaml", Line: 30}}
	return s
}

// GatedRuling is a policy's last word on gated.
func GatedRuling() reports.Gate {
	return reports.Gate{Policy: "lockchaos.yaml", Exit: 1, Inconclusive: "warn", Skipped: "fail", Budget: time.Minute,
		Elapsed: 47 * time.Second,
		Demands: []reports.Demand{{Scenario: SkippedCase().Name, Word: "all"},
			{Scenario: FailedCase().Name, Names: []string{checker.Deadlock}}},
		Known: []reports.KnownViolation{
			{Scenario: "redis-setnx/pause-holder", Property: checker.MutualExclusion, Kind: checker.KindLeaseOverrun,
				Reason: "a lease can be outlived", LastDay: "2026-11-30", DaysLeft: 11, Shown: 2},
			{Scenario: "redis-setnx", Property: checker.LostUpdate, Reason: "the nightly job", LastDay: "2026-10-01",
				Shown: 2},
			{Scenario: "etcd-lease", Property: checker.StuckLock, Reason: "LOCK-17", LastDay: "2027-03-31",
				DaysLeft: 132, Clear: 3},
		}}
}

// Trial is a scenario with an outcome.
func Trial(name string, o checker.Outcome) reports.Scenario {
	return reports.Scenario{Name: name, Dir: "folder",
		Verdict: checker.Verdict{Outcome: o,
			Properties: []checker.PropertyResult{{Name: checker.StuckLock, Outcome: o}}}, Met: true}
}

func Repetition() reports.Repetition {
	r := reports.Repetition{Suite: "mine", Wanted: 4, Ended: "All 4 runs were done.", Started: time.Unix(0, 0).UTC()}
	// They end in any order.
	r.Add(9, "seed-9", []reports.Scenario{Trial("b", checker.Violated)})
	r.Add(7, "seed-7", []reports.Scenario{Trial("b", checker.Pass)})
	r.Add(8, "seed-8", []reports.Scenario{Trial("b", checker.Inconclusive)})
	failed := Trial("b", checker.Inconclusive)
	failed.Failed = "no \x1b[31mredis"
	r.Add(10, "seed-10", []reports.Scenario{failed})
	r.Sort()
	return r
}

// Diagonal is a suite in which each lock is tried under a fault of its own, and without.
func Diagonal(locks int) reports.Suite {
	s := reports.Suite{Name: "diagonal"}
	for i := range locks {
		lock, fault := fmt.Sprintf("lock-%d", i), fmt.Sprintf("fault-%d", i)
		s.Scenarios = append(s.Scenarios,
			reports.Scenario{Name: lock + "/none/unfenced", Lock: lock, Fault: "none", Store: "unfenced", Dir: "a",
				Verdict: checker.Verdict{Outcome: checker.Pass}},
			reports.Scenario{Name: lock + "/" + fault + "/fenced", Lock: lock, Fault: fault, Store: "fenced", Dir: "b",
				Verdict: checker.Verdict{Outcome: checker.Pass}})
	}
	return s
}
