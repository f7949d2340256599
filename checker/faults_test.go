package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestEdgesOfStalls: for how long the machine stalled a client, and whether
// that explains that it was late.
func TestEdgesOfStalls(t *testing.T) {
	late := func(act int, stall string) string {
		return fmt.Sprintf("A acquire [0,1]\nB acquire [%d,%d]\nA write [%d,%d] refused\nB write [930,931]\nB release [940,941]\n%s", act-60, act-59, act, act+1, stall) + probeText
	}
	const grace1 = "A acquire [0,1]\nB acquire [600,601]\nB release [960,961]\nA exit [1000]\n"
	run(t, []propertyCase{
		{"what stalls it later explains nothing", MutualExclusion, plainLock(),
			late(660, "stall A [10,80]\nstall A [850,860]"), Inconclusive, 0, "", "stall"},
		{"a stall that begins with the act", MutualExclusion, plainLock(), late(590, "stall A [590,600]"), Inconclusive, 0, "", "stall"},
		{"a stall that ends with the attempt", MutualExclusion, plainLock(), late(590, "stall A [-10,0]"), Inconclusive, 0, "", "stall"},
		{"a stall counts up to the act", MutualExclusion, plainLock(), late(700, "stall A [690,900]"), Violated, 1, KindLeaseOverrun, ""},
		{"a stall counts from the attempt", MutualExclusion, plainLock(), late(700, "stall A [-400,5]"), Violated, 1, KindLeaseOverrun, ""},
		{"stopped at the very act", MutualExclusion, grace(session(plainLock())),
			grace1 + "pause A [2,600]\npause A [950,960]\nA write [950,951] refused" + probeText,
			Violated, 1, KindLeaseOverrun, ""},
		{"a fault of the service, long before", MutualExclusion, grace(session(plainLock())),
			grace1 + "service x [3,4]\npause A [2,700]\nA write [850,851] refused" + probeText,
			Violated, 1, KindLeaseOverrun, ""},
		{"told twice, the second time of an earlier loss", MutualExclusion, session(plainLock()),
			grace1 + "pause A [2,700]\nA lost [720]\nA lost [800]\nA write [850,851] refused" + probeText,
			Violated, 1, KindLossIgnored, "told of the loss at 1.720 s"},
		{"only the tokens know that the one who asked later was first", FIFO, fair(fencedLock()), `
		A acquire [0,1] enq=0.5
		B acquire [2,20] enq=3 tok=2
		C acquire [4,40] enq=5 tok=1
		pause C   [5,39]
		B release [50,51]` + probeText, Violated, 1, "", ""},
		{"only the tokens know that the waiter, whose hold is long over, was passed", FIFO, fair(fencedLock()), `
		A acquire [2,40] enq=3 tok=2
		B acquire [4,60] tok=1
		pause B   [5,59]
		A release [41,42]
		B release [70,71]` + probeText, Violated, 1, "", ""},
		{"a token below zero is not smaller than none", FIFO, fair(fencedLock()), `
		A acquire [0,10] enq=1
		B acquire [5,20] first=5 tok=-5
		A release [11,12]
		B release [21,22]` + probeText, Pass, 0, "", ""},
		{"nor is what has none a later writer", UnfencedWrite, noClaims(fencedLock()), `
		A acquire [0,10]
		B acquire [0,10] tok=-5
		A write   [11,12]
		B write   [13,14]
		A release [20,21]
		B release [22,23]` + probeText2, Pass, 0, "", ""},
		{"its next request takes back what it gave up, whatever the stamps say", MutualExclusion, confirms(plainLock()), `
		A acquire [0,1]
		A write   [2,3] @90
		A release [4,5] run=400,5
		A acquire [10,11] busy
		B acquire [20,21]
		B release [30,31]` + probeText, Pass, 0, "", ""},
		{"a stamp of a start behind its end", TokenOrder, fencedLock(), `
		A acquire [27,28] run=46,28 tok=1
		B acquire [36,37] tok=2` + probeText2, Violated, 1, "", ""},
		{"granted first, recorded last", FIFO, fair(plainLock()), `
		B acquire [2,20] run=2,20 first=18 enq=3
		C acquire [4,21] run=4,10 enq=5
		B release [50,51]` + probeText, Violated, 1, "", ""},
		{"a client does not overtake itself", FIFO, fair(reentrant(plainLock())), `
		A1=A acquire [2,40] enq=3 first=38
		A release [41,42] g=A1
		A2=A acquire [4,20] enq=5 first=18
		A release [21,22] g=A2` + probeText, Pass, 0, "", ""},
	})
	many := plainLock()
	text := healthy
	for i := range 12 {
		text += fmt.Sprintf("\npause C [%d,%d] +miss", 30+i, 31+i)
	}
	for range 3 {
		text = "stall D [5,6] +miss\n" + text
	}
	if v := many.judge(t, text); len(v.Reasons) != 1 || !strings.HasSuffix(v.Reasons[0], ": pause (12 times).") {
		t.Errorf("twelve faults without proof: %q", v.Reasons)
	}
	var hostile faults
	for i := range 3 * mostUnproven {
		hostile.countUnproven(fmt.Sprint("kind-", i))
	}
	if len(hostile.unproven) != mostUnproven {
		t.Errorf("%d names of faults are kept, of at most %d", len(hostile.unproven), mostUnproven)
	}
}

