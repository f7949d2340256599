package checker

import (
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
)

// The third judge: dumb, and of its own. It takes the grants that certainly were, each with
// a begin and an end that have some room in time, and tries the orders of begins and ends
// one after the other. It has no memo, no windows, and no idea of intervals that overlap.

type bruteGrant struct {
	id, token, earliest, end, last int64
	client                         int32
	mode                           history.Mode
	takes                          int
	acts                           int
}

// bruteLock is the lock whose orders are tried.
type bruteLock struct {
	permits                 int
	owners, readers, fenced bool
	idle                    bool // grants without an act exclude others, too
	releaseConfirms, levels bool
	events                  []history.Event
	grants                  []*bruteGrant
	began, ended            []bool
	// op → index of its event; acted: of its first ledger entry
	invoked, answered, acted map[int64]int
}

func newBrute(h *history.History) *bruteLock {
	c := h.Header.Claims
	b := &bruteLock{permits: c.Permits, owners: c.Reentrant, readers: c.ReadWrite,
		releaseConfirms: c.ConfirmsOp(history.Release), levels: c.Reentrant,
		events: h.Events, invoked: map[int64]int{}, answered: map[int64]int{}, acted: map[int64]int{}}
	b.fenced = c.Token == "fencing" && c.Permits == 1 && !b.owners
	for i, e := range h.Events {
		switch e.Type {
		case history.Invoke:
			b.invoked[e.Op] = i
		case history.OK, history.Fail, history.Info:
			b.answered[e.Op] = i
		case history.Ledger:
			if _, seen := b.acted[e.Op]; !seen {
				b.acted[e.Op] = i
			}
		}
	}
	for i, e := range h.Events {
		if e.Type == history.OK && e.Kind == history.Acquire {
			b.grants = append(b.grants, b.grantOf(i))
		}
	}
	for _, g := range b.grants {
		b.actsOf(g)
	}
	return b
}

func (b *bruteLock) grantOf(i int) *bruteGrant {
	e, inv := b.events[i], b.events[b.invoked[b.events[i].Op]]
	g := &bruteGrant{id: e.Op, token: int64(e.Token), client: e.Client, mode: inv.Mode, takes: int(max(inv.Permits, 1)),
		earliest: stampOr(e.Start, inv.Time), end: stampOr(e.End, e.Time)}
	if e.First != 0 {
		g.earliest = min(max(e.First, inv.Time), g.end)
	}
	return g
}

// actsOf finds the last act under a grant.
func (b *bruteLock) actsOf(g *bruteGrant) {
	for op, i := range b.invoked {
		inv := b.events[i]
		speaksFor := inv.Grant
		start, at := int64(0), i
		if j, ok := b.answered[op]; ok {
			done := b.events[j]
			at = j
			switch {
			case done.Declined:
				continue
			case done.Type == history.Info:
				start = done.Start
			default:
				start = stampOr(done.Start, inv.Time)
			}
			if inv.Kind == history.Release {
				if done.Type != history.OK || !b.releaseConfirms {
					continue
				}
				if b.levels {
					speaksFor = b.newest(inv, at)
				}
			}
		} else if inv.Kind == history.Release {
			continue
		}
		if inv.Kind == history.Acquire || inv.Kind == history.Held || speaksFor != g.id {
			continue
		}
		if _, ledgered := b.acted[op]; start == 0 && ledgered {
			start = inv.Time
		}
		if start == 0 || b.levels && inv.Kind != history.Release && b.mayBeOut(inv, i) {
			continue
		}
		g.acts, g.last = g.acts+1, max(g.last, start)
	}
}

// has reports whether an owner had not given a grant back by event i, whatever
// the lock thinks of it.
func (b *bruteLock) has(g *bruteGrant, i int) bool {
	if b.answered[g.id] >= i {
		return false
	}
	lost := false
	for j := b.answered[g.id]; j < i; j++ {
		e := b.events[j]
		if e.Client != g.client || e.Type == history.Ledger {
			continue
		}
		release := e.Kind == history.Release && e.Grant == g.id
		switch {
		case release && e.Type == history.OK, release && e.Type == history.Fail && e.NotHeld:
			return false
		case (e.Declined || e.NotHeld) && b.ownsAt(e, j):
			lost = true
		case lost && e.Type == history.Invoke && e.Kind == history.Acquire:
			return false
		}
	}
	return true
}

// ownsAt reports whether the client of event j had the grant that it names.
func (b *bruteLock) ownsAt(e history.Event, j int) bool {
	return slices.ContainsFunc(b.grants, func(g *bruteGrant) bool { return g.id == e.Grant && b.has(g, j) })
}

// levelsOf are the grants that a client had not given back by event i, oldest first.
func (b *bruteLock) levelsOf(client int32, i int) (levels []int64) {
	for _, g := range b.grants {
		if g.client == client && b.has(g, i) {
			levels = append(levels, g.id)
		}
	}
	return levels
}

