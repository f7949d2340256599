package checker

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// The slow checker: the definitions, word for word, over the whole history at once,
// in quadratic time and with no thought for memory. It shares no code with the sweep.

type slowGrant struct {
	id, token, earliest, end, last int64
	acts, takes                    int
	starts                         []int64 // of its acts
	told                           int64   // when the lock first said that it is lost
	promise, withdrawn             int64
	start, enqueued, attempt       int64
	confirmed                      int64
	client                         int32
	mode                           history.Mode
	nested                         bool // its owner had the key already
	disowned                       bool // declined, or told that it is not held
	key                            history.KeyID
}

// oneHold reports whether two grants are of a reentrant owner, or of readers:
// they do not exclude each other.
func (s *slow) oneHold(a, b *slowGrant) bool {
	return s.brute != nil && a.client == b.client || bothRead(a, b)
}

// bothRead reports whether two grants are readers': their tokens say nothing of each other.
func bothRead(a, b *slowGrant) bool { return a.mode == history.ModeRead && b.mode == history.ModeRead }

// same reports whether the store's order takes the writes of two grants for those of one hold.
func (s *slow) same(a, b *slowGrant) bool { return a == b || s.brute != nil && a.client == b.client }

type slowWrite struct {
	g        *slowGrant
	op, base int64 // base -1: blind
	version  int64
	value    int64
	key      history.KeyID
	again    bool
}

type slow struct {
	header history.Header
	grants []*slowGrant
	byID   map[int64]*slowGrant
	writes []slowWrite
	faults []history.FaultInfo
	// measured are the faults as their ends tell of them.
	measured map[int]history.FaultInfo
	brute    *bruteLock // of a reentrant lock: it knows the levels
}

// slowResult counts violations; tokens tells under which reading of each key's tokens.
type slowResult struct {
	pairs, unfenced, lost, tokens, unbroken, overtaken int
}

func (r *slowResult) add(more slowResult) {
	r.pairs += more.pairs
	r.unfenced += more.unfenced
	r.lost += more.lost
	r.tokens += more.tokens
	r.unbroken += more.unbroken
	r.overtaken += more.overtaken
}

// complete reports whether every kind of violation was seen.
func (r slowResult) complete() bool {
	return min(r.pairs, r.unfenced, r.lost, r.tokens, r.unbroken, r.overtaken) > 0
}

func stampOr(a, b int64) int64 {
	if a != 0 {
		return a
	}
	return b
}

func newSlow(h *history.History) *slow {
	s := &slow{header: h.Header, byID: map[int64]*slowGrant{}, measured: map[int]history.FaultInfo{}}
	if h.Header.Claims.Reentrant {
		s.brute = newBrute(h)
	}
	invoked, done, ledgered := map[int64]*history.Event{}, map[int64]*history.Event{}, map[int64]bool{}
	begun := map[int]int64{} // when each fault's beginning was recorded
	for i := range h.Events {
		e := &h.Events[i]
		switch e.Type {
		case history.Invoke:
			invoked[e.Op] = e
		case history.OK, history.Fail, history.Info:
			done[e.Op] = e
		case history.Ledger:
			ledgered[e.Op] = true
		case history.Fault:
			if e.Fault.Phase == "end" {
				f := *e.Fault
				// it may disturb from before it is injected until its healing is finished
				if f.Injected {
					f.From, f.To = min(f.From, cmp.Or(begun[f.ID], f.From)), max(f.To, e.Time)
				}
				s.faults, s.measured[f.ID] = append(s.faults, f), *e.Fault
			} else {
				begun[e.Fault.ID] = e.Time
			}
		}
	}
	s.faults = slowExcuses(&h.Header, s.faults)
	s.acquires(h, invoked)
	for _, g := range s.grants {
		if s.brute != nil { // acts are not all of what its own ops say
			own := s.brute.grants[slices.IndexFunc(s.brute.grants, func(x *bruteGrant) bool { return x.id == g.id })]
			g.acts, g.last = own.acts, own.last
			g.nested = len(s.brute.levelsOf(g.client, s.brute.answered[g.id])) > 0
		}
	}
	lastRead, bases := map[[2]int64]int64{}, map[int64]int64{}
	for i := range h.Events {
		e := &h.Events[i]
		g := s.byID[e.Grant]
		if g == nil {
			continue
		}
		place := [2]int64{g.id, int64(e.Key)}
		switch {
		case e.Type == history.Invoke && e.Kind == history.Write:
			bases[e.Op] = -1
			if v, ok := lastRead[place]; ok {
				bases[e.Op] = v
			}
		case e.Type == history.OK && e.Kind == history.Read:
			lastRead[place] = e.Version
		case e.Type == history.Lost:
			g.withdrawn = min(g.withdrawn, e.Start)
			if g.told == 0 || e.Start < g.told {
				g.told = e.Start
			}
		}
		if e.Type == history.Invoke && e.Kind != history.Acquire {
			s.op(g, e, done[e.Op], ledgered[e.Op])
		}
		if s.brute != nil && e.Type == history.OK && s.header.Claims.ConfirmsOp(e.Kind) {
			// Whatever grant it names, it proves that its owner had some: the newest.
			speaksFor := s.brute.newestAt(*e, i)
			if e.Kind == history.Release {
				speaksFor = s.brute.newest(*invoked[e.Op], i)
			}
			if x := s.byID[speaksFor]; x != nil {
				x.confirmed = max(x.confirmed, stampOr(e.Start, invoked[e.Op].Time))
			}
		}
	}
	seen := map[int64]bool{}
	for i := range h.Events {
		e := &h.Events[i]
		if g := s.byID[e.Grant]; e.Type == history.Ledger && e.Kind == history.Write && !e.Refused && g != nil &&
			g.mode != history.ModeRead {
			base := bases[e.Op]
			for _, x := range s.writes {
				// taken again, it replaces what its hold wrote last
				if seen[e.Op] && !e.Atomic && x.g == g && x.key == e.Key {
					base = x.version
				}
			}
			s.writes = append(s.writes, slowWrite{g: g, op: e.Op, base: base, version: e.Version, value: e.Value,
				key: e.Key, again: seen[e.Op]})
			seen[e.Op] = true
		}
	}
	return s
}