// TestEdgesOfFaults: what is told of a fault at its beginning, at its end, and never.
func TestEdgesOfFaults(t *testing.T) {
	fault := func(phase string, id int, f history.FaultInfo) history.Event {
		f.ID, f.Phase = id, phase
		return history.Event{Type: history.Fault, Time: at(1000), Fault: &f}
	}
	base := history.FaultInfo{Kind: "pause", Injected: true, Clients: []int32{1}, When: "random"}
	with := func(change func(*history.FaultInfo)) history.FaultInfo { f := base; change(&f); return f }
	lock := plainLock()
	stale := func(faults ...history.Event) Verdict {
		h := lock.history(strings.Replace(stalled("pause"), "pause A   [10,700]", "", 1))
		first := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Time > at(9) })
		for _, e := range faults {
			e.Time = at(10)
			if e.Fault.Phase == "end" {
				e.Time = at(700)
			}
			place := slices.IndexFunc(h.Events[first:], func(x history.Event) bool { return x.Time > e.Time })
			h.Events = slices.Insert(h.Events, first+place, e)
		}
		return Judge(h, Options{})
	}
	for name, x := range map[string]struct {
		faults   []history.Event
		disturbs bool
		outcome  Outcome
		stats    FaultStats
		says     string
		bites    int
	}{
		"begun and ended": {[]history.Event{fault("begin", 7, base),
			fault("end", 7, with(func(f *history.FaultInfo) {
				f.Bit, f.From, f.To, f.Holding = true, at(12), at(690),
					1
			}))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 1, Bit: 1, MetHolder: 1,
				Shortest: 678 * ms, Longest: 678 * ms}, "frozen for 0.678 s", 1},
		"whose end alone is there": {[]history.Event{fault("end", 7,
			with(func(f *history.FaultInfo) { f.Bit, f.From, f.To, f.Waiting = true, at(12), at(690), true }))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 1, Bit: 1, Shortest: 678 * ms,
				Longest: 678 * ms}, "frozen for 0.678 s", 1},
		"whose end does not say whom it touched": {[]history.Event{fault("begin", 7, base),
			fault("end", 7, with(func(f *history.FaultInfo) { f.Bit, f.Clients, f.To = true, nil, at(650) }))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 1, Bit: 1}, "frozen for 0.640 s", 0},
		"whose end says otherwise": {[]history.Event{fault("begin", 7, base),
			fault("end", 7, with(func(f *history.FaultInfo) { f.Bit, f.Clients, f.Service = true, nil, true }))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 1, Bit: 1}, "worked for longer than its lease", 1},
		"whose end adds the service": {[]history.Event{fault("begin", 7,
			with(func(f *history.FaultInfo) { f.Clients = []int32{2} })),
			fault("end", 7, with(func(f *history.FaultInfo) { f.Bit, f.Service = true, true }))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 1, Bit: 1}, "frozen for 0.690 s", 1},
		"that ends before it began": {[]history.Event{fault("begin", 7, base),
			fault("end", 7, with(func(f *history.FaultInfo) { f.Bit, f.From, f.To = true, at(690), at(12) }))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 1, Bit: 1}, "frozen for 0.690 s", 0},
		"that began before it was told": {[]history.Event{fault("begin", 7,
			with(func(f *history.FaultInfo) { f.From = at(4) })),
			fault("end", 7, with(func(f *history.FaultInfo) { f.Bit = true }))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 1, Bit: 1}, "frozen for 0.696 s", 0},
		"of which nothing is proven": {[]history.Event{fault("begin", 7, base),
			fault("end", 7, with(func(f *history.FaultInfo) { f.From, f.To, f.Target = at(12), at(690), "holder" }))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 1}, "took effect: pause of holder", 0},
		"that struck an acquire": {[]history.Event{fault("begin", 7,
			with(func(f *history.FaultInfo) { f.When = history.MomentAcquiring })),
			fault("end", 7, with(func(f *history.FaultInfo) { f.Bit, f.When = true, history.MomentAcquiring }))}, true, Violated,
			FaultStats{Kind: "pause", When: history.MomentAcquiring, Injected: true, Begun: 1, Bit: 1}, "frozen for 0.690 s", 1},
		"that nobody injected": {[]history.Event{fault("begin", 7,
			with(func(f *history.FaultInfo) { f.Injected = false })),
			fault("end", 7, with(func(f *history.FaultInfo) { f.Bit, f.Injected, f.Holding = true, false, 1 }))}, false, Inconclusive,
			FaultStats{Kind: "pause", When: "random", Begun: 1, Bit: 1, MetHolder: 1}, "A stall of this machine", 0},
		"two, one within the other": {[]history.Event{fault("begin", 7, base), fault("begin", 8, base),
			fault("end", 8, with(func(f *history.FaultInfo) { f.Bit, f.From, f.To, f.Evidence = true, at(20), at(40), "first" })),
			fault("end", 7, with(func(f *history.FaultInfo) {
				f.Bit, f.From, f.To, f.Evidence = true, at(12), at(690),
					"second"
			}))}, true, Violated,
			FaultStats{Kind: "pause", When: "random", Injected: true, Begun: 2, Bit: 2, Shortest: 20 * ms,
				Longest: 678 * ms, Evidence: "first"}, "frozen for 0.678 s", 0},
	} {
		v := stale(x.faults...)
		said := strings.Join(v.Reasons, "\n")
		touched := false
		for _, double := range v.Property(MutualExclusion).Violations {
			said += double.Text
			touched = touched || len(double.Faults) > 0
		}
		if touched != x.disturbs || v.Outcome != x.outcome || !strings.Contains(said, x.says) || v.Stats.Bites != x.bites {
			t.Errorf("%s: it touched the holder: %v, %v, %d bites; want %v, %v, %d; %q does not say %q", name, touched,
				v.Outcome, v.Stats.Bites, x.disturbs, x.outcome, x.bites, said, x.says)
		}
		if len(v.Stats.Faults) != 1 || v.Stats.Faults[0] != x.stats {
			t.Errorf("%s: %+v, want %+v", name, v.Stats.Faults, x.stats)
		}
	}
}