// newestAt is the newest grant that the client of event i had, if it had the
// one that the event names.
func (b *bruteLock) newestAt(e history.Event, i int) int64 {
	levels := b.levelsOf(e.Client, i)
	if !slices.Contains(levels, e.Grant) {
		return 0
	}
	return levels[len(levels)-1]
}

// newest is the grant that a release speaks for which was answered at event i;
// 0 if it names none that its client had.
func (b *bruteLock) newest(inv history.Event, i int) int64 {
	levels := b.levelsOf(inv.Client, i)
	if !slices.Contains(b.levelsOf(inv.Client, b.invoked[inv.Op]), inv.Grant) {
		return 0
	}
	return levels[len(levels)-1]
}

// mayBeOut reports whether the client of an act may have given back, by event i, all that it had.
func (b *bruteLock) mayBeOut(act history.Event, i int) bool {
	others := 0
	for op, j := range b.invoked {
		r := b.events[j]
		if r.Kind != history.Release || r.Client != act.Client || j >= i {
			continue
		}
		started := b.levelsOf(r.Client, j)
		if len(started) == 0 {
			continue
		}
		outAgain := false // since then it had nothing at all, so this is another nest
		for at := j; at <= i; at++ {
			outAgain = outAgain || len(b.levelsOf(r.Client, at)) == 0
		}
		if outAgain {
			continue
		}
		named := slices.Contains(started, r.Grant)
		unknown := true
		if k, done := b.answered[op]; done && k < i {
			switch b.events[k].Type {
			case history.Fail:
				unknown = false
			case history.OK:
				unknown = !named
			}
		}
		if unknown && !(named && r.Grant == act.Grant) {
			others++
		}
	}
	return others > 0 && others >= len(b.levelsOf(act.Client, i))
}

// possible reports whether some order of all begins and ends is one that the lock
// could have gone through.
func (b *bruteLock) possible() bool {
	b.began, b.ended = make([]bool, len(b.grants)), make([]bool, len(b.grants))
	for i, g := range b.grants {
		if g.acts == 0 && !b.idle {
			b.ended[i] = true
			b.began[i] = !b.fenced
		}
	}
	return b.next(bruteTokens{})
}

// bruteTokens are the greatest tokens that were given: to a writer, or on a
// mutex to anybody, and to a reader.
type bruteTokens struct {
	writer, reader int64
	owner          int32
	sharers        string // the clients of the readers that have the greatest one
}

// next tries every begin and every end that may be next.
func (b *bruteLock) next(given bruteTokens) bool {
	if !slices.Contains(b.began, false) {
		return true // the ends that are left can come in any order
	}
	// What has not happened yet, and must have happened by some instant, must
	// come before whatever can't have happened before that instant.
	bound := int64(1) << 62
	for i, g := range b.grants {
		if !b.began[i] {
			bound = min(bound, g.end)
		}
	}
	for i, g := range b.grants {
		switch {
		case !b.began[i] && g.earliest <= bound && b.mayBegin(i, given):
			then := given
			switch {
			case !b.fenced || g.token == 0:
			case g.mode == history.ModeRead:
				if g.token > given.reader {
					then.reader, then.sharers = g.token, ""
				}
				if g.token == then.reader {
					then.sharers += string(rune(g.client))
				}
			default:
				then.writer, then.owner = g.token, g.client
			}
			b.began[i] = true
			if b.next(then) {
				return true
			}
			b.began[i] = false
		case b.began[i] && !b.ended[i] && b.over(g) <= bound:
			b.ended[i] = true
			if b.next(given) {
				return true
			}
			b.ended[i] = false
		}
	}
	return false
}

// over is the instant before which a hold can't have ended.
func (b *bruteLock) over(g *bruteGrant) int64 {
	if g.acts == 0 {
		return g.earliest
	}
	return max(g.end, g.last)
}

func (b *bruteLock) mayBegin(i int, given bruteTokens) bool {
	g, others := b.grants[i], 0
	if b.fenced && g.token != 0 {
		others := strings.Trim(given.sharers, string(rune(g.client))) != ""
		if g.token < given.writer || g.token == given.writer && g.client != given.owner {
			return false
		}
		if g.mode != history.ModeRead && (g.token < given.reader || g.token == given.reader && others) {
			return false
		}
	}
	if b.ended[i] {
		return true // it holds nothing
	}
	for j, x := range b.grants {
		if j == i || !b.began[j] || b.ended[j] || b.owners && x.client == g.client || b.readers &&
			x.mode == history.ModeRead && g.mode == history.ModeRead {
			continue
		}
		others += x.takes
	}
	return others+g.takes <= b.permits
}
