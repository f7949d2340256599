package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/history"
)

// The slow checker's reading of keys that are stuck while the clients work. For
// each acquire that has completed it looks through the whole history before.

// slowKey is what a history shows of a key before one of its events.
type slowKey struct {
	free     int64           // when somebody was last surely rid of it
	left     int64           // when somebody last left something behind whose lease runs on
	leases   map[int64]int64 // what may still be held, and from when its lease runs
	unknown  map[int64]bool  // of these, the acquires of unknown fate
	owner    map[int64]int32
	over     map[int32]int64
	open     map[int64]history.Event // acquires
	granted  int
	answers  []int64
	sessions bool
}

func slowKeyBefore(h *history.History, key history.KeyID, at int) *slowKey {
	k := &slowKey{leases: map[int64]int64{}, unknown: map[int64]bool{}, owner: map[int64]int32{},
		over: map[int32]int64{}, open: map[int64]history.Event{}}
	k.sessions = h.Header.Claims.Validity == "session" || h.Header.Claims.NoExpiry
	for _, e := range h.Events[:at] {
		end := stampOr(e.End, e.Time)
		switch {
		case e.Type == history.Exit, e.Kind == history.Close && e.Type == history.OK:
			k.leave(e.Client, end)
			continue
		case e.Type == history.OK && (e.Kind == history.Acquire || e.Kind == history.Release), e.Busy:
			k.answers = append(k.answers, end)
		}
		if e.Key != key {
			continue
		}
		switch {
		case e.Kind == history.Acquire:
			k.acquire(e, end)
		case k.leases[e.Grant] == 0:
		case e.Kind == history.Release && (e.Type == history.OK || e.Type == history.Fail && e.NotHeld):
			delete(k.leases, e.Grant)
			k.free, k.over[e.Client] = max(k.free, end), max(k.over[e.Client], end)
			if e.Type == history.Fail {
				k.left = max(k.left, end)
			}
		case e.Kind == history.Renew && e.Type == history.OK:
			k.leases[e.Grant] = max(k.leases[e.Grant], end)
		case e.Kind == history.Renew && e.Type == history.Info:
			k.leases[e.Grant] = forever
		}
	}
	return k
}

func (k *slowKey) leave(client int32, t int64) {
	for id, c := range k.owner {
		if _, loose := k.leases[id]; c == client && loose {
			delete(k.leases, id)
			k.free, k.left, k.over[client] = max(k.free, t), max(k.left, t), max(k.over[client], t)
		}
	}
	for id, e := range k.open {
		if e.Client == client {
			delete(k.open, id)
			k.free, k.left = max(k.free, t), max(k.left, t)
		}
	}
}

func (k *slowKey) acquire(e history.Event, end int64) {
	if e.Type == history.Invoke {
		k.open[e.Op] = e
		return
	}
	delete(k.open, e.Op)
	if slowAnswered(e) {
		k.over[e.Client] = max(k.over[e.Client], end)
	}
	if e.Type == history.OK || e.Type == history.Info {
		k.leases[e.Op], k.owner[e.Op], k.unknown[e.Op] = end, e.Client, e.Type == history.Info
	}
	if e.Type == history.OK {
		k.granted++
	}
}

// since is since when nobody can hold the key, a lease of a TTL aside.
func (k *slowKey) since() int64 {
	t := k.free
	for id, from := range k.leases {
		if k.sessions && !k.unknown[id] {
			return forever
		}
		t = max(t, from)
	}
	return t
}

// stays is until when anything may stay at the service that nobody has any more.
func (k *slowKey) stays(from, ttl, abandons int64) int64 {
	t := max(from+abandons, k.left+ttl)
	for id, leased := range k.leases {
		if !k.unknown[id] {
			t = max(t, leased+ttl)
		}
	}
	return t
}

// quiet is for how long the service may have been away.
func (k *slowKey) quiet(from, to int64) (sum int64) {
	last := int64(0)
	gap := func(a, b int64) {
		if a, b = max(a, from), min(b, to); a < b {
			sum += b - a
		}
	}
	for _, t := range k.answers {
		if last != 0 && t-last > int64(time.Second) {
			gap(last, t)
		}
		last = max(last, t)
	}
	if last = max(last, from); to-last > int64(time.Second) {
		gap(last, to)
	}
	return sum
}

// slowAnswered reports whether an acquire has completed, and reported, and was no error.
func slowAnswered(e history.Event) bool {
	return e.Kind == history.Acquire && e.Start != 0 && (e.Type == history.OK || e.Type == history.Info || e.Type == history.Fail && e.Busy)
}

// calm is from when on nothing disturbs a waiter.
func (s *slow) calm(k *slowKey, waiter int32, from, to int64) int64 {
	for _, f := range s.faults {
		if slowClock(f) && (f.Service || slices.Contains(f.Clients, waiter)) && f.From <= to {
			return forever
		}
		matters := f.Injected && f.Service
		for _, c := range f.Clients {
			until := k.over[c]
			for id := range k.leases {
				if k.owner[id] == c {
					until = forever
				}
			}
			for _, e := range k.open {
				if e.Client == c {
					until = forever
				}
			}
			matters = matters || f.Injected && (c == waiter || f.From <= until)
		}
		if matters && f.From <= to {
			from = max(from, 2*f.To-f.From)
		}
	}
	return from
}

