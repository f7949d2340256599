package checker

import (
	"maps"
	"slices"
)

// Blame says whose affair a violation is. The values are in the order in which
// a report tells violations.
type Blame uint8

// The blames.
const (
	// Defect: the lock broke what it claims, or the application went on though the lock had told it
	// of the loss, and the history shows it for certain.
	Defect Blame = iota
	// Unclear: the history does not show whose affair it is, or chance can bring it about.
	Unclear
	// Inherent: a client outlived its lease and could not know it, which no lock prevents.
	Inherent
	// Harm: what double-holds did to the data. What brought them about is judged apart.
	Harm
)

// Blame says whose affair the violation is. Every output that tells defects
// from what is inherent asks here.
func (v *Violation) Blame() Blame {
	p := Named(v.Property)
	return p.blameOf(v.Kind)
}

// blameOf says whose affair a violation of a kind is.
func (p *Property) blameOf(kind string) Blame {
	if b, ok := p.kindBlame[kind]; ok {
		return b
	}
	return p.blame
}

// Cause is the grant that brought the violation about; 0 where the violation is
// a cause of its own. One cause often makes many violations: a client that
// outlives its lease overlaps every later grant.
func (v *Violation) Cause() int64 {
	p := Named(v.Property)
	switch {
	case v.Unordered:
		return 0 // neither of the two is known to be the one
	case p.Name == MutualExclusion && grantedInPromise(v.Kind) && v.B != nil:
		return v.B.Grant // it should not have been made
	case p.byEarlier && v.A != nil:
		return v.A.Grant // it acted, or was confirmed, too late
	}
	return 0
}

// Causes counts what brought violations of the property about: distinct causes
// among those that are kept and that only accepts; nil accepts all.
func (r *PropertyResult) Causes(only func(*Violation) bool) (n int) {
	seen := map[int64]bool{}
	for i := range r.Violations {
		v := &r.Violations[i]
		if only != nil && !only(v) {
			continue
		}
		if cause := v.Cause(); cause == 0 {
			n++
		} else if !seen[cause] {
			seen[cause] = true
			n++
		}
	}
	return n
}

// First returns the violation of the property to tell first: the earliest of
// the gravest blame. It is nil where none is kept.
func (r *PropertyResult) First() *Violation {
	var first *Violation
	for i := range r.Violations {
		if v := &r.Violations[i]; first == nil || v.Blame() < first.Blame() {
			first = v
		}
	}
	return first
}

// byKind is how many violations of the property there are of each kind; nil of
// a property whose blame does not depend on it.
func (r *PropertyResult) byKind() map[string]int {
	if Named(r.Name).kindBlame == nil || len(r.Kinds) > 0 {
		return r.Kinds
	}
	kinds := map[string]int{} // an older verdict does not count them
	for i := range r.Violations {
		kinds[r.Violations[i].Kind]++
	}
	if rest := r.Count - len(r.Violations); rest > 0 {
		kinds[KindUnexplained] += rest
	}
	return kinds
}

// KindsFound returns the kinds of the property's violations in alphabetical
// order: of all where the verdict counts by kind, else of those that are kept.
func (r *PropertyResult) KindsFound() []string {
	found := map[string]bool{}
	for kind := range r.Kinds {
		found[kind] = true
	}
	for i := range r.Violations {
		if kind := r.Violations[i].Kind; kind != "" {
			found[kind] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// CountOfKind is how many violations of the property are of a kind, also of
// those that are not kept.
func (r *PropertyResult) CountOfKind(kind string) int { return r.byKind()[kind] }

// CountOf is how many violations of the property are of the blame, also of those that are not kept.
func (r *PropertyResult) CountOf(b Blame) (n int) {
	kinds := r.byKind()
	if kinds == nil && (&Violation{Property: r.Name}).Blame() == b {
		return r.Count
	}
	for kind, count := range kinds {
		if (&Violation{Property: r.Name, Kind: kind}).Blame() == b {
			n += count
		}
	}
	return n
}

// Blame is the gravest blame of the property's violations, also of those that
// are not kept. It says nothing of a property that is not violated.
func (r *PropertyResult) Blame() Blame {
	for b := Defect; b < Harm; b++ {
		if r.CountOf(b) > 0 {
			return b
		}
	}
	return Harm
}

// InOrderOfBlame returns the violated properties: those that show a defect
// first, each group in the order of Properties().
func (v *Verdict) InOrderOfBlame() []*PropertyResult {
	var violated []*PropertyResult
	for i := range v.Properties {
		if v.Properties[i].Outcome == Violated {
			violated = append(violated, &v.Properties[i])
		}
	}
	slices.SortStableFunc(violated, func(a, b *PropertyResult) int { return int(a.Blame()) - int(b.Blame()) })
	return violated
}
