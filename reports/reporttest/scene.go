// Package reporttest makes runs up, for the tests of the reports.
package reporttest

import (
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// Scene writes a small history by hand; times in ms.
type Scene struct {
	history.History
	op, seq, version int64
}

func NewScene(workload string, claims history.Claims) *Scene {
	s := &Scene{}
	s.Keys = []string{"k0", "k1"}
	s.Header = history.Header{Lock: "a-lock", Service: "redis", Workload: workload, Clients: 3, TTL: 500 * Ms,
		Stall: 50 * Ms, Claims: claims, Store: history.Store{Engine: "sqlite"}}
	return s
}

// Call records an op that ran from one instant to another, and returns its number.
func (s *Scene) Call(e history.Event, from, to float64) int64 {
	s.op++
	e.Op, e.Process = s.op, e.Client
	if e.Kind == history.Acquire {
		e.Grant = e.Op
	}
	at := func(t float64) int64 { return int64((1000 + t) * float64(Ms)) }
	invoke := history.Event{Type: history.Invoke, Kind: e.Kind, Op: e.Op, Grant: e.Grant, Client: e.Client,
		Process: e.Process, Key: e.Key, Time: at(from)}
	e.Time, e.Start, e.End = at(to), at(from), at(to)
	if e.Type == history.TypeNone {
		e.Type = history.OK
	}
	if e.Kind == history.Write {
		s.seq++
		s.version++
		e.Version, e.Replaced = s.version, s.version-1
		entry := e
		entry.Type, entry.Seq, entry.Start, entry.End = history.Ledger, s.seq, 0, 0
		s.Events = append(s.Events, invoke, entry, e)
		return e.Op
	}
	s.Events = append(s.Events, invoke, e)
	return e.Op
}

func (s *Scene) Acquire(client int32, from, to float64) int64 {
	return s.Call(history.Event{Kind: history.Acquire, Client: client}, from, to)
}

var Lease = history.Claims{Validity: "from_invocation", Token: "none", Permits: 1,
	Confirms: []string{"release", "held"}}

// Scenes are one violation of each property that the simulation does not violate.
var Scenes = []struct {
	Property string
	Make     func() *Scene
}{
	{checker.DuplicateEffect, func() *Scene {
		s := NewScene("payment", Lease)
		a, b := s.Acquire(1, 0, 1), s.Acquire(2, 600, 601)
		s.Call(history.Event{Kind: history.Write, Client: 2, Grant: b, Value: 1}, 604, 605)
		s.Call(history.Event{Kind: history.Write, Client: 1, Grant: a, Value: 1}, 701, 702)
		return s
	}},
	{checker.Continuity, func() *Scene {
		s := NewScene("counter", Lease)
		a := s.Acquire(1, 0, 1)
		s.Acquire(2, 600, 601)
		s.Call(history.Event{Kind: history.Held, Client: 1, Grant: a}, 700, 701)
		return s
	}},
	{checker.DeadGrant, func() *Scene {
		s := NewScene("counter", Lease)
		s.Call(history.Event{Kind: history.Acquire, Client: 1, Attempt: 1000 * Ms}, 0, 601)
		return s
	}},
	{checker.DeadRenewal, func() *Scene {
		claims := Lease
		claims.Confirms = []string{"renew"}
		s := NewScene("counter", claims)
		a := s.Acquire(1, 0, 1)
		s.Call(history.Event{Kind: history.Renew, Client: 1, Grant: a, Attempt: 1400 * Ms}, 400, 1001)
		return s
	}},
	{checker.StolenRelease, func() *Scene {
		s := NewScene("counter", Lease)
		a := s.Acquire(1, 0, 1)
		s.Acquire(2, 510, 511)
		s.Call(history.Event{Kind: history.Release, Client: 1, Grant: a}, 601, 602)
		s.Acquire(3, 603, 604)
		return s
	}},
	{checker.FalseBusy, func() *Scene {
		s := NewScene("counter", Lease)
		a := s.Acquire(1, 0, 1)
		s.Call(history.Event{Kind: history.Release, Client: 1, Grant: a}, 10, 11)
		s.Call(history.Event{Kind: history.Acquire, Client: 2, Type: history.Fail, Busy: true}, 20, 90)
		return s
	}},
	{checker.FalseLoss, func() *Scene {
		s := NewScene("counter", Lease)
		a := s.Acquire(1, 0, 1)
		s.Call(history.Event{Kind: history.Held, Client: 1, Grant: a, Type: history.Fail, NotHeld: true}, 100, 101)
		return s
	}},
	{checker.KeptKey, func() *Scene {
		s := NewScene("counter", Lease)
		a := s.Acquire(1, 0, 1)
		s.Call(history.Event{Kind: history.Release, Client: 1, Grant: a}, 10, 11)
		s.Acquire(2, 20, 505)
		return s
	}},
	{checker.FIFO, func() *Scene {
		claims := Lease
		claims.Fair = true
		s := NewScene("queue", claims)
		b := history.Event{Kind: history.Acquire, Client: 2, Enqueued: 1003 * Ms, First: 1038 * Ms}
		s.op++ // the waiter's number; its answer comes last
		s.Events = append(s.Events, history.Event{Type: history.Invoke, Kind: b.Kind, Client: 2, Process: 2, Op: 1,
			Grant: 1, Time: 1002 * Ms})
		c := s.Acquire(3, 4, 20)
		s.Call(history.Event{Kind: history.Release, Client: 3, Grant: c}, 30, 31)
		b.Type, b.Op, b.Grant, b.Process, b.Time, b.Start, b.End = history.OK, 1, 1, 2, 1040*Ms, 1002*Ms, 1040*Ms
		s.Events = append(s.Events, b)
		return s
	}},
	{checker.Starvation, func() *Scene {
		s := NewScene("queue", Lease)
		s.op++
		s.Events = append(s.Events, history.Event{Type: history.Invoke, Kind: history.Acquire, Client: 1, Process: 1,
			Op: 1, Grant: 1, Time: 1000 * Ms})
		for i := range 31 {
			from := float64(2 + 10*i)
			g := s.Acquire(int32(2+i%2), from, from+1)
			s.Call(history.Event{Kind: history.Release, Client: int32(2 + i%2), Grant: g}, from+2, from+3)
		}
		s.Events = append(s.Events, history.Event{Type: history.Fail, Busy: true, Kind: history.Acquire, Client: 1,
			Process: 1, Op: 1, Grant: 1, Time: 1400 * Ms, Start: 1000 * Ms, End: 1400 * Ms})
		return s
	}},
	{checker.Deadlock, func() *Scene {
		s := NewScene("transfer", Lease)
		s.Acquire(1, 0, 1)
		s.Call(history.Event{Kind: history.Acquire, Client: 2, Key: 1}, 0, 1)
		s.Call(history.Event{Kind: history.Acquire, Client: 1, Key: 1, Type: history.Fail, Busy: true}, 2, 403)
		s.Call(history.Event{Kind: history.Acquire, Client: 2, Type: history.Fail, Busy: true}, 3, 404)
		return s
	}},
	{checker.Herd, func() *Scene {
		claims := Lease
		claims.WakesOne = true
		s := NewScene("stampede", claims)
		s.Header.Clients = 60
		s.Events = append(s.Events, history.Event{Type: history.Count, Text: history.CountRequests, Time: 1000 * Ms,
			Value: 100})
		for i := range 20 {
			from := float64(2 + 10*i)
			g := s.Acquire(int32(1+i), from, from+1)
			s.Call(history.Event{Kind: history.Release, Client: int32(1 + i), Grant: g}, from+2, from+3)
		}
		s.Events = append(s.Events, history.Event{Type: history.Count, Text: history.CountRequests, Time: 1210 * Ms,
			Value: 2500})
		return s
	}},
}

// Crossed is a history of two grants, each inside the other's promise; the
// second client asks at the given instant (ms) and is frozen for a while.
func Crossed(asks float64) *Scene {
	s := NewScene("counter", history.Claims{Validity: "from_invocation", Token: "none", Permits: 1})
	a, b := s.Acquire(1, 0, 10), s.Acquire(2, asks, 20)
	s.Call(history.Event{Kind: history.Write, Client: 1, Grant: a, Value: 1}, 30, 31)
	s.Call(history.Event{Kind: history.Write, Client: 2, Grant: b, Value: 2}, 32, 33)
	for _, phase := range []string{"begin", "end"} {
		s.Events = append(s.Events, history.Event{Type: history.Fault, Time: 1110 * Ms,
			Fault: &history.FaultInfo{ID: 1, Kind: "pause", Phase: phase, Clients: []int32{2},
				From: 1040 * Ms, To: 1100 * Ms, Injected: true, Bit: true}})
	}
	s.Call(history.Event{Kind: history.Write, Client: 2, Grant: b, Value: 3}, 120, 121)
	s.Call(history.Event{Kind: history.Write, Client: 1, Grant: a, Value: 4}, 130, 131)
	s.Call(history.Event{Kind: history.Release, Client: 1, Grant: a}, 140, 141)
	s.Call(history.Event{Kind: history.Release, Client: 2, Grant: b}, 142, 143)
	s.Events = append(s.Events, history.Event{Type: history.Watermark, Time: 9000 * Ms, Start: 9000 * Ms},
		history.Event{Type: history.End, Time: 9000 * Ms})
	return s
}