func slowClock(f history.FaultInfo) bool { return strings.HasPrefix(f.Kind, "clock-") }

// misled is until when an acquire of the key that had begun before an event may
// have slept by its client's wrong clock.
func (s *slow) misled(h *history.History, key history.KeyID, at int) (until int64) {
	for i, inv := range h.Events[:at] {
		if inv.Type != history.Invoke || inv.Kind != history.Acquire || inv.Key != key {
			continue
		}
		known, slept := h.Events[at].Time, int64(forever)
		for _, e := range h.Events[i+1 : at+1] {
			switch {
			case slept != forever:
			case e.Type == history.Exit && e.Client == inv.Client:
				slept = e.Time
			case e.Op == inv.Op && e.Type != history.Invoke && e.Kind == history.Acquire:
				if known = e.Time; e.Type != history.Info || e.Start != 0 {
					slept = stampOr(e.End, e.Time)
				}
			}
		}
		wrong := func(f history.FaultInfo) bool {
			return slowClock(f) && slices.Contains(f.Clients, inv.Client) && f.From <= known
		}
		if slices.ContainsFunc(s.faults, wrong) {
			until = max(until, slept)
		}
	}
	return until
}

// stalled is for how long the machine stalled anybody: it looks at every time
// between two instants at which that can have changed.
func (s *slow) stalled(from, to int64) (sum int64) {
	edges := []int64{from, to}
	for _, f := range s.faults {
		edges = append(edges, min(max(f.From, from), to), min(max(f.To, from), to))
	}
	slices.Sort(edges)
	for i, t := range edges[1:] {
		if slices.ContainsFunc(s.faults, func(f history.FaultInfo) bool { return !f.Injected && f.From <= edges[i] && f.To >= t }) {
			sum += t - edges[i]
		}
	}
	return sum
}

// slowStuck counts the times in which a key was free and wanted, and the grants
// through which a waiter slept.
func (s *slow) slowStuck(h *history.History) (n int) {
	ttl := s.header.TTL
	slack := max(ttl/2, int64(500*time.Millisecond))
	margin, abandons := max(slack, s.header.Slack)+int64(2*time.Second), ttl
	if a := s.header.Claims.Abandons; a != 0 {
		abandons = a
	}
	patience := max(ttl, abandons) + margin
	counted, slept := map[string]bool{}, map[history.KeyID]int64{}
	for at, e := range h.Events {
		if !slowAnswered(e) {
			continue
		}
		end, k := stampOr(e.End, e.Time), slowKeyBefore(h, e.Key, at)
		delete(k.open, e.Op)
		k.over[e.Client] = max(k.over[e.Client], end)
		if by, from, to := s.sleptBeside(h, e, at, patience, slack); by != 0 {
			from = s.calm(k, e.Client, max(from, e.Start), to)
			if to-from-s.stalled(from, to) >= patience && slept[e.Key] != by {
				slept[e.Key] = by
				n++
			}
		}
		from := max(wantedSince(h, e, at, ttl+slack), k.since())
		quiet := k.quiet(from, end)
		if from == forever {
			continue
		}
		need := k.stays(from, ttl, abandons) - from + margin
		if end-from < need {
			continue
		}
		if calm := max(s.misled(h, e.Key, at), s.calm(k, e.Client, from, end)); calm > from {
			from, need = calm, max(need, patience)
		}
		name := fmt.Sprint(e.Key, " ", k.granted)
		lasted := end - from - s.stalled(from, end)
		if from < end && (lasted-quiet >= need || lasted >= max(need, int64(10*time.Second))) && !counted[name] {
			counted[name] = true
			n++
		}
	}
	return n
}

// wantedSince is since when the acquire's client asks again and again.
func wantedSince(h *history.History, e history.Event, at int, rest int64) int64 {
	since := e.Start
	for i := at - 1; i >= 0; i-- {
		x := h.Events[i]
		if x.Kind != history.Acquire || x.Key != e.Key || x.Client != e.Client || x.Type == history.Invoke {
			continue
		}
		if !slowAnswered(x) || x.Type == history.OK || since-stampOr(x.End, x.Time) > rest {
			break
		}
		since = x.Start
	}
	return since
}

// sleptBeside is the grant that another client got at once while this acquire
// had waited longest for a free key.
func (s *slow) sleptBeside(h *history.History, e history.Event, at int, patience, slack int64) (by, from, to int64) {
	inv := int64(forever)
	for i, g := range h.Events[:at] {
		if g.Op == e.Op && g.Type == history.Invoke {
			inv = g.Time
		}
		if inv == forever || g.Kind != history.Acquire || g.Type != history.OK || g.Key != e.Key {
			continue
		}
		start := stampOr(g.Start, g.Time)
		since := max(inv, slowKeyBefore(h, e.Key, i).since())
		if stampOr(g.End, g.Time)-start <= slack && start-since >= patience && start-since > to-from {
			by, from, to = g.Op, since, start
		}
	}
	return by, from, to
}
