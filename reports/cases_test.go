package reports

import (
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/history"
)

// hostile is what a program under test may print to break out of a page.
const hostile = "</title><script>alert(1)</script>\"'><img src=http://192.0.2.1/x onerror=alert(1)>\u202eevil\u2066\x1b[2J\x00&lt;"

func scenario(name string, h *history.History, v checker.Verdict) Scenario {
	part := strings.Split(name, "/")
	s := Scenario{Name: name, Lock: part[0], Service: "redis ×1", Fault: part[1], Store: part[2], Dir: strings.ReplaceAll(name, "/", "."), Seed: 7, Verdict: v, History: h, Met: true,
		Rerun: "lockchaos run " + name + " --seed 7", Recheck: "lockchaos check runs/2026-11-20T21-30-04/" + strings.ReplaceAll(name, "/", ".") + "/history.jsonl",
		Elapsed: 6100 * time.Millisecond, Run: "quick, 2026-11-20 21:30", Runtime: "private network, Linux 6.18", Version: "0.1.0"}
	if strings.HasPrefix(name, "etcd") {
		s.Service = "etcd ×3"
	}
	for _, p := range v.Properties {
		s.Expect = append(s.Expect, Expectation{Property: p.Name, Want: p.Outcome.String(), Got: p.Outcome.String(), Met: true})
	}
	return s
}

func passCase() Scenario {
	h, v := sim{clients: 4, duration: 3000 * ms, tokens: true, fenced: true}.run()
	s := scenario("redis-setnx-fenced/none/fenced", h, v)
	s.About = "nothing is disturbed (the control)"
	s.Why = "Nothing disturbs clients, network or service, so every holder is done long before its lease is over."
	return s
}

func corruptedCase() Scenario {
	h, v := sim{clients: 4, duration: 6000 * ms, freezes: 4}.run()
	s := scenario("redis-setnx/pause-holder/unfenced", h, v)
	s.About = "the holder is frozen past its lease, between read and write"
	explain(&s)
	s.Why = "The holder cannot see its lease run out while it is frozen. This lock issues no fencing token, so nothing could stop the late write."
	return s
}

// explain adds what the checker and the search for witnesses find in a run of frozen holders.
func explain(s *Scenario) {
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
	s.Verdict.Stats.Timings = []checker.Timing{{What: checker.TimeWait, Count: 120, P50: 40 * each, P95: 300 * each, P99: 480 * each, Max: 500 * each},
		{What: checker.TimeHold, Count: 120, P50: 14 * each, P95: 25 * each, P99: 920 * each, Max: 921 * each}}
	bare := *s
	bare.History = nil // the verdict alone tells of the holders
	holders := int64(bare.noted().holders)
	low, high := checker.Wilson(holders, 120)
	s.Verdict.Stats.Overlapped = checker.Rate{Count: holders, Of: 120, Low: low, High: high}
	s.Verdict.Stats.WaitersMax = 3
	v := Told(*s)
	s.Witnesses = []Witness{{Property: v.Property, At: v.At, File: "witness." + v.Property + ".jsonl", Ops: len(v.Ops), Of: 480, Kept: v.Ops, Minimal: true,
		Recheck: "lockchaos check runs/2026-11-20T21-30-04/" + s.Dir + "/witness." + v.Property + ".jsonl"}}
}

func containedCase() Scenario {
	h, v := sim{clients: 4, duration: 6000 * ms, freezes: 4, tokens: true, fenced: true}.run()
	s := scenario("redis-setnx-fenced/pause-holder/fenced", h, v)
	s.Why = "The store has seen a greater token by the time the late write arrives, and refuses it."
	return s
}

func inconclusiveCase() Scenario {
	h, v := sim{clients: 2, duration: 400 * ms, tokens: true}.run()
	v.Outcome = checker.Inconclusive
	v.Properties = []checker.PropertyResult{{Name: checker.MutualExclusion, Why: "the fault did not bite"}, {Name: checker.StuckLock, Outcome: checker.Pass}}
	v.Reasons = []string{"No pause met a holder: the scenario needs 2.", "The history was cut after line 118."}
	v.Truncated = true
	v.Stats.Faults = []checker.FaultStats{{Plan: 1, Planned: plannedPause, Kind: "pause", Target: "holder", When: "random", Injected: true, Begun: 2},
		{Plan: 2, Planned: "for 1s, after 2m0s", Kind: "partition", Target: "minority", When: "random", Injected: true}}
	h.Header.Fault = "pause-holder"
	h.Header.Needs.Bites = 2
	s := scenario("etcd-lease/pause-holder/unfenced", h, v)
	s.Met = false
	s.Expect = []Expectation{{Property: checker.MutualExclusion, Want: "violated", Got: "inconclusive"}}
	return s
}

