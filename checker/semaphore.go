package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Semaphores: a key with N permits, of which a grant has one, or as many as its acquire asked
// for. A violation is counted once for each hold that was one too many where it began, or grant
// that was made inside the promises of N earlier ones. Of those that began at one instant, or
// whose order is not known, those before it are the ones whose acquire ended first, or else was
// invoked first: of three holders of two permits one is counted, whichever it was.

// judgePermits judges the holds of a semaphore around a grant that has just settled.
func (s *Sweep) judgePermits(g *grant) {
	k := s.book.keyOf(g)
	k.inUse.odd = k.inUse.odd || g.earliest > g.end
	k.inUse.add(g.end, g.bound(), g.takes)
	if k.inUse.most() <= s.rules.permits && !k.inUse.odd {
		k.lulls++
		return // nowhere were there more at once than may be, whatever becomes of them
	}
	near := k.settledAround(g)
	for _, b := range near {
		if b.exceeds || k.inUse.hasRoom(b, s.rules.permits) {
			continue
		}
		if s.tally(k, b, near); s.rules.mayExceed(b) {
			s.judgeExcess(b, near)
		}
	}
}

// settledAround returns a grant and the settled ones that end no earlier than it may have been
// made.
func (k *keyState) settledAround(g *grant) []*grant {
	near := []*grant{g}
	settled := &k.settled
	for i := settled.to - 1; i >= settled.from && settled.at(i).bound >= g.earliest; i-- {
		if x := settled.at(i).g; x != g && x.bound() >= g.earliest {
			near = append(near, x)
		}
	}
	return near
}

// tally counts the permits of the holds beside b, and of the grants that may have promised its
// place to others: of all near where they were not counted without a gap, else of the first alone,
// which is new. To find them anew whenever a grant settles would cost the square of them each time.
func (s *Sweep) tally(k *keyState, b *grant, near []*grant) {
	if b.tallied == k.lulls+1 {
		near = near[:1]
	} else {
		b.tallied, b.besides, b.backers, b.lookAgain = k.lulls+1, 0, 0, 0
	}
	for _, x := range near {
		s.figures.compared++
		if x == b {
			continue
		}
		if countsBefore(x, b) && overlap(x, b, false) {
			b.besides += int32(x.takes)
		}
		if x.client != b.client && b.end < x.limit() && (countsBefore(x, b) || later(b, x, false)) {
			b.backers += int32(x.takes)
		}
	}
}

// mayExceed reports whether it is time to look closely at a hold: where
// there are enough others. Where promises alone count, and there are many, it
// is not looked at again for each grant that comes.
func (r *rules) mayExceed(b *grant) bool {
	return int(b.besides) >= r.enough(b) || int(b.backers) >= r.enough(b) && b.backers >= b.lookAgain
}

// enough is how many permits others must have for b to be one too many.
func (r *rules) enough(b *grant) int { return r.permits - int(b.takes) + 1 }

// permitsOf is how many permits some grants have together.
func permitsOf(grants ...*grant) (n int) {
	for _, x := range grants {
		n += int(x.takes)
	}
	return n
}

// judgeExcess looks closely at a hold that may have been one too many.
func (s *Sweep) judgeExcess(b *grant, near []*grant) {
	certain := permitsOf(s.goingOnAt(b, near)...) >= s.rules.enough(b)
	if certain || s.promisedBeside(b, near) != nil {
		// what rests on promises may come to nothing when the faults around it are known
		b.exceeds = certain
		s.findings.putOff(s.book.now, func() { s.decideExcess(b, near) }, near...)
	}
	if b.lookAgain = b.backers; b.backers > manyBeside {
		b.lookAgain += b.backers / 8
	}
}

// manyBeside: where a hold has more backers than so many, it is looked at again
// only when there are an eighth more.
const manyBeside = 64

// goingOnAt returns the holds among near that go on at the instant at which b begins.
func (s *Sweep) goingOnAt(b *grant, near []*grant) []*grant {
	var others []*grant
	s.figures.compared += len(near)
	for _, x := range near {
		if countsBefore(x, b) && overlap(x, b, false) {
			others = append(others, x)
		}
	}
	return others
}

// countsBefore tells which of two grants counts as the one before the other where nothing else
// tells.
func countsBefore(x, b *grant) bool { return x.end < b.end || x.end == b.end && x.id < b.id }

