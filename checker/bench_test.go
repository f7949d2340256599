package checker

import (
	"runtime"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// loop is a block of events that can be judged again and again as one ever
// longer history: between two rounds every stamp and number in it is moved on
// in place, so that a history of any length needs the memory of one block.
type loop struct {
	events []history.Event
	round  history.Event // what one round adds to each numbered field
}

// contendedLoop has keys with clients each, who take turns: each waits while the
// one before it holds, reads, writes and releases. The ledger follows in batches.
func contendedLoop(keys, clients, turns int) *loop {
	l := &loop{}
	var ledger []history.Event
	var now, op, seq int64 = 1000, 0, 0
	tick := func() int64 { now += 1000; return now }
	version := int64(0)
	waiting := make([]history.Event, keys)
	invoke := func(kind history.Kind, k int, client int32, grant int64) history.Event {
		op++
		e := history.Event{Type: history.Invoke, Kind: kind, Key: history.KeyID(k), Client: client, Process: client,
			Op: op, Grant: grant, Time: tick()}
		if kind == history.Acquire {
			e.Grant = op
		}
		l.events = append(l.events, e)
		return e
	}
	complete := func(e history.Event, set func(*history.Event)) {
		e.Type, e.Start, e.End = history.OK, e.Time+100, tick()
		e.Time = tick()
		if set != nil {
			set(&e)
		}
		l.events = append(l.events, e)
	}
	store := func(e history.Event, v, replaced int64) {
		seq++
		e.Type, e.Time, e.Seq, e.Version, e.Replaced = history.Ledger, e.Time+500, seq, v, replaced
		ledger = append(ledger, e)
	}
	for k := range keys {
		waiting[k] = invoke(history.Acquire, k, int32(k*clients+1), 0)
	}
	for turn := range turns {
		version++
		for k := range keys {
			mine := waiting[k]
			complete(mine, func(e *history.Event) { e.Token = history.TokenOf(int64(turn + 1)) })
			// the last turn of a round hands over to nobody, so that rounds join
			if turn+1 < turns {
				waiting[k] = invoke(history.Acquire, k, int32(k*clients+(turn+1)%clients+1), 0)
			}
			r := invoke(history.Read, k, mine.Client, mine.Op)
			complete(r, func(e *history.Event) { e.Version = version - 1 })
			store(r, version-1, 0)
			w := invoke(history.Write, k, mine.Client, mine.Op)
			complete(w, func(e *history.Event) { e.Version, e.Replaced = version, version-1 })
			store(w, version, version-1)
			complete(invoke(history.Release, k, mine.Client, mine.Op), nil)
		}
		if turn%16 == 15 || turn+1 == turns {
			l.events = append(l.events, ledger...)
			l.events = append(l.events, history.Event{Type: history.Watermark, Time: tick(), Start: now})
			ledger = ledger[:0]
		}
	}
	l.round = history.Event{Time: now, Op: op, Seq: seq, Version: version, Token: history.TokenOf(int64(turns))}
	return l
}

// next moves the block on by one round.
func (l *loop) next() {
	for i := range l.events {
		e := &l.events[i]
		e.Time += l.round.Time
		if e.Start != 0 {
			e.Start += l.round.Time
		}
		if e.End != 0 {
			e.End += l.round.Time
		}
		if e.Op != 0 {
			e.Op += l.round.Op
			e.Grant += l.round.Op
		}
		if e.Seq != 0 {
			e.Seq += l.round.Seq
		}
		if e.Type != history.Invoke && (e.Kind == history.Read || e.Kind == history.Write) {
			e.Version += l.round.Version
		}
		if e.Kind == history.Write && e.Type != history.Invoke {
			e.Replaced += l.round.Version
		}
		if e.Token.Given() {
			e.Token = history.TokenOf(e.Token.Number() + l.round.Token.Number())
		}
	}
}

func loopHeader(keys, clients int) history.Header {
	return history.Header{Clients: keys * clients, TTL: 500 * ms, Stall: 50 * ms,
		Claims: history.Claims{Validity: "from_invocation", Token: "fencing", Permits: 1, Confirms: []string{"renew", "release"}},
		Store:  history.Store{Engine: "sqlite"}, Needs: history.Needs{Grants: 20, Handovers: 5}}
}

// BenchmarkBehindOpenAcquires judges 100,000 ops among which ten acquires are
// never answered, so that every grant since is remembered: of locks of all
// kinds, each of which asks something else of the grants before.
func BenchmarkBehindOpenAcquires(b *testing.B) {
	for _, lock := range []struct {
		name    string
		declare func(*history.Claims)
	}{
		{"plain", func(*history.Claims) {}},
		{"fencing", func(c *history.Claims) { c.Token = "fencing" }},
		{"fair", func(c *history.Claims) { c.Fair = true }},
		{"semaphore", func(c *history.Claims) { c.Permits = 2 }},
		{"reentrant", func(c *history.Claims) { c.Reentrant = true }},
	} {
		b.Run(lock.name, func(b *testing.B) {
			h := mutexHistory(20, 100_000, 10, true)
			lock.declare(&h.Header.Claims)
			for i := range h.Events {
				if e := &h.Events[i]; e.Attempt != 0 {
					e.Token, e.Enqueued = history.TokenOf(e.Op), e.Attempt
				}
			}
			b.ReportAllocs()
			start := used()
			for b.Loop() {
				if v := Judge(h, Options{}); v.Properties[mutualExclusion.place].Count != 0 {
					b.Fatalf("%d violations", v.Properties[mutualExclusion.place].Count)
				}
			}
			b.ReportMetric(float64(len(h.Events)*b.N)/(used()-start).Seconds(), "events/cpu-s")
		})
	}
}

// BenchmarkTenMillionEvents judges ten million events an iteration, all
// properties on. Generating them is not measured.
func BenchmarkTenMillionEvents(b *testing.B) {
	const total, keys, clients = 10_000_000, 4, 4
	for range b.N {
		l := contendedLoop(keys, clients, 400)
		s := New(loopHeader(keys, clients), []string{"k0", "k1", "k2", "k3"}, Options{})
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var spent, cpu time.Duration
		n := 0
		for n < total {
			start, startCPU := time.Now(), used()
			for i := range l.events {
				s.Add(&l.events[i])
			}
			spent, cpu = spent+time.Since(start), cpu+used()-startCPU
			n += len(l.events)
			l.next()
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(n)/spent.Seconds(), "events/s")
		b.ReportMetric(float64(n)/cpu.Seconds(), "events/cpu-s") // the same on a busy machine
		// Below zero when the collection freed more of what was there before than the judge holds.
		b.ReportMetric(float64(max(0, int64(after.HeapAlloc)-int64(before.HeapAlloc))), "live-B")
		v := s.Finish(false)
		for _, r := range v.Properties {
			if r.Name != StuckLock && r.Outcome != Pass && r.Outcome != NotJudged {
				b.Fatalf("%s: %v %s %v", r.Name, r.Outcome, r.Why, v.Reasons)
			}
		}
		if v.Stats.OpenMax > 40*keys*clients {
			b.Fatalf("%d grants remembered at once", v.Stats.OpenMax)
		}
		b.ReportMetric(float64(v.Stats.OpenMax), "grants-max")
	}
}