// TestFaultsAreToldApart by all that the plan says of them.
func TestFaultsAreToldApart(t *testing.T) {
	s := New(plainLock().header, nil, Options{})
	for i, f := range []history.FaultInfo{{Kind: "pause", When: "random", Injected: true},
		{Kind: "pause", When: "before-write", Injected: true}, {Kind: "pause", When: "random"},
		{Kind: "kill", When: "random", Injected: true}, {Kind: "pause", When: "random", Injected: true, Plan: 2},
		{Kind: "pause", When: "random", Injected: true, Clients: []int32{-1, 1 << 30}}} {
		f.ID, f.Phase = i, "begin"
		end := f
		end.Phase, end.Bit, end.To = "end", true, at(4)
		s.Add(&history.Event{Type: history.Fault, Time: at(3), Fault: &f})
		s.Add(&history.Event{Type: history.Fault, Time: at(5), Fault: &end})
	}
	faults := s.Finish(false).Stats.Faults
	if len(faults) != 5 || faults[0].Begun != 2 || faults[0].Longest != 0 {
		t.Errorf("%d kinds of faults: %+v", len(faults), faults)
	}
}

// TestAFaultWhoseEndIsNotMeasured lasted until its end was told.
func TestAFaultWhoseEndIsNotMeasured(t *testing.T) {
	h := plainLock().changed("pause A [4,705]\n"+wentOn+probeText, func(e *history.Event) {
		if e.Type == history.Fault {
			e.Fault.To = 0
		}
	})
	if r := foundIn(h, MutualExclusion); r.Count != 1 || !strings.Contains(r.Violations[0].Text, "was frozen for 0.701 s") {
		t.Errorf("%+v", r)
	}
}

