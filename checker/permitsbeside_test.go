package checker

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/oracle"
)

// mutexHistory is the history of an owner mutex: clients in turn acquire and release
// one key, and all others wait; at the end the waiters are told that it is busy. Open
// acquires, spread over the whole, are never answered; their clients are not heard of
// again. An illegal history has two holders at once, at one place in its last tenth.
func mutexHistory(clients, ops, open int, legal bool) *history.History {
	rng := rand.New(rand.NewPCG(uint64(clients), uint64(ops)))
	h := &history.History{Keys: []string{"k0"}, Header: history.Header{Clients: clients + open, TTL: 500 * ms, Stall: 50 * ms,
		Claims: history.Claims{Validity: "from_invocation", Token: "none", Permits: 1, Confirms: []string{"release"}}}}
	h.Events = make([]history.Event, 0, 2*ops+2*open)
	now, op := int64(0), int64(0)
	tick := func() int64 { now += 1000 + int64(rng.Uint32()&1023); return now }
	invoke := func(client int, kind history.Kind, grant int64) history.Event {
		op++
		if grant == 0 {
			grant = op
		}
		e := history.Event{Type: history.Invoke, Kind: kind, Time: tick(), Op: op, Grant: grant, Client: int32(client),
			Process: int32(client)}
		h.Events = append(h.Events, e)
		return e
	}
	answer := func(e history.Event, t history.Type) {
		e.Type, e.Start, e.End, e.Busy = t, e.Time+200, tick(), t == history.Fail
		e.Time = now + 200
		if e.Kind == history.Acquire && e.Type == history.OK {
			e.Attempt = e.End - 200
			e.First = e.Attempt
		}
		h.Events = append(h.Events, e)
	}
	waiting := make([]history.Event, clients)
	for c := range waiting {
		waiting[c] = invoke(c+1, history.Acquire, 0)
	}
	turns := max(1, ops/2)
	wrong := turns - turns/20 - 1
	left := open
	var held []history.Event
	for turn := range turns {
		for ; left > 0 && turn*open >= (open-left)*turns; left-- { // a place for each of them
			invoke(clients+left, history.Acquire, 0)
		}
		mine := waiting[0]
		waiting = append(waiting[:0], waiting[1:]...)
		answer(mine, history.OK)
		held = append(held, mine)
		if !legal && turn == wrong { // it keeps the key until the next one has had it
			continue
		}
		for _, g := range held {
			answer(invoke(int(g.Client), history.Release, g.Op), history.OK)
			waiting = append(waiting, invoke(int(g.Client), history.Acquire, 0))
		}
		held = held[:0]
	}
	for _, e := range waiting {
		answer(e, history.Fail)
	}
	return h
}

// porcupineNeeds is roughly what Porcupine remembers (bytes): for each op that
// it has put in order, a bit for every op.
func porcupineNeeds(ops int) int64 { return int64(ops) * int64(ops) / 8 }

// The bounds of the comparison: longer than that nobody waits, and larger than
// that is not this machine's memory.
const (
	besideLimit  = time.Second // and ten times as long from besideMany ops on
	besideMany   = 100_000
	besideMemory = 2 << 30
)

// BenchmarkBesidePorcupine judges the same histories by the sweep, with all
// properties on, and by Porcupine, which is asked for mutual exclusion alone,
// and prints the table of docs/performance.md. Porcupine's time does not include
// the reduction to holds. LOCKCHAOS_BENCH_SHORT=1 leaves the slow ones out.
func BenchmarkBesidePorcupine(b *testing.B) {
	short := os.Getenv("LOCKCHAOS_BENCH_SHORT") != ""
	var cases []besideCase
	for _, ops := range []int{100, 1_000, 10_000, 100_000, 1_000_000} {
		if short && ops >= besideMany {
			break
		}
		for _, clients := range []int{5, 20, 100} {
			for _, open := range []int{0, 1, 10, 100} {
				if ops >= besideMany && open != 0 && open != 10 {
					continue // minutes that show nothing new
				}
				for _, legal := range []bool{true, false} {
					cases = append(cases, besideCase{clients: clients, ops: ops, open: open, legal: legal})
				}
			}
		}
	}
	// all of them first: Porcupine leaves gigabytes behind, and to give them back takes a while
	for i := range cases {
		cases[i].judge(b)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "\n| clients | ops | open acquires | history | sweep, CPU time | verdict | Porcupine, CPU time | verdict | ratio |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range cases {
		out.WriteString(c.beside(b))
	}
	b.ReportMetric(0, "ns/op") // the table says it all
	fmt.Println(out.String())
}

// besideCase is one history of the comparison, and how long the sweep took for it.
type besideCase struct {
	clients, ops, open int
	legal              bool
	sweep              time.Duration
}

func (c besideCase) history() *history.History {
	return mutexHistory(c.clients, c.ops, c.open, c.legal)
}

// limit is how long Porcupine may take.
func (c besideCase) limit() time.Duration {
	if c.ops >= besideMany {
		return 10 * besideLimit
	}
	return besideLimit
}

func (c *besideCase) judge(b *testing.B) {
	h := c.history()
	var v Verdict
	c.sweep = processorTime(func() { v = Judge(h, Options{}) }, c.limit()/30, c.limit())
	if broken := v.Properties[mutualExclusion.place].Count; c.legal != (broken == 0) {
		b.Fatalf("%+v: %d violations", *c, broken)
	}
}

// beside asks Porcupine, and returns a row of the table.
func (c besideCase) beside(b *testing.B) string {
	row := fmt.Sprintf("| %d | %d | %d | %s | %s | %s |", c.clients, c.ops, c.open,
		map[bool]string{true: "legal", false: "illegal"}[c.legal], round(c.sweep),
		map[bool]string{true: "pass", false: "violated"}[c.legal])
	if porcupineNeeds(c.ops) > besideMemory {
		return row + fmt.Sprintf(" not run: it would need %d GB | | |\n", porcupineNeeds(c.ops)>>30)
	}
	holds := oracle.Holds(c.history())[0]
	result := porcupine.Unknown
	took := processorTime(func() { result = oracle.Lock{Permits: 1}.Linearizable(holds, c.limit()) }, besideLimit/30, c.limit())
	if result == porcupine.Unknown {
		return row + fmt.Sprintf(" > %s | unknown | > %s |\n", round(took), ratio(took, c.sweep))
	}
	if c.legal != (result == porcupine.Ok) {
		b.Fatalf("%+v: Porcupine says %v", c, result)
	}
	return row + fmt.Sprintf(" %s | %s | %s |\n", round(took),
		map[bool]string{true: "pass", false: "violated"}[c.legal], ratio(took, c.sweep))
}

// processorTime is how much processor time f takes: the mean of as many runs as take
// so long, at least one; the least of three such, since whatever else the machine
// does can only add to it. What takes longer than a limit is not tried again.
func processorTime(f func(), long, limit time.Duration) time.Duration {
	runtime.GC() // what others left
	least := time.Duration(math.MaxInt64)
	for range 3 {
		n, begin := 0, used()
		for spent := time.Duration(0); n == 0 || spent < long; n++ {
			f()
			spent = used() - begin
		}
		if least = min(least, max(1, (used()-begin)/time.Duration(n))); least >= limit {
			break
		}
	}
	return least
}

// used is the processor time that this process has used.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func round(d time.Duration) string {
	digits := time.Duration(1)
	for digits*1000 <= d {
		digits *= 10
	}
	return d.Round(digits).String()
}

func ratio(a, b time.Duration) string { return fmt.Sprintf("%.3g×", float64(a)/float64(b)) }
