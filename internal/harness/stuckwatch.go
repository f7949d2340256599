package harness

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// stuckWatch notices a key that nobody gets while the workload goes on, by what its clients were
// answered. Nobody believes in a grant of the key, and for as long as the judge allows
// (checker.Patience) a client has waited for it, or has asked again and again and was told busy.
type stuckWatch struct {
	patience time.Duration
	rest     time.Duration // at most between two acquires of a client that belong together

	mu     sync.Mutex
	keys   map[string]*wantedKey
	stalls []stall
}

// stall is a time in which the machine let a client stand still. The judge does not count it.
type stall struct {
	noted  int64 // when, as a stamp of monotime
	lasted time.Duration
}

// wantedKey is what the watch knows of one key. Its instants are stamps of monotime.
type wantedKey struct {
	holds map[int64]int32 // the grants that clients believe in, and whose they are
	last  int32           // the client that was granted it last; 0: none was
	free  int64           // since when nobody believes in a grant
	asks  map[int32]*ask
	// tried: the key was asked for by fresh clients, and nobody got it. It is
	// not asked for again until it is granted.
	tried bool
}

// ask is how one client has asked for a key since it last had it.
type ask struct {
	// the start of the first acquire of those that follow one another, and the end of the last one
	since, last int64
	open        bool
	denied      int64 // when an acquire first ended without a grant; 0: none did
}

func newStuckWatch(patience, rest time.Duration, keys []string) *stuckWatch {
	w := &stuckWatch{patience: patience, rest: rest, keys: map[string]*wantedKey{}}
	for _, k := range keys {
		w.keys[k] = &wantedKey{holds: map[int64]int32{}, asks: map[int32]*ask{}}
	}
	return w
}

// sends is told that a client is about to be sent an op, and returns what takes its answer.
func (w *stuckWatch) sends(client int32, o wire.Op) (answered func(id int64, r wire.Reply)) {
	switch {
	case len(o.Set) > 0:
		return func(id int64, r wire.Reply) { w.answeredSet(client, o, id, r) }
	case o.Kind == history.Acquire:
		w.noteAsk(client, o.Key, monotime.Now())
		return func(id int64, r wire.Reply) { w.answered(client, o.Key, id, r, monotime.Now()) }
	case o.Kind == history.Release:
		return func(int64, wire.Reply) { w.released(o.Key, o.Grant, monotime.Now()) }
	}
	return func(int64, wire.Reply) {}
}

// answeredSet takes the answer to a call for several keys. Only who has them
// counts: any of them may be wanted while another is held.
func (w *stuckWatch) answeredSet(client int32, o wire.Op, id int64, r wire.Reply) {
	for i, key := range o.Set {
		switch {
		case o.Kind == history.Release:
			w.released(key, o.Grant+int64(i), monotime.Now())
		case o.Kind == history.Acquire && r.Result == wire.ResultOK:
			w.answered(client, key, id+int64(i), r, monotime.Now())
		}
	}
}

func (w *stuckWatch) noteAsk(client int32, key string, now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.keys[key]
	a := k.asks[client]
	if a == nil {
		a = &ask{}
		k.asks[client] = a
	}
	if a.since == 0 || now-a.last > int64(w.rest) {
		a.since = now
	}
	a.open = true
}

func (w *stuckWatch) answered(client int32, key string, id int64, r wire.Reply, now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.keys[key]
	if r.Result == wire.ResultOK {
		k.holds[id], k.last, k.tried = client, client, false
		delete(k.asks, client)
		return
	}
	a := k.asks[client]
	if a == nil {
		return
	}
	a.open, a.last = false, now
	if r.Result == wire.ResultFail && !r.Busy {
		a.since = 0 // an error is no answer of the lock
		return
	}
	if a.denied == 0 {
		a.denied = now
	}
}

func (w *stuckWatch) released(key string, grant int64, now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.keys[key]
	if _, held := k.holds[grant]; held {
		delete(k.holds, grant)
		k.free = now
	}
}

// noteEnd is told that a client's process has ended: a fresh one may take its place.
func (w *stuckWatch) noteEnd(client int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.keys {
		delete(k.asks, client)
		for grant, c := range k.holds {
			if c == client {
				delete(k.holds, grant)
				k.free = monotime.Now()
			}
		}
	}
}

// stuck returns a key that was free and wanted for too long at now; nothing was
// disturbed after calm.
func (w *stuckWatch) stuck(now, calm int64) (key string, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(w.keys)) {
		k := w.keys[key]
		if len(k.holds) > 0 || k.tried {
			continue
		}
		for _, a := range k.asks {
			goesOn := a.open || now-a.last <= int64(w.rest)
			since := max(a.since, k.free, calm)
			if goesOn && a.since != 0 && time.Duration(now-since)-w.stalled(since) >= w.patience {
				return key, true
			}
		}
	}
	return "", false
}

// noteStall is told of a stall of a client.
func (w *stuckWatch) noteStall(lasted time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stalls = append(w.stalls, stall{monotime.Now(), lasted})
}

// stalled is for how long clients stood still since an instant, all added up as
// the judge does, but no more than the patience: on a machine that is always
// busy, nobody would ever ask. The caller holds the lock.
func (w *stuckWatch) stalled(since int64) (sum time.Duration) {
	for i := len(w.stalls) - 1; i >= 0 && w.stalls[i].noted > since; i-- {
		sum += w.stalls[i].lasted
	}
	return min(sum, w.patience)
}

// tried is told that fresh clients have asked for a key, and whether the last
// of them was refused it, too.
func (w *stuckWatch) tried(key string, refused bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keys[key].free, w.keys[key].tried = monotime.Now(), refused
}

// suspects puts clients in the order in which they are to be closed to free the
// key: first those that were not granted it and hold nothing, who gave up first
// in front; then the others; and last the one that was granted the key last.
func (w *stuckWatch) suspects(key string, clients []int32) []int32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.keys[key]
	rank := func(c int32) int {
		a := k.asks[c]
		switch {
		case c == k.last:
			return 3
		case w.holding(c):
			return 2
		case a == nil || a.denied == 0:
			return 1
		}
		return 0
	}
	out := slices.Clone(clients)
	slices.SortStableFunc(out, func(a, b int32) int {
		if by := rank(a) - rank(b); by != 0 || rank(a) > 0 {
			return cmp.Or(by, int(a-b))
		}
		return cmp.Compare(k.asks[a].denied, k.asks[b].denied)
	})
	return out
}

// holding reports whether a client believes in a grant. The caller holds the lock.
func (w *stuckWatch) holding(client int32) bool {
	for _, k := range w.keys {
		for _, c := range k.holds {
			if c == client {
				return true
			}
		}
	}
	return false
}

// stuckMargin is for how much longer than the judge demands a key must have
// been free and wanted, for the judge has better clocks.
const stuckMargin = 200 * time.Millisecond