// promisedBeside returns grants inside whose promises b was granted, if there are so many
// that they leave too few permits for b. Those that are certainly earlier than b count
// together whatever order they have. Each of the others must exclude, and be excluded by,
// every one that is counted, so that the last of them all, whichever it is, was one too many.
func (s *Sweep) promisedBeside(b *grant, near []*grant) []*grant {
	var before, unsure []*grant
	s.figures.compared += len(near)
	for _, x := range near {
		switch {
		case !s.explanations.rightlyExcludes(x, b):
		case later(b, x, false):
			before = append(before, x)
		case countsBefore(x, b):
			unsure = append(unsure, x)
		}
	}
	switch {
	case permitsOf(before...) >= s.rules.enough(b):
		return before
	case permitsOf(before...)+permitsOf(unsure...) < s.rules.enough(b):
		return nil
	case s.explanations.stoodUntil(b, before) && s.explanations.stoodUntil(b, unsure):
		return s.oneEach(s.rules.enough(b), before, unsure)
	}
	left := mostChoices
	return s.choose(s.rules.enough(b), before, unsure, nil, &left)
}

// stoodUntil reports whether the promises of all of these grants stood from
// before the first of them until b: then any two of them exclude each other, but
// for those of one client. Each was made before b, and promised beyond that.
func (ex *explanations) stoodUntil(b *grant, grants []*grant) bool {
	if ex.rules.Claims.Validity != validitySession {
		return true
	}
	return !slices.ContainsFunc(grants, func(x *grant) bool {
		since := min(x.earliest, b.end-ex.rules.TTL) - ex.rules.TTL
		return ex.faults.disturbed(x.client, since, b.end, injectedOnly) || ex.stalledWithin(x, since, b.end)
	})
}

// oneEach is choose where any two grants of different clients exclude each other.
func (s *Sweep) oneEach(enough int, before, unsure []*grant) []*grant {
	most := map[int32]*grant{} // of each client's the one with the most permits
	for _, x := range before {
		most[x.client] = x
	}
	for _, x := range unsure {
		if y := most[x.client]; y == nil || y.takes < x.takes && !slices.Contains(before, y) {
			most[x.client] = x
		}
	}
	chosen, have := slices.Clone(before), permitsOf(before...)
	for _, x := range unsure {
		if most[x.client] == x && have < enough {
			chosen, have = append(chosen, x), have+int(x.takes)
		}
	}
	s.figures.compared += len(before) + len(unsure)
	if have < enough {
		return nil
	}
	return chosen
}

// mostChoices bounds the search of choose, whose time would double with each grant
// more: it is for the few grants around a fault that may have ended sessions.
const mostChoices = 1 << 17

// choose finds grants that count together and have enough permits: chosen, some of unsure,
// and those of before that agree with them. It gives up when left comparisons are made.
func (s *Sweep) choose(enough int, before, unsure, chosen []*grant, left *int) []*grant {
	if permitsOf(before...)+permitsOf(chosen...) >= enough {
		return append(append([]*grant(nil), before...), chosen...)
	}
	for i, x := range unsure {
		if permitsOf(before...)+permitsOf(chosen...)+permitsOf(unsure[i:]...) < enough {
			return nil // there are too few, even if all agree
		}
		if *left -= len(before) + len(unsure) - i; *left < 0 {
			return nil
		}
		s.figures.compared += len(before) + len(unsure) - i
		var agreeing, rest []*grant
		for _, o := range before {
			if s.explanations.eitherExcludes(x, o) {
				agreeing = append(agreeing, o)
			}
		}
		for _, o := range unsure[i+1:] {
			if s.explanations.eitherExcludes(x, o) {
				rest = append(rest, o)
			}
		}
		if found := s.choose(enough, agreeing, rest, append(chosen[:len(chosen):len(chosen)], x), left); found != nil {
			return found
		}
	}
	return nil
}

func (ex *explanations) eitherExcludes(x, y *grant) bool {
	return ex.rightlyExcludes(x, y) || ex.rightlyExcludes(y, x)
}

// rightlyExcludes reports whether x and b can't both have been granted without
// one inside the other's promise, b not being the earlier.
func (ex *explanations) rightlyExcludes(x, b *grant) bool {
	return ex.inPromise(b, x) && (later(b, x, false) || ex.inPromise(x, b))
}