func (s *slow) acquires(h *history.History, invoked map[int64]*history.Event) {
	for i := range h.Events {
		e := &h.Events[i]
		if e.Kind != history.Acquire {
			continue
		}
		if e.Type == history.Invoke {
			for _, g := range s.grants { // its own next acquire takes a client's promise back
				if g.client == e.Client && g.key == e.Key {
					g.withdrawn = min(g.withdrawn, e.Time)
				}
			}
		}
		if e.Type != history.OK {
			continue
		}
		start := stampOr(e.Start, invoked[e.Op].Time)
		g := &slowGrant{id: e.Op, token: slowToken(e), client: e.Client, key: e.Key, earliest: start,
			end: stampOr(e.End, e.Time), withdrawn: 1 << 62,
			start: start, enqueued: e.Enqueued, mode: invoked[e.Op].Mode, takes: int(max(invoked[e.Op].Permits, 1))}
		if g.enqueued != 0 {
			g.enqueued = max(g.enqueued, start)
		}
		g.attempt = min(e.Attempt, g.end)
		if e.First != 0 {
			g.earliest = min(max(e.First, invoked[e.Op].Time), g.end)
		}
		g.promise = s.promiseFrom(stampOr(e.Attempt, start), e)
		s.grants = append(s.grants, g)
		s.byID[g.id] = g
	}
}

func (s *slow) promiseFrom(start int64, e *history.Event) int64 {
	switch s.header.Claims.Validity {
	case "from_invocation":
		return start + s.header.TTL - 2*ms
	case "library":
		return start + e.ValidFor - 2*ms
	case "session":
		return 1 << 61
	}
	return 0
}

func (s *slow) op(g *slowGrant, inv, done *history.Event, ledgered bool) {
	act := func(t int64) {
		if s.brute == nil {
			g.acts, g.last, g.starts = g.acts+1, max(g.last, t), append(g.starts, t)
		}
	}
	start := int64(0)
	if done != nil && done.Type != history.Info {
		start = stampOr(done.Start, inv.Time)
	} else if done != nil {
		start = done.Start
	}
	if done != nil && done.Declined {
		g.withdrawn, g.disowned = min(g.withdrawn, start), true
		return
	}
	if done != nil && done.NotHeld {
		g.withdrawn, g.disowned = min(g.withdrawn, start), true
	}
	if done != nil && done.Type == history.OK && s.header.Claims.ConfirmsOp(inv.Kind) && s.brute == nil {
		g.confirmed = max(g.confirmed, start)
	}
	switch inv.Kind {
	case history.Read, history.Write, history.Renew:
		if start != 0 {
			act(start)
		} else if ledgered {
			act(inv.Time)
		}
		if inv.Kind == history.Renew && done != nil && done.Type == history.OK && s.header.Claims.ConfirmsOp(history.Renew) &&
			stampOr(done.End, done.Time) < min(g.promise, g.withdrawn) {
			g.promise = max(g.promise, s.promiseFrom(start, done))
		}
	case history.Release:
		g.withdrawn = min(g.withdrawn, stampOr(start, inv.Time))
		if done != nil && done.Type == history.OK && s.header.Claims.ConfirmsOp(history.Release) {
			act(start)
		}
	}
}

