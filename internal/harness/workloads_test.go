package harness

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/harness/workload"
	"github.com/lockchaos/lockchaos/scenarios"
)

// calm is an undisturbed run of a workload, with a TTL that no honest holder reaches.
func calm(workload string, clients, keys int) scenarios.Plan {
	p := plan("redis-setnx", 20*time.Second)
	// it ends as soon as it has shown what honest asks for, and more
	p.Scenario.Enough, p.Scenario.Needs = 1, scenarios.Needs{Grants: 24, Handovers: 8}
	p.Scenario.Workload.Kind, p.Scenario.Clients, p.Scenario.Keys = workload, clients, keys
	p.Scenario.TTL, p.Scenario.Faults = scenarios.Duration(20*time.Second), nil
	p.Scenario.Workload.AcquireTimeout = scenarios.Duration(30 * time.Second)
	// Long enough away that another client, which asks again and again, is the
	// next: else hand-overs are a matter of luck.
	p.Scenario.Workload.Rest = scenarios.Range{Min: 2e7, Max: 4e7}
	return p
}

// frozen is a run of a workload whose holders are frozen past their TTL between read and write.
func frozen(workload string, clients, keys int) scenarios.Plan {
	p := plan("redis-setnx", 3*time.Second)
	p.Scenario.Workload.Kind, p.Scenario.Clients, p.Scenario.Keys = workload, clients, keys
	return p
}

// carried runs a plan on Redis and returns its history.
func carried(t *testing.T, kind clients.Kind, p scenarios.Plan) *history.History {
	t.Helper()
	h, err := runs(t, t.Context(), kind, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// honest fails the test if a property is violated. A run in which there was
// little to judge decides nothing.
func honest(t *testing.T, h *history.History) {
	t.Helper()
	if v := unviolated(t, h); v.Stats.Grants < 10 || v.Stats.Handovers < 3 {
		decided.Lacks("ten grants and three hand-overs: it has %d and %d", v.Stats.Grants, v.Stats.Handovers)
	}
}

// unviolated judges a history in which no property may be violated.
func unviolated(t *testing.T, h *history.History) checker.Verdict {
	t.Helper()
	v := checker.Judge(h, checker.Options{})
	for _, p := range v.Properties {
		if p.Outcome == checker.Violated && !unfair(h, p.Name) {
			t.Errorf("%s is violated: %+v", p.Name, p.Violations)
		}
	}
	return v
}

// unfair reports whether the property is that nobody waits too long, and the lock
// one that lets chance decide who is next.
func unfair(h *history.History, property string) bool {
	return property == checker.Starvation && !h.Header.Claims.Fair
}

// written are the values that the store accepted, by key, in its order.
func written(h *history.History) map[history.KeyID][]int64 {
	all := map[history.KeyID][]int64{}
	for i := range h.Events {
		if e := &h.Events[i]; e.Type == history.Ledger && e.Kind == history.Write && !e.Refused {
			all[e.Key] = append(all[e.Key], e.Value)
		}
	}
	return all
}

// repeated counts the values that were written to a key again.
func repeated(h *history.History) (n int) {
	for _, values := range written(h) {
		slices.Sort(values)
		n += len(values) - len(slices.Compact(values))
	}
	return n
}

// Every order goes to two clients, who both look at it; one charges it. A
// frozen charger charges it again.
func TestPayment(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() {
		h := carried(t, redis.Setnx, calm("payment", 4, 50))
		honest(t, h)
		looked := map[history.KeyID]map[int32]bool{}
		for i := range h.Events {
			if e := &h.Events[i]; e.Type == history.OK && e.Kind == history.Read {
				if looked[e.Key] == nil {
					looked[e.Key] = map[int32]bool{}
				}
				looked[e.Key][e.Client] = true
			}
		}
		both := 0
		for _, who := range looked {
			if len(who) > 1 {
				both++
			}
		}
		if both < len(looked)-2 { // the last deliveries may be cut
			t.Errorf("%d orders were looked at, %d of them by two clients", len(looked), both)
		}
		if n := repeated(h); n > 0 {
			t.Errorf("%d orders were charged twice", n)
		}
		if charged := written(h); len(looked) < 10 || len(charged) < 10 {
			decided.Lacks("ten orders that were looked at and charged: it has %d and %d", len(looked), len(charged))
		}
	})
	decided.Run(t, func() {
		if repeated(carried(t, redis.Setnx, frozen("payment", 4, 400))) == 0 {
			decided.Lacks("an order that was charged twice, by a holder that was frozen past its lease")
		}
	})
	// A fence stops the second charge.
	f := frozen("payment", 4, 400)
	f.Scenario.Lock, f.Scenario.Store.Kind = "redis-setnx-fenced", "fenced"
	decided.Run(t, func() {
		h := carried(t, redis.SetnxFenced, f)
		if n := repeated(h); n > 0 {
			t.Errorf("%d orders were charged twice behind a fence", n)
		}
		if len(ends(h)) == 0 {
			decided.Lacks("a holder that was frozen")
		}
	})
}

// A leader runs several ticks in a term, and none runs twice. A frozen leader runs one again.
func TestLeader(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() {
		h := carried(t, redis.Setnx, calm("leader", 3, 1))
		honest(t, h)
		terms := map[int64]int{}
		for i := range h.Events {
			if e := &h.Events[i]; e.Type == history.Ledger && e.Kind == history.Write {
				terms[e.Grant]++
			}
		}
		for grant, ticks := range terms {
			if ticks < workload.FewestTicks || ticks > workload.MostTicks {
				t.Errorf("%d ticks under grant %d", ticks, grant)
			}
		}
		for i, tick := range written(h)[0] {
			if tick != int64(i+1) {
				t.Fatalf("tick %d ran as number %d", tick, i+1)
			}
		}
	})
	decided.Run(t, func() {
		if repeated(carried(t, redis.Setnx, frozen("leader", 3, 1))) == 0 {
			decided.Lacks("a tick that ran twice, by a leader that was frozen past its lease")
		}
	})
}

