package checker

import (
	"slices"
	"sort"
)

// pending is a finding that is not decided yet: a fault that explains it may be recorded a
// little later than what it explains (a stall is noticed when the late heartbeat comes).
type pending struct {
	due    int64 // by the recorder's clock
	oldest int64 // the oldest instant whose faults matter to it
	decide func()
}

// putOff puts a finding off until the faults around it are certainly known. Faults
// from oldest on matter to it, and those since the grants that it looks at.
func (s *Sweep) putOff(oldest int64, decide func(), grants ...*grant) {
	for _, g := range grants {
		g.pinned, oldest = true, min(oldest, g.earliest)
	}
	s.pending = append(s.pending, pending{due: s.book.now + s.rules.delay, oldest: oldest, decide: decide})
	s.nextDue = s.pending[s.decided].due
}

// decide decides the findings that are due at now, first found first.
func (s *Sweep) decide(now int64) {
	for ; s.decided < len(s.pending) && s.pending[s.decided].due <= now; s.decided++ {
		s.pending[s.decided].decide()
		s.pending[s.decided] = pending{}
	}
	if s.decided > 64 && 2*s.decided > len(s.pending) || s.decided == len(s.pending) {
		n := copy(s.pending, s.pending[s.decided:])
		clear(s.pending[n:])
		s.pending, s.decided = s.pending[:n], 0
	}
	s.nextDue = forever
	if s.decided < len(s.pending) {
		s.nextDue = s.pending[s.decided].due
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
func (s *Sweep) total() (sum tally) {
	for _, k := range s.book.keys {
		t := &k.tally[s.rules.reading(k)]
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

// told is the violation with its particulars; nil where the finding is none.
func (j judgement) told(tell func(judgement) *Violation) *Violation {
	if !j.stands() {
		return nil
	}
	v := tell(j)
	v.Pattern = j.pattern
	return v
}

// found is a violation that is kept with its particulars.
type found struct {
	nr  int64
	key *keyState
	// plain is the violation as time alone shows it; trusting as it reads if
	// the key's tokens can be trusted. Either may be nil.
	plain, trusting *Violation
}

// record counts a finding under both readings of the key's tokens, and keeps its
// particulars while there is room. What time alone shows is certain; what needs the tokens
// waits for the end, since a later grant may yet prove that the tokens can't be trusted.
func (s *Sweep) record(p *Property, k *keyState, plain, trusting judgement, tell func(judgement) *Violation) {
	if !s.rules.asks(p) {
		return // what is not judged is neither counted nor told
	}
	k.tally[0].judged(p, plain)
	k.tally[1].judged(p, trusting)
	certain := plain.stands()
	if !certain && !trusting.stands() {
		return
	}
	list := s.listOf(p, k, certain)
	full, defect := len(*list) >= s.opts.Keep, s.keepsDefect(p, plain)
	if full && !defect && !(certain && s.opts.OnViolation != nil) {
		return
	}
	s.foundNr++
	f := found{nr: s.foundNr, key: k, plain: plain.told(tell)}
	if f.trusting = f.plain; trusting != plain {
		f.trusting = trusting.told(tell)
	}
	if certain && s.opts.OnViolation != nil {
		s.opts.OnViolation(*f.plain)
	}
	if !full {
		*list = append(*list, f)
	} else if defect {
		s.keepDefect(p, f)
	}
}

// listOf is where a violation is kept: certain ones with the property, those that need the tokens
// with their key.
func (s *Sweep) listOf(p *Property, k *keyState, certain bool) *[]found {
	if certain {
		return &s.found[p.place]
	}
	if k.byToken == nil {
		k.byToken = make([][]found, len(s.found))
	}
	return &k.byToken[p.place]
}

// keepsDefect reports whether the violation is a defect of which one is kept
// though there is no room left.
func (s *Sweep) keepsDefect(p *Property, j judgement) bool {
	return s.opts.KeepDefects && p.kindBlame != nil && j.stands() && p.blameOf(j.kind) == Defect
}

// gather puts together what is kept of a property: certain violations, and
// those by token on keys whose tokens kept their order.
func (s *Sweep) gather(p *Property) (kept []Violation) {
	all := slices.Clone(s.found[p.place])
	for _, k := range s.book.keys {
		if s.rules.trusted(k) && k.byToken != nil {
			all = append(all, k.byToken[p.place]...)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].nr < all[j].nr })
	for _, f := range all {
		if len(kept) == s.opts.Keep {
			break
		}
		v := f.plain
		if s.rules.trusted(f.key) {
			v = f.trusting
		}
		if v == nil {
			continue // this reading counts another write of the same pair instead
		}
		kept = append(kept, *v)
		if f.plain == nil && s.opts.OnViolation != nil {
			s.opts.OnViolation(*v)
		}
	}
	// Found when the later act was judged, they are read in the order in which they happened.
	sort.SliceStable(kept, func(i, j int) bool { return kept[i].At < kept[j].At })
	return kept
}