// rises reports whether of two tokens, which were both given, the second is the greater one.
func rises(a, b int64) bool { return a != noToken && b != noToken && a < b }

// noToken is the token of a grant without one.
const noToken = math.MinInt64

func slowToken(e *history.Event) int64 {
	if !e.Token.Given() {
		return noToken
	}
	return e.Token.Number()
}

func (s *slow) later(b, a *slowGrant, tokens bool) bool {
	byTime, reverse := b.earliest > a.end, a.earliest > b.end
	return byTime || !reverse && tokens && rises(a.token, b.token) && !bothRead(a, b)
}

// after is later, or by an attempt of b that began only when a had been
// granted, while no reply can have been lost.
func (s *slow) after(b, a *slowGrant, tokens bool) bool {
	if s.later(b, a, tokens) || s.later(a, b, tokens) {
		return s.later(b, a, tokens)
	}
	return b.attempt > a.end && !s.disturbed(b.client, b.earliest, b.attempt)
}

func (s *slow) begin(g *slowGrant, tokens bool) int64 {
	begin := g.end
	for _, x := range s.grants {
		if !tokens || x.key != g.key || !rises(g.token, x.token) || bothRead(g, x) {
			continue
		}
		begin = min(begin, x.end)
		if g.mode == history.ModeRead { // before that writer, and so before whatever came after it
			begin = min(begin, s.begin(x, tokens))
		}
	}
	return begin
}

func (s *slow) disturbed(client int32, from, to int64) bool {
	return slices.ContainsFunc(s.faults, func(f history.FaultInfo) bool {
		return (f.Service || slices.Contains(f.Clients, client)) && f.From <= to && f.To >= from
	})
}

func (s *slow) promised(g *slowGrant, t int64) bool {
	if t >= g.promise || t >= g.withdrawn {
		return false
	}
	if s.header.Claims.Validity != "session" {
		return true
	}
	return s.sessionStands(g, t) && !s.endedByFault(g, t) && !s.passedOn(g, t)
}

func (s *slow) sessionStands(g *slowGrant, t int64) bool {
	from := t - s.header.TTL
	return len(s.hits(g.client, true, from, t, func(f history.FaultInfo) bool { return f.Injected })) == 0 && !s.longStall(g, from, t)
}

// endedByFault reports whether a fault may have ended the session by t, or a connection
// whose loss the lock claims to notice, and no answer confirmed the grant after it.
func (s *slow) endedByFault(g *slowGrant, t int64) bool {
	return len(s.hits(g.client, false, stampOr(g.attempt, g.earliest), t, func(f history.FaultInfo) bool {
		connection := (f.Kind == "reset" || f.Kind == "cut") && f.To > g.end && s.header.Claims.LostGrace > 0
		return (f.Kind == "expire-session" || connection) && g.confirmed <= f.To
	})) > 0
}

// passedOn reports whether the next grant of the key was another client's, before
// t, and made while g was disturbed.
func (s *slow) passedOn(g *slowGrant, t int64) bool {
	if s.header.Claims.Permits != 1 {
		return false
	}
	for _, x := range s.grants[slices.Index(s.grants, g)+1:] {
		if x.key == g.key {
			return x.client != g.client && !bothRead(x, g) && x.end < t && !s.sessionStands(g, x.end)
		}
	}
	return false
}

// longStall reports whether stalls that hang together lasted for half a TTL, each
// taken for longer at either end.
func (s *slow) longStall(g *slowGrant, from, to int64) bool {
	stalls := s.hits(g.client, true, from, to, uninjected)
	if g.told != 0 || g.disowned {
		return len(stalls) > 0
	}
	if s.header.Claims.NoExpiry {
		return false
	}
	for _, f := range stalls {
		end := f.To + s.header.Stall
		for range stalls {
			for _, x := range stalls {
				if x.From-s.header.Stall <= end {
					end = max(end, x.To+s.header.Stall)
				}
			}
		}
		if end-f.From+s.header.Stall >= s.header.TTL/2 {
			return true
		}
	}
	return false
}