// TestFaultsOnNobody: a fault whose victim no history can have strikes nobody,
// one that touched a promise is not noted aside as well, and a client may have
// the number 0, which for a fault means nobody.
func TestFaultsOnNobody(t *testing.T) {
	struck := func(victim int32) func(*history.Event) {
		return func(e *history.Event) {
			if e.Type == history.Fault {
				e.Client = victim
			}
		}
	}
	const alone, elsewhere = "fault pause [4,705] on=A aside\n" + wentOn + probeText,
		"fault pause [4,705] on=service hosts=1\n" + wentOn + probeText
	for name, x := range map[string]struct {
		h    *history.History
		want string
	}{
		"on the holder":                {plainLock().changed(alone, struck(1)), PatternPaused},
		"on nobody":                    {plainLock().changed(alone, struck(0)), PatternWorkedPast},
		"on a number below any":        {plainLock().changed(alone, struck(-1)), PatternWorkedPast},
		"on a number beyond any":       {plainLock().changed(alone, struck(maxClients)), PatternWorkedPast},
		"on a server":                  {plainLock().changed(elsewhere, struck(1)), PatternWorkedPast},
		"on its process, for too long": {plainLock().history("fault pause [4,216.1] on=A\n" + wentOn + probeText), PatternPaused},
		// not for twice as long
		"on its process": {plainLock().history("fault pause [4,150] on=A\n" + wentOn + probeText), PatternWorkedPast},
		"on nobody, beside client 0": {plainLock().changed(alone, func(e *history.Event) {
			if e.Client == 1 {
				e.Client = 0
			}
		}), PatternWorkedPast},
	} {
		r := foundIn(x.h, MutualExclusion)
		if r.Count != 1 || r.Violations[0].Pattern != x.want {
			t.Errorf("%s: %+v, want %s", name, r, x.want)
		}
	}
}

// TestWhomAFaultStruck is told at its beginning or at its end.
func TestWhomAFaultStruck(t *testing.T) {
	const atStore, onLinks = "fault partition [4,705] on=store:A\n" + wentOn, "fault partition [4,705] on=A links\n" + wentOn
	for name, x := range map[string]struct {
		text, want string
		change     func(*history.Event)
	}{
		"at both": {atStore, PatternStoreAway, func(*history.Event) {}},
		"at its beginning": {atStore, PatternStoreAway, func(e *history.Event) {
			if e.Fault.Phase == "end" {
				e.Client = 0
			}
		}},
		"at its end": {atStore, PatternStoreAway, func(e *history.Event) {
			if e.Fault.Phase == "begin" {
				e.Client = 0
			}
		}},
		"never":                     {atStore, PatternWorkedPast, func(e *history.Event) { e.Client = 0 }},
		"on its way to the service": {onLinks, PatternCutOff, func(*history.Event) {}},
		"on its way to both":        {onLinks, PatternCutOff, func(e *history.Event) { e.Fault.Store = true }},
	} {
		h := plainLock().history(x.text + probeText)
		for i := range h.Events {
			if h.Events[i].Type == history.Fault {
				x.change(&h.Events[i])
			}
		}
		v := Judge(h, Options{})
		if r := v.Property(MutualExclusion); r.Count != 1 || r.Violations[0].Pattern != x.want {
			t.Errorf("%s: %+v, want %s", name, r, x.want)
		}
	}
}

// TestEdgesOfPlights: of the faults on a client that outlived its lease, the
// injected and longer one is told of.
func TestEdgesOfPlights(t *testing.T) {
	// The earlier holder acts last at 1300.
	late := func(faults string) string {
		return "A acquire [0,1]\nA read [1.2,1.4]\n" + faults + `
		B acquire [1205,1206] first=1205
		A write   [1300,1301] refused
		B write   [1350,1351]
		B release [1360,1361]` + probeText
	}
	cases := []propertyCase{
		{"a reader and a writer", MutualExclusion, readWrite(plainLock()),
			strings.NewReplacer("A acquire [0,1]", "A acquire [0,1] mode=read").Replace(late("")), Violated, 1, KindLeaseOverrun,
			"client 1 (a reader) and client 2 (a writer) both held"},
	}
	for _, x := range []struct{ name, faults, says string }{
		{"a short one, then a long one", "pause A [4,204]\npause A [210,910]", "was frozen for 0.700 s"},
		{"a long one, then a short one", "pause A [4,804]\nfault throttle [810,910] on=A", "was frozen for 0.800 s"},
		{"two of a length", "pause A [4,604]\nfault throttle [610,1210] on=A", "was frozen for 0.600 s"},
		{"what nobody injected comes first", "stall A [2,702]\npause A [703,1203]", "was frozen for 0.500 s"},
		{"what nobody injected comes last", "pause A [2,502]\nstall A [503,1203]", "was frozen for 0.500 s"},
		{"a longer one was over when it asked", "pause A [-990,-1]\npause A [2,902]", "was frozen for 0.900 s"},
		{"a longer one came when it had acted", "pause A [2,902]\npause A [1310,9000]", "was frozen for 0.900 s"},
		{"it never ended", "pause A [100,]", "was frozen to the end"},
		{"it was noticed late", "pause A [100,1290] from=90", "was frozen for 1.200 s"},
	} {
		cases = append(cases, propertyCase{x.name, MutualExclusion, plainLock(), late(x.faults), Violated, 1,
			KindLeaseOverrun, "client 1 " + x.says + ", outlived its lease of 0.500 s"})
	}
	run(t, cases)
}