// cycles counts the times at which two clients each held a key and waited for
// the other's, for at least as long.
func cycles(h *history.History, atLeast time.Duration) (n int) {
	type wait struct {
		key   history.KeyID
		since int64
		op    int64
	}
	holds, waits := map[int32]map[history.KeyID]bool{}, map[int32]wait{}
	for i := range h.Events {
		e := &h.Events[i]
		if holds[e.Client] == nil {
			holds[e.Client] = map[history.KeyID]bool{}
		}
		switch {
		case e.Kind == history.Acquire && e.Type == history.Invoke:
			waits[e.Client] = wait{e.Key, e.Time, e.Op}
		case e.Kind == history.Acquire:
			w := waits[e.Client]
			for other, theirs := range waits {
				since := max(w.since, theirs.since)
				if other != e.Client && holds[e.Client][theirs.key] && holds[other][w.key] && e.Time-since >= int64(atLeast) {
					n++
				}
			}
			delete(waits, e.Client)
			holds[e.Client][e.Key] = e.Type == history.OK
		case e.Kind == history.Release && e.Type == history.Invoke:
			delete(holds[e.Client], e.Key)
		}
	}
	return n
}

// Transfers move amounts and keep the sum. In one order for all no two clients wait
// for each other; as they come they do, until a lease is over; trying gives way soon.
func TestTransfer(t *testing.T) {
	t.Parallel()
	for _, order := range []string{workload.OrderOrdered, workload.OrderUnordered, workload.OrderTry} {
		t.Run(order, func(t *testing.T) {
			p := calm("transfer", 4, 3)
			p.Scenario.Workload.Order = order
			if order == workload.OrderUnordered {
				meet(t, p)
				return // leases run out under waiting clients: the sum is the lock's to lose
			}
			if order == workload.OrderTry {
				p.Scenario.Workload.TryFor = scenarios.Duration(30 * time.Millisecond)
			}
			decided.Run(t, func() {
				h := carried(t, redis.Setnx, p)
				if stuck := cycles(h, atLeast); stuck > 0 {
					amiss(t, h, "%d cycles of waiting clients", stuck)
				}
				honest(t, h)
				sum := int64(0)
				for _, values := range written(h) {
					sum += values[len(values)-1]
				}
				if len(written(h)) != 3 || sum != 0 {
					t.Errorf("the sum of %d accounts is %d", len(written(h)), sum)
				}
			})
		})
	}
}

