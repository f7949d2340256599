package witness_test

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/checker/witness"
	"github.com/lockchaos/lockchaos/history"
)

const ms = 1_000_000

// noisy builds the history of a busy lock: rounds of acquire, read, write and release by one
// client after the other, over several keys. The round numbered bad is of a client that is
// stopped under its grant: meanwhile the next one gets the lock, and then the first one writes.
type noisy struct {
	h            history.History
	now, op, seq int64
	version      []int64
	fault        int
	rng          *rand.Rand
}

func build(rounds, keys int, bad ...int) *history.History {
	n := noisy{rng: rand.New(rand.NewPCG(1, 2)), version: make([]int64, keys), now: ms}
	n.h.Header = history.Header{Scenario: "noise", Clients: 5, TTL: 500 * ms, Stall: 50 * ms,
		Claims: history.Claims{Validity: "from_invocation", Token: "fencing", Permits: 1,
			Confirms: []string{"release"}}, Store: history.Store{Engine: "sqlite"}}
	for k := range keys {
		n.h.Keys = append(n.h.Keys, string(rune('a'+k)))
	}
	n.add(history.Event{Type: history.Mark, Text: history.PhaseRun})
	for r := range rounds {
		client, key := int32(1+r%4), history.KeyID(n.rng.IntN(keys))
		if slices.Contains(bad, r) {
			n.overrun(client, key)
		} else {
			n.round(client, key)
		}
	}
	n.add(history.Event{Type: history.Watermark, Start: n.now})
	n.add(history.Event{Type: history.Mark, Text: history.PhaseQuiet})
	n.add(history.Event{Type: history.End})
	return &n.h
}

func (n *noisy) add(e history.Event) {
	n.now += ms
	e.Time = n.now
	n.h.Events = append(n.h.Events, e)
}

// do records an op that succeeds. What reaches the store is in its ledger at once.
func (n *noisy) do(kind history.Kind, client int32, key history.KeyID, grant int64) int64 {
	n.op++
	e := history.Event{Type: history.Invoke, Kind: kind, Op: n.op, Grant: grant, Client: client, Process: client, Key: key}
	switch kind {
	case history.Acquire:
		e.Grant = n.op
	case history.Read, history.Write:
		e.Token = history.TokenOf(grant)
	}
	n.add(e)
	e.Start = n.now
	if kind == history.Write {
		n.seq++
		n.version[key]++
		e.Version, e.Replaced, e.Seq = n.version[key], n.version[key]-1, n.seq
		entry := e
		entry.Type, entry.Start = history.Ledger, 0
		n.add(entry)
	}
	if kind == history.Read {
		e.Version = n.version[key]
	}
	if kind == history.Acquire {
		e.Token = history.TokenOf(n.op)
	}
	e.Type, e.End = history.OK, n.now
	n.add(e)
	return n.op
}

func (n *noisy) round(client int32, key history.KeyID) {
	g := n.do(history.Acquire, client, key, 0)
	n.do(history.Read, client, key, g)
	n.do(history.Write, client, key, g)
	n.do(history.Release, client, key, g)
}

func (n *noisy) overrun(client int32, key history.KeyID) {
	g := n.do(history.Acquire, client, key, 0)
	n.do(history.Read, client, key, g)
	n.fault++
	f := history.FaultInfo{ID: n.fault, Kind: "pause", Phase: "begin", Target: "holder", Injected: true,
		Clients: []int32{client}, Holding: g, From: n.now}
	begin := f
	n.add(history.Event{Type: history.Fault, Client: client, Fault: &begin})
	n.now += 700 * ms
	other := n.do(history.Acquire, 5, key, 0)
	n.do(history.Read, 5, key, other)
	f.Phase, f.To, f.Bit, f.Evidence = "end", n.now, true, "state T"
	end := f
	n.add(history.Event{Type: history.Fault, Client: client, Fault: &end})
	n.do(history.Write, 5, key, other)
	n.do(history.Write, client, key, g)
	n.do(history.Release, 5, key, other)
}

func find(t *testing.T, h *history.History, property string) []checker.Violation {
	t.Helper()
	for _, p := range checker.Judge(h, checker.Options{}).Properties {
		if p.Name == property {
			return p.Violations
		}
	}
	t.Fatalf("no property %s", property)
	return nil
}