// decideExcess records a hold that was one too many.
func (s *Sweep) decideExcess(b *grant, near []*grant) {
	others, promised := s.goingOnAt(b, near), s.promisedBeside(b, near)
	if b.counted || permitsOf(others...) < s.rules.enough(b) && (promised == nil || s.book.cut) {
		return
	}
	b.counted = true
	j := judgement{violated: true, kind: KindUnexplained, pattern: PatternUnexplained}
	var cause *grant
	if promised != nil {
		j.kind, j.pattern = KindGrantedWhileValid, s.explanations.givenAway(promised[0], b)
	} else {
		cause = s.explanations.explainExcess(&j, b, others)
	}
	if permitsOf(others...) < s.rules.enough(b) {
		others = promised
	}
	j.unordered = (cause == nil || j.assumed) && !lastOf(b, others)
	j.severity = severityOf(false, append([]*grant{b}, others...)...)
	if j.stands() {
		s.findings.noteOverlapped(b, 0) // tokens order no semaphore's grants
	}
	s.findings.record(&mutualExclusion, s.book.keyOf(b), j, j,
		func(j judgement) *Violation { return s.tellExcess(b, cause, others, j) })
}

// lastOf reports whether b was certainly granted after all the others.
func lastOf(b *grant, others []*grant) bool {
	return !slices.ContainsFunc(others, func(x *grant) bool { return !later(b, x, false) })
}

// explainExcess finds the first kind that explains one of the holds beside b,
// and returns that hold; nil: none does.
func (ex *explanations) explainExcess(j *judgement, b *grant, others []*grant) *grant {
	for _, kind := range [...]string{KindGrantedDead, KindLateNotice, KindLossIgnored, KindLeaseOverrun} {
		for _, a := range others {
			got, stall := ex.explain(a, b, a.last)
			if got == kind && (later(b, a, false) || kind == KindGrantedDead) {
				j.kind, j.stallOnly, j.pattern = kind, stall, ex.patternOf(a, b, 0)
				return a
			}
		}
	}
	for _, a := range others { // in an order that is possible: see judgeEitherOrder
		if got, stall := ex.explain(a, b, a.last); got == KindLeaseOverrun && !later(a, b, false) {
			j.kind, j.stallOnly, j.pattern, j.assumed = got, stall, ex.patternOf(a, b, 0), true
			j.supposeAsked(a, b)
			return a
		}
	}
	return nil
}

// tellExcess tells of a semaphore that had one holder too many: b, or where the
// order is not known, one of them all. cause is the hold that explains it, or nil.
func (s *Sweep) tellExcess(b, cause *grant, others []*grant, j judgement) *Violation {
	first := cause
	if first == nil {
		first = slices.MinFunc(others, func(x, y *grant) int {
			return cmp.Or(cmp.Compare(x.end, y.end),
				cmp.Compare(x.id, y.id))
		})
	}
	v := &Violation{Property: MutualExclusion, Kind: j.kind, Severity: j.severity, Key: s.book.nameOf(b),
		A: first.ref(), B: b.ref(), Unordered: j.unordered, Assumed: j.assumed,
		At: b.end, From: b.end}
	if j.kind == KindGrantedDead && !first.dead {
		v.A, v.B = v.B, v.A // A is the one that should not be
	}
	var proof evidence
	v.To = b.last
	for _, x := range others {
		proof.add(x.id, x.start)
		if x.hasHold() {
			v.To = min(v.To, x.last)
		}
	}
	v.To = max(v.To, v.From)
	proof.add(b.id, b.start)
	for _, x := range others {
		proof.addGrant(x, b.end)
	}
	v.Ops, v.Faults = proof.ops(), s.faults.faultsOf(v.To, append([]*grant{b}, others...)...)
	has := count(s.rules.permits, "permit", "permits")
	if lastOf(b, others) {
		v.Text = fmt.Sprintf("%s was one holder too many of %s, which has %s, from %s: %s held it too", holder(b),
			v.Key, has, seconds(b.end), namesOf(others))
	} else {
		v.Text = fmt.Sprintf("%s, which has %s, was held from %s on by %s", v.Key, has, seconds(b.end),
			namesOf(append([]*grant{b}, others...)))
	}
	switch v.Text += s.explanations.because(first, b, j, true) + j.packets; {
	case j.assumed:
		v.Text += s.explanations.inEitherOrder(first, b, j)
	case j.unordered:
		v.Text += ": which of them was one too many, the history does not tell"
	}
	v.Text += "."
	return v
}

// holder names the client of a grant, with its permits if it has several.
func holder(g *grant) string {
	if g.takes > 1 {
		return fmt.Sprintf("client %d (with %d permits)", g.client, g.takes)
	}
	return fmt.Sprintf("client %d", g.client)
}

// namesOf names the clients of some grants, in no order of time.
func namesOf(grants []*grant) string {
	var names []string
	for _, x := range grants {
		names = append(names, holder(x))
	}
	slices.Sort(names)
	return strings.Join(firstFew(names), ", ")
}