// atLeast is how long two clients wait for each other before it counts.
const atLeast = 200 * time.Millisecond

// meet runs transfers in no order until two clients have waited for each other.
func meet(t *testing.T, p scenarios.Plan) {
	t.Helper()
	// any two transfers take the same two locks, as often as not in opposite orders
	p.Scenario.Keys = 2
	p.Scenario.TTL = scenarios.Duration(2 * atLeast)
	decided.Run(t, func() {
		if cycles(carried(t, redis.Setnx, p), atLeast) == 0 {
			decided.Lacks("two clients that waited for each other")
		}
	})
}

// In a queue all wait for one key, and a fair lock lets each have its turn.
func TestQueue(t *testing.T) {
	t.Parallel()
	p := calm("queue", 5, 3)
	p.Scenario.Lock = redis.Fair.Name
	decided.Run(t, func() {
		h := carried(t, redis.Fair, p)
		honest(t, h)
		if len(written(h)) != 1 {
			t.Errorf("%d keys were written to", len(written(h)))
		}
	})
}

// Under a permit two writes are made, and nothing is read.
func TestSemaphore(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() {
		h := carried(t, redis.Setnx, calm("semaphore", 3, 1))
		honest(t, h)
		writes := map[int64]int{}
		for i := range h.Events {
			switch e := &h.Events[i]; {
			case e.Kind == history.Read:
				t.Fatalf("a read: %+v", e)
			case e.Type == history.OK && e.Kind == history.Write:
				writes[e.Grant]++
			}
		}
		for grant, n := range writes {
			if n != 2 {
				t.Errorf("%d writes under grant %d", n, grant)
			}
		}
	})
	// A permit that ran out under its frozen holder is given to another, and both write.
	decided.Run(t, func() {
		cameTo(t, carried(t, redis.Setnx, frozen("semaphore", 3, 1)), checker.MutualExclusion, checker.Violated)
	})
}

// Several keys are acquired by one call, and released by one. The history tells of both
// by an op for each key, of the same stamps, and each key is written under its own.
func TestSets(t *testing.T) {
	t.Parallel()
	p := calm("sets", 3, 4)
	p.Scenario.Lock = redis.Multi.Name
	decided.Run(t, func() {
		h := carried(t, redis.Multi, p)
		honest(t, h)
		view := history.NewView(h)
		calls := map[history.Kind]int{}
		for _, o := range view.Ops {
			last := &h.Events[o.Places[len(o.Places)-1]]
			switch {
			case o.Kind == history.Write && view.Op(o.Grant).Key != o.Key:
				t.Errorf("a write of %s under a grant of another key", h.Keys[o.Key])
			case o.Set == 0:
				continue
			case o.Set == o.ID:
				calls[o.Kind]++
			}
			first := view.Op(o.Set)
			if one := &h.Events[first.Places[len(first.Places)-1]]; one.Start != last.Start || one.End != last.End ||
				one.Type != last.Type || first.Client != o.Client || first.Kind != o.Kind {
				t.Errorf("ops of one call differ: %+v, %+v", one, last)
			}
		}
		if calls[history.Acquire] == 0 || calls[history.Release] == 0 {
			decided.Lacks("calls for several keys: %v", calls)
		}
	})
}

