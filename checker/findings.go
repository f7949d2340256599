package checker

import (
	"slices"
	"sort"
)

// findings are what violates a property, or may: those that wait for the faults around them, and
// those that are decided.
type findings struct {
	rules *rules
	book  *book
	opts  Options

	pending []pending
	decided int   // how many of them, from the front
	nextDue int64 // when the first of the others is due

	found [][]keptViolation // by the place of the property
	nr    int64             // of the last one
	// defectsKept is how many places at the end of the full list of
	// double-holds have been looked through for room (keepDefect).
	defectsKept int
}

// pending is a finding that is not decided yet: a fault that explains it may be recorded a
// little later than what it explains (a stall is noticed when the late heartbeat comes).
type pending struct {
	due    int64 // by the recorder's clock
	oldest int64 // the oldest instant whose faults matter to it
	decide func()
}

// putOff puts a finding off until the faults around it are certainly known. Faults
// from oldest on matter to it, and those since the grants that it looks at.
func (fi *findings) putOff(oldest int64, decide func(), grants ...*grant) {
	for _, g := range grants {
		g.pinned, oldest = true, min(oldest, g.earliest)
	}
	fi.pending = append(fi.pending, pending{due: fi.book.now + fi.rules.delay, oldest: oldest, decide: decide})
	fi.nextDue = fi.pending[fi.decided].due
}

// decide decides the findings that are due at now, first found first.
func (fi *findings) decide(now int64) {
	for ; fi.decided < len(fi.pending) && fi.pending[fi.decided].due <= now; fi.decided++ {
		fi.pending[fi.decided].decide()
		fi.pending[fi.decided] = pending{}
	}
	if fi.decided > 64 && 2*fi.decided > len(fi.pending) || fi.decided == len(fi.pending) {
		n := copy(fi.pending, fi.pending[fi.decided:])
		clear(fi.pending[n:])
		fi.pending, fi.decided = fi.pending[:n], 0
	}
	fi.nextDue = forever
	if fi.decided < len(fi.pending) {
		fi.nextDue = fi.pending[fi.decided].due
	}
}

// tally counts what was found on one key. There are few entries, so a list is small and quick.
type tally struct {
	entries []tallyEntry
	// overlapped counts the grants that were not exclusive.
	overlapped int64
	severity   Severity
}

// tallyEntry counts the findings of one property that are alike.
type tallyEntry struct {
	property      *Property
	kind, pattern string
	stallOnly     bool // only an uninjected stall explains them
	n             int
}

// add counts findings.
func (t *tally) add(more tallyEntry) {
	n := more.n
	for i := range t.entries {
		e := &t.entries[i]
		if more.n = e.n; *e == more {
			e.n += n
			return
		}
	}
	more.n = n
	t.entries = append(t.entries, more)
}

// judged counts a finding.
func (t *tally) judged(p *Property, j judgement) {
	if j.violated {
		t.add(tallyEntry{p, j.kind, j.pattern, j.stallOnly, 1})
	}
	if j.stands() {
		t.severity = max(t.severity, j.severity)
	}
}

// count returns how often a property was violated, of each of its kinds too,
// and how many more findings a stall alone explains.
func (t *tally) count(p *Property) (violated, stalled int, kinds map[string]int) {
	for _, e := range t.entries {
		switch {
		case e.property != p:
		case e.stallOnly:
			stalled += e.n
		default:
			violated += e.n
			if p.Kinds != nil {
				if kinds == nil {
					kinds = map[string]int{}
				}
				kinds[e.kind] += e.n
			}
		}
	}
	return violated, stalled, kinds
}

// total sums up what was found on all keys, as the reading of each key's tokens has it that holds.
func (fi *findings) total() (sum tally) {
	for _, k := range fi.book.keys {
		t := &k.tally[fi.rules.reading(k)]
		for _, e := range t.entries {
			sum.add(e)
		}
		sum.overlapped += t.overlapped
		sum.severity = max(sum.severity, t.severity)
	}
	return sum
}

// judgement is one finding under one reading of the key's tokens.
type judgement struct {
	violated  bool
	stallOnly bool // true, but only an uninjected stall explains it: inconclusive
	kind      string
	severity  Severity
	pattern   string // empty: the property itself is all there is to say
	unordered bool   // which of its two grants was made first is not known
	assumed   bool   // its kind is that of one order of the two, which is assumed
	packets   string // what the packets of a client say of the order, if they tell it
	// the earlier grant in that order is the one that counts as the later where time is silent
	swapped bool
}

