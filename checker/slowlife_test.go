package checker

import (
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// The slow checker's other half: what is judged beside holds, tokens and the
// store's order. Word for word, over the whole history, like slow_test.go.

// hits are the faults that touched a client, or the service, between two instants.
func (s *slow) hits(client int32, service bool, from, to int64, which func(history.FaultInfo) bool) (hit []history.FaultInfo) {
	for _, f := range s.faults {
		if (client != 0 && slices.Contains(f.Clients, client) || service && f.Service) && f.From <= to && f.To >= from && which(f) {
			hit = append(hit, f)
		}
	}
	return hit
}

func anyOf(history.FaultInfo) bool        { return true }
func hinders(f history.FaultInfo) bool    { return f.Injected && !f.Links }
func uninjected(f history.FaultInfo) bool { return !f.Injected }

// slowDead counts acquires, or renewals, that returned ok when nothing was left of their lease.
func (s *slow) slowDead(h *history.History, kind history.Kind) (n int) {
	ttl, stall := s.header.TTL, s.header.Stall
	invoked := map[int64]int64{}
	for _, e := range h.Events {
		if e.Type == history.Invoke {
			invoked[e.Op] = e.Time
		}
		g := s.byID[e.Grant]
		if e.Kind != kind || e.Type != history.OK || g == nil {
			continue
		}
		since, end := stampOr(e.Attempt, stampOr(e.Start, invoked[e.Op])), stampOr(e.End, e.Time)
		short := end-since <= ttl/2
		byWord := s.header.Claims.Validity == "library" && e.HasValidFor && e.ValidFor <= 0 && (e.ValidFor <= -stall || short)
		byTime := e.Attempt != 0 && end-e.Attempt > ttl+stall
		if !byWord && !byTime || len(s.hits(g.client, false, since, end, hinders)) > 0 {
			continue
		}
		over, stalled := int64(0), int64(0)
		if e.Attempt != 0 {
			over = end - e.Attempt - ttl
		}
		if byWord {
			over = max(over, -e.ValidFor)
		}
		stalls := s.hits(g.client, false, since, end, uninjected)
		for _, f := range stalls {
			stalled += min(f.To, end) - max(f.From, since) + 2*stall
		}
		if byWord && short || len(stalls) == 0 || over-stalled > stall {
			n++
		}
	}
	return n
}

// slowEnded counts acquires of sessions that returned ok though their clients
// had been stopped, in their places, for longer than a session lives.
func (s *slow) slowEnded(h *history.History) (n int) {
	life := s.header.TTL + s.header.Slack
	for _, e := range h.Events {
		g := s.byID[e.Op]
		if e.Kind != history.Acquire || e.Type != history.OK || g == nil || e.Attempt == 0 {
			continue
		}
		placed := e.Attempt + 4*s.header.Stall
		if g.enqueued != 0 {
			placed = max(e.Attempt, g.enqueued)
		}
		stops := s.hits(g.client, false, e.Attempt, g.end, func(f history.FaultInfo) bool {
			f = s.measured[f.ID]
			return f.Injected && f.Kind == "pause" && f.From >= placed && f.To <= g.end && f.To-f.From > life &&
				len(s.hits(0, true, f.From, g.end, func(x history.FaultInfo) bool { return x.Injected })) == 0
		})
		for _, f := range stops[:min(1, len(stops))] {
			f := s.measured[f.ID]
			for hit := s.hits(0, true, f.From+1, f.From+life, uninjected); len(hit) > 0; hit = s.hits(0, true, f.From+1,
				f.From+life, uninjected) {
				f.From = hit[0].To
			}
			if f.To-f.From-s.stalled(f.From, f.To) > life {
				n++
			}
		}
	}
	return n
}

// slowFalse counts busies that nobody else explains, at most one until the key
// is granted again. It looks at every event before each.
func (s *slow) slowFalse(h *history.History) (n int) {
	lifetime := s.header.TTL + max(s.header.Slack, s.header.TTL/2, 500*ms)
	counted := map[[2]int64]bool{}
	for i, e := range h.Events {
		if e.Kind != history.Acquire || e.Type != history.Fail || !e.Busy {
			continue
		}
		inv := slices.IndexFunc(h.Events, func(x history.Event) bool { return x.Type == history.Invoke && x.Op == e.Op })
		left, held, lost := s.slowLeft(h.Events[:inv], e.Key)
		asked := slices.ContainsFunc(h.Events[inv+1:i], func(x history.Event) bool {
			return x.Type == history.Invoke && x.Kind == history.Acquire && x.Key == e.Key
		})
		from, to := h.Events[inv].Time, stampOr(e.End, e.Time)
		endless := s.header.Claims.NoExpiry || s.header.Claims.Validity == "session" && s.header.Slack == 0
		stands := left != 0 && (endless || from-left-s.stalled(left, from) <= lifetime)
		for _, x := range lost {
			at := stampOr(x.End, x.Time)
			for _, f := range s.hits(x.Client, false, 0, at, func(f history.FaultInfo) bool { return f.Injected }) {
				at = max(at, 2*f.To-f.From)
			}
			stays := lifetime - s.header.TTL + stampOr(s.header.Claims.Abandons, s.header.TTL)
			stands = stands || endless || x.Start == 0 || from-at-s.stalled(at, from) <= stays
		}
		injected := func(f history.FaultInfo) bool { return f.Injected }
		service := s.hits(0, true, from-lifetime, to, injected)
		if s.header.Claims.NoExpiry {
			service = s.hits(0, true, 0, 1<<62, injected)
		}
		service = append(service, s.hits(0, true, from-lifetime, to, uninjected)...)
		grants := int64(0)
		for _, x := range h.Events[:i] {
			if x.Type == history.OK && x.Kind == history.Acquire && x.Key == e.Key {
				grants++
			}
		}
		if place := [2]int64{int64(e.Key), grants}; !held && !asked && !stands && len(service) == 0 && !counted[place] {
			counted[place] = true
			n++
		}
	}
	return n
}

// slowLeft tells, of the events before an acquire, whether somebody has the key or asks for it,
// and when the last client was done with what may stand until its lease is over; 0: there is none.
// Of each client with acquires of unknown fate lost has the last one, or one that never reported.
func (s *slow) slowLeft(events []history.Event, key history.KeyID) (left int64, held bool, lost map[int32]history.Event) {
	open := map[int64]int32{} // acquires that may hold the key, with their clients
	unknown := map[int64]history.Event{}
	for _, e := range events {
		switch {
		case e.Type == history.Exit || e.Kind == history.Close && e.Type == history.OK:
			for op, client := range open {
				if client == e.Client {
					delete(open, op)
					left = max(left, stampOr(stampOr(e.End, e.Start), e.Time))
				}
			}
		case e.Key != key || e.Kind != history.Acquire && e.Kind != history.Release:
		case e.Kind == history.Release && (e.Type == history.OK || e.Type == history.Fail && e.NotHeld):
			if _, held := open[e.Grant]; held && e.Type != history.OK {
				left = max(left, stampOr(e.End, e.Time))
			}
			delete(open, e.Grant)
		case e.Kind == history.Acquire && e.Type == history.Fail:
			delete(open, e.Op)
		case e.Kind == history.Acquire:
			if open[e.Op] = e.Client; e.Type == history.Info {
				unknown[e.Op] = e
			}
			if e.Type == history.OK && e.First != 0 && e.First < e.Attempt {
				left = max(left, stampOr(e.End, e.Time))
			}
		}
	}
	lost = map[int32]history.Event{}
	for op, client := range open {
		x, known := unknown[op]
		held = held || !known
		if old, has := lost[client]; !has || old.Start != 0 && (x.Start == 0 || stampOr(x.End, x.Time) > stampOr(old.End, old.Time)) {
			lost[client] = x
		}
	}
	return left, held, lost
}

// slowLate is a release that was not refused, and began when its grant's lease had surely ended.
type slowLate struct {
	g          *slowGrant
	start, end int64
}

func (s *slow) slowLates(h *history.History) (lates []slowLate) {
	leased, told, inv := map[int64]int64{}, map[int64]int64{}, map[int64]int64{}
	for _, e := range h.Events {
		g := s.byID[e.Grant]
		switch {
		case e.Type == history.Invoke:
			inv[e.Op] = e.Time
		case g == nil:
		case e.Type == history.Lost && (told[g.id] == 0 || e.Start < told[g.id]):
			told[g.id] = e.Start
		case e.Kind == history.Acquire && e.Type == history.OK:
			leased[g.id] = g.end
		case e.Kind == history.Renew && e.Type == history.Info && !e.Declined:
			leased[g.id] = 1 << 62
		case e.Kind == history.Renew && e.Type == history.OK:
			leased[g.id] = max(leased[g.id], stampOr(e.End, e.Time))
		case e.Kind == history.Release && e.Type != history.Fail:
			start := e.Start
			if e.Type == history.OK {
				start = stampOr(start, inv[e.Op])
			}
			over := start != 0 && leased[g.id]+s.header.TTL < start
			if s.header.Claims.Validity == "session" || leased[g.id] == 1<<62 {
				over = start != 0 && told[g.id] != 0 && told[g.id] < start
			}
			if over {
				lates = append(lates, slowLate{g, start, stampOr(e.End, e.Time)})
			}
		}
	}
	return lates
}

// slowStolen counts the pairs of grants of which the second was made inside the
// first one's promise, after a late release.
func (s *slow) slowStolen(h *history.History, trust func(history.KeyID) bool) (n int) {
	lates := s.slowLates(h)
	for _, b := range s.grants {
		for _, c := range s.grants {
			tokens := trust(b.key)
			if c.key != b.key || c.client == b.client || !s.later(c, b, tokens) || !s.promised(b, c.end) ||
				len(s.hits(0, true, b.earliest, c.end, anyOf)) > 0 {
				continue
			}
			if slices.ContainsFunc(lates, func(r slowLate) bool {
				return r.g.key == b.key && r.g.client != b.client && r.start > b.end && r.start < c.earliest && s.later(b, r.g, tokens) &&
					c.start <= r.end+s.header.TTL/4 &&
					c.end <= max(r.end, c.start)+s.header.TTL/4 && (b.confirmed <= r.end || b.confirmed >= c.earliest)
			}) {
				n++
			}
		}
	}
	return n
}

// slowWait is an acquire that has completed, whatever came of it.
type slowWait struct {
	client     int32
	key        history.KeyID
	start, end int64
	at         int // the place of its completion
	unreported bool
}

func slowWaits(h *history.History) (waits []slowWait) {
	inv := map[int64]int64{}
	for i, e := range h.Events {
		if e.Kind != history.Acquire {
			continue
		}
		start := e.Start
		switch e.Type {
		case history.Invoke:
			inv[e.Op] = e.Time
			continue
		case history.OK, history.Fail:
			start = stampOr(start, inv[e.Op])
		}
		if start != 0 {
			waits = append(waits, slowWait{client: e.Client, key: e.Key, start: start, end: stampOr(e.End, e.Time), at: i})
		}
	}
	return waits
}

// granted is the place of each grant's completion.
func (s *slow) places(h *history.History) map[int64]int {
	at := map[int64]int{}
	for i, e := range h.Events {
		if e.Kind == history.Acquire && e.Type == history.OK {
			at[e.Op] = i
		}
	}
	return at
}

func (s *slow) slowStarved(h *history.History) (n int) {
	at := s.places(h)
	for _, w := range slowWaits(h) {
		inside := 0
		for _, g := range s.grants {
			if g.key == w.key && g.client != w.client && g.start > w.start && g.end < w.end && at[g.id] < w.at {
				inside++
			}
		}
		if inside > 10*max(1, s.header.Clients) && !s.disturbed(w.client, w.start, w.end) {
			n++
		}
	}
	return n
}

// slowRepeated counts accepted writes that did what another op's had done.
func (s *slow) slowRepeated() (n int) {
	type thing struct {
		key  history.KeyID
		what int64
	}
	first := map[thing]int64{}
	for _, w := range s.writes {
		what := thing{w.key, 0}
		if s.header.Workload == "leader" {
			what.what = w.value
		}
		if _, done := first[what]; !done {
			first[what] = w.op
		} else if !w.again {
			n++
		}
	}
	return n
}

// slowEdge is a client that has one key and waits for another.
type slowEdge struct {
	w slowWait
	g *slowGrant
}

// slowVain are the acquires that never reported: each ended when it was given
// up, or with its process, or with the history.
func slowVain(h *history.History) (waits []slowWait) {
	for i, inv := range h.Events {
		if inv.Type != history.Invoke || inv.Kind != history.Acquire {
			continue
		}
		w := slowWait{client: inv.Client, key: inv.Key, start: inv.Time, at: len(h.Events), unreported: true}
		for j, e := range h.Events[i+1:] {
			w.end = max(w.end, e.Time)
			gone := e.Type == history.Exit && e.Client == inv.Client && (e.Process == 0 || inv.Process <= e.Process)
			if e.Op == inv.Op && e.Kind == history.Acquire || gone {
				w.unreported = gone || e.Type == history.Info && e.Start == 0
				w.at, w.end = i+1+j, stampOr(stampOr(e.End, e.Start), e.Time)
				break
			}
		}
		if w.unreported {
			waits = append(waits, w)
		}
	}
	return waits
}

// slowCycles reports whether clients waited for each other in a cycle, for the
// bound: violated, or inconclusive if it takes a stall to deny it, or a wait
// that never reported to find it; else pass. It tries every ring of edges.
func (s *slow) slowCycles(h *history.History) Outcome {
	at := s.places(h)
	bound := stampOr(s.header.Bound, s.header.TTL/2)
	var edges []slowEdge
	for _, w := range append(slowWaits(h), slowVain(h)...) {
		for _, g := range s.grants {
			if g.client == w.client && g.key != w.key && at[g.id] < w.at && g.end < w.end && !s.overBy(h, g, w.at) {
				edges = append(edges, slowEdge{w, g})
			}
		}
	}
	injected := func(f history.FaultInfo) bool { return f.Injected }
	found := Pass
	var ring func(path []slowEdge)
	ring = func(path []slowEdge) {
		last := path[len(path)-1]
		if len(path) > 1 && path[0].g.key == last.w.key {
			vain := slices.ContainsFunc(path, func(e slowEdge) bool { return e.w.unreported })
			switch {
			case s.lasted(path, anyOf) >= bound && !vain:
				found = Violated
			case s.lasted(path, injected) >= bound && found == Pass:
				found = Inconclusive
			}
		}
		for _, e := range edges {
			if e.g.key == last.w.key && !slices.ContainsFunc(path, func(x slowEdge) bool { return x.w.client == e.w.client }) {
				ring(append(path[:len(path):len(path)], e))
			}
		}
	}
	for _, e := range edges {
		ring([]slowEdge{e})
	}
	return found
}

// overBy reports whether a grant was given up before the event at place i:
// released, refused a release, or followed by another acquire of its key.
func (s *slow) overBy(h *history.History, g *slowGrant, i int) bool {
	for _, e := range h.Events[:i] {
		release := e.Kind == history.Release && e.Grant == g.id && (e.Type == history.OK || e.Type == history.Fail && e.NotHeld)
		again := e.Kind == history.Acquire && e.Type == history.Invoke && e.Client == g.client && e.Key == g.key && e.Op > g.id
		if release || again {
			return true
		}
	}
	return false
}

// lasted is for how long all of a ring's clients had what they had, undisturbed
// by some faults, and waited.
func (s *slow) lasted(path []slowEdge, by func(history.FaultInfo) bool) int64 {
	from, to := int64(0), int64(1)<<62
	for _, e := range path {
		from, to = max(from, e.w.start, e.g.end), min(to, e.w.end, e.g.promise, e.g.withdrawn)
	}
	for _, e := range path {
		since := max(from-s.header.TTL, e.g.earliest)
		if s.header.Claims.Validity == "session" { // it may be older than the grant
			since = from - s.header.TTL
		}
		for _, f := range s.hits(e.w.client, true, since, 1<<62, by) {
			to = min(to, f.From)
		}
	}
	return to - from
}

// slowHerds reports whether the service handled more requests for each grant than
// a lock that wakes one waiter needs.
func (s *slow) slowHerds(h *history.History) int {
	var counts, grants, times []int64
	n := int64(0)
	for _, e := range h.Events {
		if e.Type == history.Count && e.Text == history.CountRequests {
			counts, grants, times = append(counts, e.Value), append(grants, n), append(times, e.Time)
		}
		if e.Type == history.OK && e.Kind == history.Acquire {
			n++
		}
	}
	if len(counts) < 2 || s.header.Clients < 40 {
		return 0
	}
	last := len(counts) - 1
	made, asked, from, to := grants[last]-grants[0], counts[last]-counts[0], times[0], times[last]
	breaks := func(f history.FaultInfo) bool { return f.Injected || f.To-f.From >= s.header.TTL/2 }
	if made < 10 || asked < 0 || len(s.hits(0, true, from, to, breaks)) > 0 {
		return 0
	}
	beats := float64(s.header.Clients) * 3 * float64(to-from) / float64(s.header.TTL)
	if (float64(asked)-beats)/float64(made) > 10+float64(s.header.Clients-1)/4 {
		return 1
	}
	return 0
}
