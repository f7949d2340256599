package app

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/monotime/offset"
)

const ms = int64(time.Millisecond)

// farApart is an application on three nodes whose clocks are up to 200 ms off,
// and have been compared by round trips of some milliseconds.
type farApart struct {
	*rand.Rand
	offset [3]int64
	logs   []audit.ProcessLog
	seen   [3]offset.Comparison
}

func newFarApart(seed uint64) *farApart {
	a := &farApart{Rand: rand.New(rand.NewPCG(seed, 7))}
	for i := range a.offset {
		a.logs = append(a.logs, audit.ProcessLog{Name: fmt.Sprint("node-", i)})
		if i > 0 { // the first is our own
			a.offset[i] = a.Int64N(400*ms) - 200*ms
		}
	}
	a.offset[1+seed%2] = []int64{200 * ms, -200 * ms}[seed/2%2]
	return a
}

// base is an instant, ns since 1970.
const base = int64(1_700_000_000e9)

// line logs an op of a node's client, by the node's clock.
func (a *farApart) line(node int, means string, began, ended, token int64) {
	l := audit.Line{Means: means, Client: a.logs[node].Name, Key: "k", Token: token, Result: "ok",
		Began: base + began + a.offset[node], Ended: base + ended + a.offset[node]}
	a.logs[node].Lines = append(a.logs[node].Lines, l)
}

// works lets the clients hold the lock one after the other, each from so long
// after the one before on.
func (a *farApart) works(between func() int64) {
	now := int64(time.Second)
	for token := range int64(40) {
		node := a.IntN(3)
		a.line(node, "grant", now, now+2*ms, token+1)
		a.line(node, "write", now+5*ms, now+8*ms, token+1)
		a.line(node, "release", now+20*ms, now+22*ms, token+1)
		now += 22*ms + between()
	}
	for at := int64(0); at < now; at += 500 * ms {
		for i := range a.seen {
			there, back := a.Int64N(4*ms), a.Int64N(4*ms)
			if i == 0 {
				there, back = 0, 0
			}
			a.seen[i].Add(base+at, base+at+there+a.offset[i], base+at+there+back)
		}
	}
}

// judged is what a judge says of the logs, brought to one clock or not.
func (a *farApart) judged(t *testing.T, compared bool) checker.Verdict {
	t.Helper()
	var clockError time.Duration
	var err error
	if compared {
		clockError, err = align(a.logs, func(client string) (int64, int64, error) {
			var node int
			if _, err := fmt.Sscanf(client, "node-%d", &node); err != nil {
				return 0, 0, err
			}
			return a.seen[node].Ahead()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := audit.Join(a.logs)
	if err != nil {
		t.Fatal(err)
	}
	names, _ := audit.Number(a.logs)
	s, err := audit.Read(bytes.NewReader(text), "log", formats.JSON,
		audit.Options{Clients: names, ClockError: clockError, Validity: &audit.Validity{Released: true}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := audit.MergeFaults(s, audit.Faults{Record: &history.History{}})
	if err != nil {
		t.Fatal(err)
	}
	return checker.Judge(h, checker.Options{})
}

// No correct lock is accused because the clocks of nodes differ, by ±200 ms here;
// one that is none is, if it lets two in for longer than the clocks may be wrong.
func TestClocksOfNodes(t *testing.T) {
	accused := 0
	for seed := range uint64(60) {
		a := newFarApart(seed)
		a.works(func() int64 { return a.Int64N(30 * ms) })
		if v := a.judged(t, false); v.Outcome == checker.Violated {
			accused++
		}
		a = newFarApart(seed)
		a.works(func() int64 { return a.Int64N(30 * ms) })
		if v := a.judged(t, true); v.Outcome == checker.Violated {
			t.Errorf("seed %d: a correct lock is accused: %+v", seed, v.Properties)
		}
		broken := newFarApart(seed)
		broken.line(0, "grant", 0, 1, 100)
		broken.line(0, "release", int64(time.Hour), int64(time.Hour)+1, 100)
		broken.works(func() int64 { return broken.Int64N(30 * ms) })
		if v := broken.judged(t, true); v.Property(checker.MutualExclusion).Outcome != checker.Violated {
			t.Errorf("seed %d: a lock that lets two in for long comes to %v", seed, v.Outcome)
		}
	}
	if accused < 50 {
		t.Errorf("with the stamps as they are, %d of 60 correct locks are accused: the test shows little", accused)
	}
}