// A reader reads twice under a grant that it may share, a writer reads and
// writes. The history tells the mode of every acquire.
func TestReaders(t *testing.T) {
	t.Parallel()
	p := calm("counter", 4, 1)
	p.Scenario.Lock, p.Scenario.Workload.Readers = etcd.ReadWrite.Name, 0.6
	decided.Run(t, func() {
		h := carried(t, etcd.ReadWrite, p)
		honest(t, h)
		modes, reads, writes, mixed := map[int64]history.Mode{}, map[int64]int{}, map[int64]int{}, map[history.Mode]int{}
		for i := range h.Events {
			e := &h.Events[i]
			switch {
			case e.Type == history.Invoke && e.Kind == history.Acquire:
				modes[e.Grant] = e.Mode
				mixed[e.Mode]++
			case e.Type == history.OK && e.Kind == history.Read:
				reads[e.Grant]++
			case e.Type == history.OK && e.Kind == history.Write:
				writes[e.Grant]++
			}
		}
		if mixed[history.ModeRead] == 0 || mixed[history.ModeWrite] == 0 {
			decided.Lacks("readers and writers: %v", mixed)
		}
		if !h.Header.Claims.ReadWrite || mixed[history.ModeNone] > 0 {
			t.Errorf("claims %+v, modes %v", h.Header.Claims, mixed)
		}
		for grant, n := range reads {
			if want := map[history.Mode]int{history.ModeRead: 2, history.ModeWrite: 1}[modes[grant]]; n != want {
				t.Errorf("%d reads under grant %d (mode %v)", n, grant, modes[grant])
			}
		}
		for grant := range writes {
			if modes[grant] != history.ModeWrite {
				t.Errorf("a write under grant %d (mode %v)", grant, modes[grant])
			}
		}
	})
	// A holder that is frozen past its session comes late beside a writer, or
	// writes beside anybody.
	p = frozen("counter", 4, 1)
	p.Scenario.Lock, p.Scenario.Workload.Readers = etcd.ReadWrite.Name, 0.5
	p.Scenario.TTL, p.Scenario.Duration = scenarios.Duration(time.Second), scenarios.Duration(4*time.Second)
	p.Scenario.Faults[0].For = scenarios.Duration(2800 * time.Millisecond)
	decided.Run(t, func() {
		cameTo(t, carried(t, etcd.ReadWrite, p), checker.MutualExclusion, checker.Violated)
	})
}

func TestStampede(t *testing.T) {
	t.Parallel()
	const clients = 12
	p := calm("stampede", clients, 1)
	// the measured time begins when all wait, which takes a busy machine a while
	p.Scenario.Duration = scenarios.Duration(6 * time.Second)
	decided.Run(t, func() {
		h := carried(t, redis.Setnx, p)
		honest(t, h)
		var counts []int64
		open, releases := 0, 0
		for i := range h.Events {
			e := &h.Events[i]
			switch {
			case e.Type == history.Count:
				if e.Text != history.CountRequests {
					t.Errorf("%+v", e)
				}
				if counts = append(counts, e.Value); len(counts) == 1 && open != clients-1 {
					t.Errorf("%d of %d waited when the measured time began", open, clients)
				}
			case e.Kind == history.Acquire && e.Type == history.Invoke:
				open++
			case e.Kind == history.Acquire:
				open--
			case e.Kind == history.Release && e.Type == history.OK && len(counts) == 1:
				releases++
			}
		}
		if len(counts) < 2 || releases < 10 {
			decided.Lacks("ten releases between two counts: counts %v, %d releases", counts, releases)
		}
		if len(counts) != 2 || counts[1]-counts[0] < int64(releases) {
			t.Errorf("counts %v, %d releases between them", counts, releases)
		}
	})
}

// A lock that can be asked is asked before each write, and the application goes
// on whatever it says.
func TestAsk(t *testing.T) {
	t.Parallel()
	p := frozen("counter", 3, 1)
	p.Scenario.Workload.Ask = true
	decided.Run(t, func() {
		h := carried(t, redis.Setnx, p)
		answers := map[history.Type]int{}
		denied, wrote := map[int64]bool{}, 0
		for i := range h.Events {
			e := &h.Events[i]
			switch {
			case e.Kind == history.Held && e.Type != history.Invoke:
				answers[e.Type]++
				denied[e.Grant] = e.NotHeld
			case e.Kind == history.Write && e.Type == history.OK && denied[e.Grant]:
				wrote++
			}
		}
		if answers[history.OK] == 0 || answers[history.Fail] == 0 || wrote == 0 {
			decided.Lacks("both answers, and a write in spite of a no: answers %v, %d such writes", answers, wrote)
		}
	})
}

func TestUnknownWorkload(t *testing.T) {
	t.Parallel()
	p := calm("juggling", 2, 1)
	if _, err := runs(t, t.Context(), redis.Setnx, p, nil); err == nil ||
		err.Error() != fmt.Sprintf("there is no workload named %q", "juggling") {
		t.Errorf("got %v", err)
	}
}
