package checker

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestPure: the same history gives the same verdict, byte for byte, and the
// verdict goes through JSON unharmed.
func TestPure(t *testing.T) {
	h := plainLock().history(stalled("pause"))
	one, err := json.Marshal(Judge(h, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	two, _ := json.Marshal(Judge(h, Options{}))
	if string(one) != string(two) {
		t.Errorf("two verdicts on one history:\n%s\n%s", one, two)
	}
	var back Verdict
	if err := json.Unmarshal(one, &back); err != nil {
		t.Fatal(err)
	}
	if want := Judge(h, Options{}); !reflect.DeepEqual(back, want) {
		t.Errorf("read back\n%+v\nwant\n%+v", back, want)
	}
	if !strings.Contains(string(one), `"outcome":"violated"`) || !strings.Contains(string(one), `"severity":"corrupting"`) {
		t.Errorf("names are missing: %s", one)
	}
}

// TestOnViolation: told as soon as it is certain, once, in the order of the
// history; what needs the tokens waits for the end.
func TestOnViolation(t *testing.T) {
	var told []string
	h := plainLock().history(stalled("pause"))
	v := Judge(h, Options{Keep: 1, OnViolation: func(v Violation) { told = append(told, v.Property) }})
	slices.Sort(told)
	// Two lost updates: the stale write over the later holder's, and that one's
	// next write over the stale one.
	if !slices.Equal(told, []string{LostUpdate, LostUpdate, MutualExclusion, UnfencedWrite}) {
		t.Errorf("told of %v", told)
	}
	if v.Outcome != Violated {
		t.Error(v.Outcome)
	}
	byToken := examples[slices.IndexFunc(examples,
		func(x example) bool { return x.name == "unfenced-write/by token, where time is silent" })]
	s := New(byToken.lock.header, nil, Options{OnViolation: func(v Violation) { told = append(told, v.Property) }})
	told = nil
	for _, e := range byToken.lock.history(byToken.text).Events {
		s.Add(&e)
	}
	if len(told) != 0 {
		t.Errorf("told of %v before the tokens could be trusted", told)
	}
	s.Finish(false)
	if !slices.Equal(told, []string{MutualExclusion, UnfencedWrite}) {
		t.Errorf("told of %v at the end", told)
	}
}

// TestZeroValueNeverPasses holds the verdict to its zero value.
func TestZeroValueNeverPasses(t *testing.T) {
	if new(Verdict).Outcome != Inconclusive || new(PropertyResult).Outcome != Inconclusive {
		t.Error("a zero value passes")
	}
	if v := New(history.Header{}, nil, Options{}).Finish(false); v.Outcome != Inconclusive {
		t.Errorf("an empty history: %v", v.Outcome)
	}
	var o Outcome
	if err := o.UnmarshalText([]byte("fine")); err == nil {
		t.Error("an unknown outcome was read")
	}
}

// TestDamagedHistories: events that make no sense are counted and never judged.
func TestDamagedHistories(t *testing.T) {
	for name, e := range map[string]history.Event{
		"a completion without an invocation": {Type: history.OK, Kind: history.Write, Op: 99, Time: at(3)},
		"a key out of range":                 {Type: history.Invoke, Kind: history.Acquire, Op: 98, Key: -4, Time: at(3)},
		"an absurd client":                   {Type: history.Invoke, Kind: history.Acquire, Op: 98, Client: 1 << 30, Time: at(3)},
		"an op without a number":             {Type: history.Invoke, Kind: history.Acquire, Time: at(3)},
		"a fault without particulars":        {Type: history.Fault, Time: at(3)},
		"a ledger entry of another kind":     {Type: history.Ledger, Kind: history.Read, Op: 4, Grant: 1, Seq: 1},
	} {
		h := fencedLock().history(healthy)
		h.Events = slices.Insert(h.Events, 5, e)
		if v := Judge(h, Options{}); v.Outcome != Inconclusive || len(v.Reasons) == 0 {
			t.Errorf("%s: %v %q", name, v.Outcome, v.Reasons)
		}
	}
}

// TestHistogram: a quantile is at most a sixteenth off.
func TestHistogram(t *testing.T) {
	var h histogram
	for i := int64(1); i <= 100_000; i++ {
		h.add(i * 1000)
	}
	for q, want := range map[float64]float64{0.5: 50e6, 0.99: 99e6} {
		if got := float64(h.quantile(q)); got < want*15/16 || got > want*17/16 {
			t.Errorf("quantile %v: %v, want about %v", q, got, want)
		}
	}
	for d := range int64(4096) {
		if b := histogramBucket(d); histogramBucket(histogramValue(b)) != b {
			t.Fatalf("%d ns: bucket %d holds %d ns", d, b, histogramValue(b))
		}
	}
	for from, to := int64(0), int64(0); from < 4096; from = to { // a bucket's value is its middle
		for to = from; histogramBucket(to) == histogramBucket(from); to++ {
		}
		if v := histogramValue(histogramBucket(from)); v != from+(to-from)/2 {
			t.Fatalf("the bucket from %d to %d ns is called %d", from, to, v)
		}
	}
	if got := new(histogram).quantile(0.5); got != 0 {
		t.Errorf("of nothing, half lies below %v", got)
	}
}