// Of thousands of ops a few are left, and the judge finds the same in them.
func TestFewOpsAreEnough(t *testing.T) {
	h := build(3000, 3, 700, 1500, 2900)
	for property, most := range map[string]int{checker.MutualExclusion: 7, checker.UnfencedWrite: 7, checker.LostUpdate: 7} {
		all := find(t, h, property)
		if len(all) != 3 {
			t.Fatalf("%s: %d violations", property, len(all))
		}
		for _, v := range all {
			w, err := witness.Smallest(h, v, checker.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !w.Minimal || w.Ops() > most {
				t.Errorf("%s: %d ops (minimal: %v), want %d or fewer", property, w.Ops(), w.Minimal, most)
			}
			again := find(t, w.History, property)
			if !slices.ContainsFunc(again, func(x checker.Violation) bool { return reflect.DeepEqual(x, v) }) {
				t.Errorf("%s: the witness shows %+v, not %+v", property, again, v)
			}
		}
	}
}

// Nothing of a witness can be spared.
func TestNothingCanBeSpared(t *testing.T) {
	h := build(40, 2, 20)
	v := find(t, h, checker.MutualExclusion)[0]
	w, err := witness.Smallest(h, v, checker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.Events {
		if w.Events[i].Type != history.Invoke || w.Events[i].Kind == history.Acquire {
			continue
		}
		less := *w.History
		less.Events = slices.DeleteFunc(slices.Clone(w.Events), func(e history.Event) bool { return e.Op == w.Events[i].Op })
		for _, x := range find(t, &less, checker.MutualExclusion) {
			if reflect.DeepEqual(x, v) {
				t.Errorf("op %d could be spared", w.Events[i].Op)
			}
		}
	}
}

// A fault near the violation stays in the witness though the judge finds the
// same without it: on a client of its, or on the service, up to a TTL before.
// One on another client, or of long ago, does not.
func TestFaultsNearTheViolationAreKept(t *testing.T) {
	h := build(40, 2, 20)
	v := find(t, h, checker.MutualExclusion)[0]
	begun := v.A.Acquired
	add := func(id int, client int32, service bool, at int64) {
		for phase, t := range map[string]int64{"begin": at, "end": at + 10*ms} {
			f := &history.FaultInfo{ID: id, Kind: "delay", Phase: phase, Links: true, Injected: true, Bit: true,
				From: at, Clients: []int32{client}, Service: service}
			if phase == "end" {
				f.To = t
			}
			if service {
				f.Clients = nil
			}
			h.Events = append(h.Events, history.Event{Type: history.Fault, Time: t, Client: client, Fault: f})
		}
	}
	shift := int64(2000) * ms // room before the history, for what was long ago
	for i := range h.Events {
		e := &h.Events[i]
		for _, t := range []*int64{&e.Time, &e.Start, &e.End} {
			if *t != 0 {
				*t += shift
			}
		}
		if e.Fault != nil {
			e.Fault.From += shift
			if e.Fault.To != 0 {
				e.Fault.To += shift
			}
		}
	}
	begun += shift
	add(11, v.A.Client, false, begun-100*ms)
	add(12, v.A.Client, false, begun-1500*ms)
	add(13, 3+v.A.Client%2, false, begun-100*ms)
	add(14, 0, true, begun-200*ms)
	slices.SortStableFunc(h.Events, func(a, b history.Event) int { return int(a.Time - b.Time) })
	v = find(t, h, checker.MutualExclusion)[0]
	w, err := witness.Smallest(h, v, checker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kept := map[int]int{}
	for _, e := range w.Events {
		if e.Fault != nil {
			kept[e.Fault.ID]++
		}
	}
	if want := map[int]int{1: 2, 11: 2, 14: 2}; !reflect.DeepEqual(kept, want) {
		t.Errorf("of the faults %v are kept, want %v (client %d)", kept, want, v.A.Client)
	}
}

// A witness shows nothing that its history does not: here the grant is left out behind
// which the later holder had been waiting, so that the key would seem to be stuck.
func TestNothingElseIsShown(t *testing.T) {
	h, err := history.ReadFile("../testdata/exam/never-told.waited-before.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(find(t, h, checker.StuckLock)) != 1 {
		t.Fatal("without the grants before it, the key is not stuck")
	}
	before := func(op int64, kind history.Kind, from, to int64) {
		e := history.Event{Kind: kind, Op: op, Grant: 9001, Client: 1, Process: 1}
		for at, of := range map[int64]history.Type{from: history.Invoke, to: history.OK} {
			if e.Type, e.Time = of, at; of == history.OK {
				e.Start, e.End = from, to
			}
			h.Events = append(h.Events, e)
		}
	}
	before(9001, history.Acquire, 1*ms, 2*ms)
	before(9002, history.Release, 8770*ms, 8771*ms)
	slices.SortStableFunc(h.Events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	if len(find(t, h, checker.StuckLock)) > 0 {
		t.Fatal("the whole history has a stuck key")
	}
	v := find(t, h, checker.MutualExclusion)[0]
	w, err := witness.Smallest(h, v, checker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(w.Kept(), 9001) {
		t.Fatal("the grant before is kept, so that this shows nothing")
	}
	verdict := checker.Judge(w.History, checker.Options{})
	if p := verdict.Property(checker.StuckLock); p.Outcome != checker.NotJudged || !strings.Contains(p.Why, "part of a history") {
		t.Errorf("stuck-lock: %s (%s)", p.Outcome, p.Why)
	}
	if p := verdict.Property(checker.LostUpdate); p.Outcome != checker.Violated {
		t.Errorf("what the history shows as well is not told: %s", p.Outcome)
	}
	if len(find(t, w.History, checker.MutualExclusion)) != 1 || len(h.Header.Untold) > 0 {
		t.Error("the violation is gone, or the history itself was changed")
	}
}

// A violation that the judge does not find has no witness.
func TestNoWitnessOfWhatIsNotThere(t *testing.T) {
	h := build(40, 2, 20)
	v := find(t, h, checker.MutualExclusion)[0]
	v.At++
	if _, err := witness.Smallest(h, v, checker.Options{}); err == nil {
		t.Error("a witness of a violation that never was")
	}
	if _, err := witness.Smallest(build(40, 2), find(t, h, checker.MutualExclusion)[0], checker.Options{}); err == nil {
		t.Error("a witness in a history that is clean")
	}
}

// BenchmarkSmallest finds the witness of one violation among two million events.
func BenchmarkSmallest(b *testing.B) {
	h := build(250_000, 3, 125_000)
	var v checker.Violation
	for _, p := range checker.Judge(h, checker.Options{}).Properties {
		if p.Name == checker.MutualExclusion {
			v = p.Violations[0]
		}
	}
	for b.Loop() {
		if _, err := witness.Smallest(h, v, checker.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(h.Events)), "events")
}