func (s *slow) excluded(a, b *slowGrant, tokens bool) bool {
	ab, bb := s.begin(a, tokens), s.begin(b, tokens)
	aFirst, bFirst := tokens && rises(a.token, b.token), tokens && rises(b.token, a.token)
	if a.acts > 0 && b.acts > 0 && (aFirst || ab < b.last) && (bFirst || bb < a.last) {
		return true
	}
	if a.client == b.client {
		return false
	}
	switch {
	case s.after(b, a, tokens):
		return s.promised(a, b.end)
	case s.after(a, b, tokens):
		return s.promised(b, a.end)
	}
	return s.promised(a, b.end) && s.promised(b, a.end)
}

// tokenViolations returns the grants whose tokens are out of order.
func (s *slow) tokenViolations() map[int64]history.KeyID {
	bad := map[int64]history.KeyID{}
	for _, g := range s.grants {
		for _, x := range s.grants {
			if x.key != g.key || x.token == noToken || g.token == noToken || bothRead(x, g) {
				continue
			}
			shared := x.token == g.token && x.client != g.client && s.completedBefore(x, g)
			smaller := g.token < x.token && g.earliest > x.end
			// a reader with a token greater still may show when that writer had its own
			if g.mode == history.ModeRead && rises(g.token, x.token) {
				smaller = smaller || slices.ContainsFunc(s.grants, func(y *slowGrant) bool {
					return y.key == g.key && rises(x.token, y.token) && y.end < g.earliest && y.end >= x.earliest
				})
			}
			overtaken := g.token < x.token && x.client != g.client && g.end > x.end && !s.disturbed(g.client, g.earliest, g.end)
			if shared || smaller || overtaken {
				bad[g.id] = g.key
			}
		}
	}
	return bad
}

// completedBefore reports whether x's acquire completed before g's in the recorder's order.
func (s *slow) completedBefore(x, g *slowGrant) bool {
	return slices.Index(s.grants, x) < slices.Index(s.grants, g)
}

// judge counts the violations, with each key's tokens read as they deserve.
func (s *slow) judge() slowResult {
	var r slowResult
	fencing := s.header.Claims.Token == "fencing"
	broken := map[history.KeyID]bool{}
	if fencing {
		for _, key := range s.tokenViolations() {
			r.tokens++
			broken[key] = true
		}
	}
	trust := func(key history.KeyID) bool { return fencing && !broken[key] }
	for i, a := range s.grants {
		for _, b := range s.grants[:i] {
			if a.key == b.key && !s.oneHold(a, b) && s.excluded(a, b, trust(a.key)) {
				r.pairs++
			}
		}
		for _, b := range s.grants {
			if b.key != a.key || b.client == a.client || s.oneHold(a, b) || s.later(a, b, trust(a.key)) {
				continue
			}
			known := s.later(b, a, trust(a.key))
			if a.confirmed > b.end && (known || !s.later(a, b, fencing) && s.promised(b, a.end) && !s.promised(a, b.end) && !s.late(a, b)) {
				r.unbroken++
			}
			if known && s.header.Claims.Fair && !a.nested && !b.nested && b.enqueued != 0 && b.enqueued < a.start &&
				!s.disturbed(b.client, b.start, b.end) {
				r.overtaken++
			}
		}
	}
	for i, w := range s.writes {
		if s.isUnfenced(i, trust(w.g.key)) {
			r.unfenced++
		}
		if w.base >= 0 && slices.ContainsFunc(s.writes[:i], func(x slowWrite) bool {
			return x.key == w.key && !s.same(x.g, w.g) && x.version > w.base
		}) {
			r.lost++
		}
	}
	return r
}

func (s *slow) isUnfenced(i int, tokens bool) bool {
	w := s.writes[i]
	var prev *slowGrant
	wrote := false
	for _, x := range s.writes[:i] {
		if x.key != w.key {
			continue
		}
		if !s.same(x.g, w.g) && x.g.key == w.g.key && s.later(x.g, w.g, tokens) {
			return true
		}
		switch {
		case x.g == w.g:
			prev, wrote = nil, true
		case !s.same(x.g, w.g) && x.g.key == w.g.key && wrote:
			prev = x.g
		}
	}
	return prev != nil && !s.later(w.g, prev, tokens)
}