// stands reports whether the finding is a violation.
func (j judgement) stands() bool { return j.violated && !j.stallOnly }

// detailed is the violation with its particulars; nil where the finding is none.
func (j judgement) detailed(tell func(judgement) *Violation) *Violation {
	if !j.stands() {
		return nil
	}
	v := tell(j)
	v.Pattern = j.pattern
	return v
}

// keptViolation is a violation that is kept with its particulars.
type keptViolation struct {
	nr  int64
	key *keyState
	// plain is the violation as time alone shows it; trusting as it reads if
	// the key's tokens can be trusted. Either may be nil.
	plain, trusting *Violation
}

// record counts a finding under both readings of the key's tokens, and keeps its
// particulars while there is room. What time alone shows is certain; what needs the tokens
// waits for the end, since a later grant may yet prove that the tokens can't be trusted.
func (fi *findings) record(p *Property, k *keyState, plain, trusting judgement, tell func(judgement) *Violation) {
	if !fi.rules.asks(p) {
		return // what is not judged is neither counted nor told
	}
	k.tally[0].judged(p, plain)
	k.tally[1].judged(p, trusting)
	certain := plain.stands()
	if !certain && !trusting.stands() {
		return
	}
	list := fi.listOf(p, k, certain)
	full, defect := len(*list) >= fi.opts.Keep, fi.keepsDefect(p, plain)
	if full && !defect && !(certain && fi.opts.OnViolation != nil) {
		return
	}
	fi.nr++
	f := keptViolation{nr: fi.nr, key: k, plain: plain.detailed(tell)}
	if f.trusting = f.plain; trusting != plain {
		f.trusting = trusting.detailed(tell)
	}
	if certain && fi.opts.OnViolation != nil {
		fi.opts.OnViolation(*f.plain)
	}
	if !full {
		*list = append(*list, f)
	} else if defect {
		fi.keepDefect(p, f)
	}
}

// listOf is where a violation is kept: certain ones with the property, those that need the tokens
// with their key.
func (fi *findings) listOf(p *Property, k *keyState, certain bool) *[]keptViolation {
	if certain {
		return &fi.found[p.place]
	}
	if k.byToken == nil {
		k.byToken = make([][]keptViolation, len(fi.found))
	}
	return &k.byToken[p.place]
}

// keepsDefect reports whether the violation is a defect of which one is kept
// though there is no room left.
func (fi *findings) keepsDefect(p *Property, j judgement) bool {
	return fi.opts.KeepDefects && p.kindBlame != nil && j.stands() && p.blameOf(j.kind) == Defect
}

// gather puts together what is kept of a property: certain violations, and
// those by token on keys whose tokens kept their order.
func (fi *findings) gather(p *Property) (kept []Violation) {
	all := slices.Clone(fi.found[p.place])
	for _, k := range fi.book.keys {
		if fi.rules.trusted(k) && k.byToken != nil {
			all = append(all, k.byToken[p.place]...)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].nr < all[j].nr })
	for _, f := range all {
		if len(kept) == fi.opts.Keep {
			break
		}
		v := f.plain
		if fi.rules.trusted(f.key) {
			v = f.trusting
		}
		if v == nil {
			continue // this reading counts another write of the same pair instead
		}
		kept = append(kept, *v)
		if f.plain == nil && fi.opts.OnViolation != nil {
			fi.opts.OnViolation(*v)
		}
	}
	// Found when the later act was judged, they are read in the order in which they happened.
	sort.SliceStable(kept, func(i, j int) bool { return kept[i].At < kept[j].At })
	return kept
}

// noteOverlapped counts a grant, under each reading of the key's tokens, that
// was not exclusive; once each.
func (fi *findings) noteOverlapped(g *grant, reading int) {
	if bit := uint8(1) << reading; g.overlapped&bit == 0 && !fi.rules.fresh(g.client) {
		g.overlapped |= bit
		fi.book.keyOf(g).tally[reading].overlapped++
	}
}

// keepDefect keeps a violation of a property that is a certain defect though
// there is no room: the last one goes that is none.
func (fi *findings) keepDefect(p *Property, f keptViolation) {
	list := fi.found[p.place]
	for n := len(list) - fi.defectsKept - 1; n >= 0; n-- {
		fi.defectsKept++
		if p.blameOf(list[n].plain.Kind) != Defect {
			list[n] = f
			return
		}
	}
}
