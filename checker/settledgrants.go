package checker

import (
	"iter"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// settledGrants is a queue of a key's settled grants, in the order in which they settled. It is
// made of blocks: behind an acquire that stays open it grows for long, and none of it is copied.
type settledGrants struct {
	blocks []*settledBlock
	// from and to are the places of the oldest entry and behind the newest,
	// from the beginning of the first block.
	from, to int
	spare    *settledBlocks
	lends    bool // its last block, too, while it is empty
	// gone has the tokens' summaries of all that have left the queue; nobody
	// asks when those were granted or how long they acted.
	gone settledEntry
}

const (
	settledBlockSize = 32
	keptBlocks       = 64  // in no use
	fewKeys          = 256 // which may keep a block each
)

type settledBlock [settledBlockSize]settledEntry

// settledBlocks are blocks that are in no use, of all keys. Where keys are many, one that has
// nothing to remember has no block either: a block is larger than all else that is known of a key.
type settledBlocks []*settledBlock

// settledEntry carries, beside its grant, summaries of itself and of what came before it,
// so that a search from the newest end can stop early: with one starved waiter the queue
// may be long, and yet no event costs more than what it really meets. The times are of
// what has come since the queue was empty, the tokens of all that ever was in it.
type settledEntry struct {
	g      *grant
	bound  int64 // the greatest bound
	latest int64 // the greatest end, or start, of an acquire
	asked  int64 // the greatest start of an acquire
	// earliest is the greatest first instant at which one may have been
	// granted, writers the greatest bound of those that are not readers'.
	earliest, writers int64
	top               topToken
	reader            topToken // that of readers, which top is not about
	run               int      // how many right before it are the same client's
}

// topToken is the greatest token that grants have.
type topToken struct {
	g    *grant // nil: none has one
	twin *grant // another client's grant with the same token
}

// with is the greatest token when a grant has come.
func (t topToken) with(g *grant) topToken {
	switch {
	case t.g == nil || g.token > t.g.token:
		return topToken{g: g}
	case g.token == t.g.token && g.client != t.g.client:
		t.twin = g
	}
	return t
}

// above reports whether it is greater than another one.
func (t topToken) above(token history.Token) bool { return t.g != nil && t.g.token > token }

// meets reports whether a grant can have met this one or any before it. Readers do not
// meet each other. One that was over at the very instant at which g began met it only if
// its token is the greater one, so equal stamps do not make each grant meet all others.
func (e *settledEntry) meets(g *grant, tokens bool) bool {
	bound, above := e.bound, tokens && g.token.Given() && (e.top.above(g.token) || e.reader.above(g.token))
	if g.mode == history.ModeRead {
		bound = e.writers
	}
	return bound > g.begin || bound == g.begin && above
}

// at returns the entry at a place.
func (p *settledGrants) at(i int) *settledEntry {
	return &p.blocks[uint(i)/settledBlockSize][uint(i)%settledBlockSize]
}

func (p *settledGrants) push(g *grant) {
	prev := &p.gone
	if p.to > p.from {
		prev = p.at(p.to - 1)
	}
	if p.to == len(p.blocks)*settledBlockSize {
		p.grow()
	}
	entry, bound := p.at(p.to), g.bound()
	p.to++
	entry.g, entry.bound, entry.latest, entry.top, entry.reader = g, max(prev.bound, bound),
		max(prev.latest, g.end, g.start), prev.top, prev.reader
	entry.asked, entry.earliest, entry.writers = max(prev.asked, g.start), max(prev.earliest, g.earliest), prev.writers
	if entry.run = 0; prev.g != nil && prev.g.client == g.client {
		entry.run = prev.run + 1
	}
	if g.mode != history.ModeRead {
		entry.writers = max(prev.writers, bound)
	}
	switch {
	case !g.token.Given():
	case g.mode == history.ModeRead:
		entry.reader = prev.reader.with(g)
	default:
		entry.top = prev.top.with(g)
	}
}

func (p *settledGrants) grow() {
	var block *settledBlock
	if n := len(*p.spare); n > 0 {
		block, *p.spare = (*p.spare)[n-1], (*p.spare)[:n-1]
	} else {
		block = new(settledBlock)
	}
	p.blocks = append(p.blocks, block)
}

// tidy gives back the room of what has left the queue.
func (p *settledGrants) tidy() {
	n := p.from / settledBlockSize
	if p.from == p.to {
		if p.lends {
			n = len(p.blocks)
		}
		p.from, p.to = n*settledBlockSize, n*settledBlockSize
	}
	if n > 0 {
		if len(*p.spare) < keptBlocks {
			*p.spare = append(*p.spare, p.blocks[0])
		}
		p.blocks = slices.Delete(p.blocks, 0, n)
		p.from, p.to = p.from-n*settledBlockSize, p.to-n*settledBlockSize
	}
}

// all yields the grants in the queue, oldest first.
func (p *settledGrants) all() iter.Seq[*grant] {
	return p.newest(func(*settledEntry) bool { return true })
}

// newest yields the newest grants in the queue, oldest first: those from the
// first entry on behind which all are wanted.
func (p *settledGrants) newest(wanted func(*settledEntry) bool) iter.Seq[*grant] {
	return func(yield func(*grant) bool) {
		first := p.to
		for first > p.from && wanted(p.at(first-1)) {
			first--
		}
		for i := first; i < p.to && yield(p.at(i).g); i++ {
		}
	}
}
