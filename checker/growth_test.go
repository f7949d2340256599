package checker

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// tape is a history that is written by hand, an event at a time.
type tape struct {
	header  history.Header
	keys    []string
	events  []history.Event
	now, op int64
	step    int64 // between two events
	seq     int64
	ledger  []history.Event // what the store tells at the end
}

func newTape(keys, clients int) *tape {
	t := &tape{header: loopHeader(0, 0), now: 1000, step: 1000}
	t.header.Clients, t.header.Store = clients, history.Store{}
	for i := range keys {
		t.keys = append(t.keys, fmt.Sprintf("k%d", i))
	}
	return t
}

func (t *tape) tick() int64 { t.now += t.step; return t.now }

// invoke begins an op of a client; grant is 0 for an acquire.
func (t *tape) invoke(kind history.Kind, client, key int, grant int64) history.Event {
	t.op++
	e := history.Event{Type: history.Invoke, Kind: kind, Key: history.KeyID(key), Client: int32(client),
		Process: int32(client), Op: t.op, Grant: grant, Time: t.tick()}
	if kind == history.Acquire {
		e.Grant = t.op
	}
	t.events = append(t.events, e)
	return e
}

// ok completes an op, and returns its grant.
func (t *tape) ok(e history.Event) int64 {
	queued := e.Time + 200
	e.Type, e.Start, e.End, e.Time = history.OK, e.Time+100, t.now+t.step-100, t.now+t.step
	if t.now = e.Time; e.Kind == history.Acquire {
		e.Enqueued, e.Attempt, e.First = queued, e.End-50, e.End-50
		t.seq++
		e.Token = history.TokenOf(t.seq)
	}
	t.events = append(t.events, e)
	return e.Grant
}

func (t *tape) take(client, key int) int64 { return t.ok(t.invoke(history.Acquire, client, key, 0)) }

func (t *tape) giveBack(client, key int, grant int64) {
	t.ok(t.invoke(history.Release, client, key, grant))
}

// rotation has n clients in turns: those that wait for a key, and the holders,
// of whom the one that came first gives it back.
func (t *tape) rotation(n, holders, grants int) {
	var waiting []history.Event
	step := t.step
	t.step = 1000 // the key is free as yet
	for c := range n {
		waiting = append(waiting, t.invoke(history.Acquire, c+1, 0, 0))
	}
	t.step = step
	var held []history.Event
	for range grants {
		if len(held) == holders {
			e := held[0]
			held = held[1:]
			t.giveBack(int(e.Client), 0, e.Op)
			waiting = append(waiting, t.invoke(history.Acquire, int(e.Client), 0, 0))
		}
		e := waiting[0]
		waiting = waiting[1:]
		t.ok(e)
		held = append(held, e)
	}
}

// growth are histories that grow in one direction, which a judge may find dear:
// n is the least of the three sizes that are measured.
var growth = []struct {
	name  string
	n     int
	write func(n int) *tape
}{
	{"clients-by-keys", 500, func(n int) *tape { // each client has a key of its own, and closes
		t := newTape(n, n)
		for c := range n {
			for range 4 {
				t.giveBack(c+1, c, t.take(c+1, c))
			}
		}
		for c := range n {
			t.ok(t.invoke(history.Close, c+1, 0, 0))
		}
		return t
	}},
	{"keys", 25_000, func(n int) *tape { // ten clients visit every key
		t := newTape(n, 10)
		for k := range n {
			t.giveBack(k%10+1, k, t.take(k%10+1, k))
		}
		for c := range 10 {
			t.ok(t.invoke(history.Close, c+1, 0, 0))
		}
		return t
	}},
	{"permits", 100, func(n int) *tape {
		t := newTape(1, 2*n)
		t.header.Claims.Permits, t.header.Claims.Token = n, "none"
		t.rotation(2*n, n, 6*n)
		return t
	}},
	{"fair-queue", 2000, func(n int) *tape {
		t := newTape(1, n)
		t.header.Claims.Fair = true
		t.rotation(n, 1, 3*n)
		return t
	}},
	{"clients-of-one-key", 2000, func(n int) *tape { // who waits for longer than a lock's patience
		t := newTape(1, n)
		t.step = int64(5 * time.Millisecond)
		t.rotation(n, 1, 3*n)
		return t
	}},
	{"ledger-at-the-end", 5000, func(n int) *tape {
		t := newTape(1, 10)
		t.header.Store.Engine = "sqlite"
		for i := range n {
			c := i%10 + 1
			g := t.take(c, 0)
			w := t.invoke(history.Write, c, 0, g)
			t.ok(w)
			w.Type, w.Time, w.Seq, w.Version, w.Replaced = history.Ledger, t.now, int64(i+1), int64(i+1), int64(i)
			t.ledger = append(t.ledger, w)
			t.giveBack(c, 0, g)
		}
		for _, w := range t.ledger {
			w.Time = t.tick()
			t.events = append(t.events, w)
		}
		t.events = append(t.events, history.Event{Type: history.Watermark, Time: t.tick(), Start: t.now})
		return t
	}},
	{"readers", 1000, func(n int) *tape {
		t := newTape(1, n)
		t.header.Claims.ReadWrite = true
		t.rotation(2*n, n, 6*n)
		for i := range t.events {
			if e := &t.events[i]; e.Type == history.Invoke && e.Kind == history.Acquire {
				e.Mode = history.ModeRead
			}
		}
		return t
	}},
	{"nested", 1000, func(n int) *tape {
		t := newTape(1, 1)
		t.header.Claims.Reentrant = true
		var held []int64
		for range n {
			held = append(held, t.take(1, 0))
		}
		for i := range held {
			t.giveBack(1, 0, held[n-1-i])
		}
		return t
	}},
	{"faults", 5000, func(n int) *tape { // each is over before the next one begins, while a client waits
		t := newTape(1, 10)
		t.step = int64(time.Millisecond)
		for i := range n {
			f := history.FaultInfo{ID: i + 1, Kind: "pause", Phase: "begin", Clients: []int32{int32(i%10 + 1)}, Injected: true, Bit: true}
			t.events = append(t.events, history.Event{Type: history.Fault, Time: t.tick(), Fault: &f})
			end := f
			end.Phase, end.From, end.To = "end", t.now, t.now+t.step
			t.events = append(t.events, history.Event{Type: history.Fault, Time: t.tick(), Fault: &end})
			t.giveBack(i%10+1, 0, t.take(i%10+1, 0))
		}
		return t
	}},
}

// BenchmarkGrowth judges histories of N, 2N and 4N of something: what an event costs
// must not grow with it, but for a logarithm and the memory that is farther away.
func BenchmarkGrowth(b *testing.B) {
	for _, g := range growth {
		for n := g.n; n <= 4*g.n; n *= 2 {
			b.Run(fmt.Sprintf("%s/%d", g.name, n), func(b *testing.B) {
				t := g.write(n)
				var cpu time.Duration
				var held uint64
				for range b.N {
					before := heapInUse()
					start := used()
					s := New(t.header, t.keys, Options{})
					for i := range t.events {
						s.Add(&t.events[i])
					}
					cpu += used() - start
					held = max(heapInUse(), before) - before
					start = used()
					if v := s.Finish(false); v.Outcome == Violated {
						b.Fatalf("%+v", v)
					}
					cpu += used() - start
				}
				b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N*len(t.events)), "cpu-ns/event")
				b.ReportMetric(float64(held)/(1<<20), "held-MB")
			})
		}
	}
}

// heapInUse is what is reachable.
func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