// clockCase is a quiet run under faults of the clocks of a server and of a client.
func clockCase() Scenario {
	h, v := sim{clients: 2, duration: 1600 * ms, tokens: true}.run()
	id := 0
	fault := func(f history.FaultInfo, from, to int64, host string, pid int, shown func(at int64) (wall, mono int64)) {
		id++
		f.ID, f.Plan, f.Phase, f.When, f.Injected = id, id, "begin", "random", true
		begin := f
		f.Phase, f.From, f.To, f.Bit, f.Evidence = "end", from, to, true, "the clock of "+host+" was wrong"
		read := func(at int64, step string) {
			wall, mono := shown(at)
			f.Clocks = append(f.Clocks, history.ClockReading{At: at, Host: host, PID: pid, Wall: wall, Mono: mono, Step: step})
		}
		read(from-ms, "before")
		read(from, "begin")
		for at := from + 10*ms; at < to; at += 10 * ms {
			read(at, "")
		}
		read(to, "end")
		read(to+ms, "healed")
		h.Header.Faults = append(h.Header.Faults, history.PlannedFault{Kind: f.Kind, Target: f.Target, When: f.When})
		v.Stats.Faults = append(v.Stats.Faults, checker.FaultStats{Plan: id, Kind: f.Kind, Target: f.Target, When: f.When, Injected: true, Begun: 1, Bit: 1, Evidence: f.Evidence})
		last := len(h.Events) - 1
		h.Events = append(h.Events[:last:last], history.Event{Time: from, Type: history.Fault, Fault: &begin}, history.Event{Time: to + 2*ms, Type: history.Fault, Fault: &f}, h.Events[last])
	}
	inside := func(from, to, at int64) bool { return at >= from && at <= to }
	fault(history.FaultInfo{Kind: "clock-jump", Target: "redis-1", Service: true}, 200*ms, 600*ms, "redis-1", 33, func(at int64) (int64, int64) {
		if inside(200*ms, 600*ms, at) {
			return int64(time.Hour), 0
		}
		return 0, 0
	})
	fault(history.FaultInfo{Kind: "clock-strobe", Target: "holder", Clients: []int32{2}}, 400*ms, 500*ms, "client-2", 70, func(at int64) (int64, int64) {
		if inside(400*ms, 500*ms, at) && at/(10*ms)%2 == 0 {
			return -30e9, 0
		}
		return 0, 0
	})
	fault(history.FaultInfo{Kind: "clock-rate", Target: "holder", Clients: []int32{2}}, 800*ms, 1200*ms, "client-2", 70, func(at int64) (int64, int64) {
		return 0, 4 * (min(max(at, 800*ms), 1200*ms) - 800*ms)
	})
	h.Header.Fault = "clock-jump-redis-1-wall"
	return scenario("redis-setnx-fenced/clock-jump-redis-1-wall/unfenced", h, v)
}

func failedCase() Scenario {
	s := scenario("etcd-lease/none/fenced", nil, checker.Verdict{})
	s.Met, s.Expect = false, nil
	s.Failed = "start etcd-2 on 10.88.0.4: not ready after 10 s: connection refused\n  its log: logs/etcd-2.log\n  next: lockchaos doctor"
	return s
}

func skippedCase() Scenario {
	s := scenario("etcd-lease/none/unfenced", nil, checker.Verdict{})
	s.Met, s.Expect = false, nil
	s.Skipped = "the kernel refuses user namespaces: set kernel.unprivileged_userns_clone=1"
	return s
}

// surpriseCase is a lock that fell undisturbed: unexpected.
func surpriseCase() Scenario {
	h, v := sim{clients: 3, duration: 6000 * ms, freezes: 1}.run()
	s := scenario("redis-setnx/none/unfenced", h, v)
	s.Met = false
	s.Expect[0] = Expectation{Property: checker.MutualExclusion, Want: "pass", Got: "violated"}
	return s
}

// hostileCase puts hostile text wherever a text of others can come from.
func hostileCase() Scenario {
	s := corruptedCase()
	long := hostile + strings.Repeat("x", 10_000)
	s.Name, s.Dir, s.About, s.Why, s.Lock = long, "../../"+hostile, long, long, long
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

// stories is a suite as the built-in one comes out when all is well.
func stories() Suite {
	quiet := passCase()
	plain := quiet
	plain.Name, plain.Lock, plain.Store, plain.Dir = "redis-setnx/none/unfenced", "redis-setnx", "unfenced", "redis-setnx.none.unfenced"
	etcd := corruptedCase()
	etcd.Name, etcd.Lock, etcd.Service, etcd.Dir = "etcd-lease/pause-holder/unfenced", "etcd-lease", "etcd ×3", "etcd-lease.pause-holder.unfenced"
	etcdFenced := containedCase()
	etcdFenced.Name, etcdFenced.Lock, etcdFenced.Service, etcdFenced.Dir = "etcd-lease/pause-holder/fenced", "etcd-lease", "etcd ×3", "etcd-lease.pause-holder.fenced"
	s := suite(plain, corruptedCase(), quiet, containedCase(), etcd, etcdFenced)
	s.Twins()
	return s
}

// mixed is a suite with everything that can go wrong.
func mixed() Suite {
	s := suite(surpriseCase(), corruptedCase(), passCase(), containedCase(), skippedCase(), failedCase(), inconclusiveCase())
	s.StandIns = []string{"redis-server was not found: miniredis, an in-process imitation, stood in for it."}
	return s
}

func suite(all ...Scenario) Suite {
	return Suite{Name: "quick", Command: "lockchaos run quick --seed 7", Runtime: "private network, Linux 6.18", Seed: 7, Elapsed: 47 * time.Second, Version: "0.1.0",
		Started: time.Date(2026, 11, 20, 21, 30, 4, 0, time.UTC), Scenarios: all,
		Versions: []history.Part{{Name: "lockchaos", Version: "0.1.0"}, {Name: "redis-server", Version: "7.0.15"}, {Name: "etcd", Version: "3.6.4"}, {Name: "sqlite", Version: "3.50.4"}}}
}

// hidden reports whether a character may not stand in a page.
func hidden(r rune) bool { return r != '\n' && r != '\t' && harmless.Hidden(r) }
