package checker

import (
	"slices"
	"testing"
)

// TestBlame holds the table of whose affair a violation is.
func TestBlame(t *testing.T) {
	for kind, want := range map[string]Blame{KindGrantedWhileValid: Defect, KindLateNotice: Defect,
		KindLeaseOverrun: Inherent, KindUnexplained: Unclear, "": Unclear} {
		if got := (&Violation{Property: MutualExclusion, Kind: kind}).Blame(); got != want {
			t.Errorf("a double-hold of kind %q: %d, want %d", kind, got, want)
		}
	}
	harm := []string{UnfencedWrite, LostUpdate, StaleRead, DuplicateEffect}
	for _, p := range Properties() {
		want := Defect
		switch {
		case p.Name == MutualExclusion:
			continue
		case p.Name == Starvation:
			want = Unclear
		case slices.Contains(harm, p.Name):
			want = Harm
		}
		if got := (&Violation{Property: p.Name, Kind: KindStale}).Blame(); got != want {
			t.Errorf("%s: %d, want %d", p.Name, got, want)
		}
	}
}

// pairs makes n violations of a property: each of its own later grant, all of the same earlier one.
func pairs(property, kind string, n int) (all []Violation) {
	for i := range n {
		all = append(all, Violation{Property: property, Kind: kind, A: &GrantRef{Grant: 1}, B: &GrantRef{Grant: int64(10 + i)}})
	}
	return all
}

// TestCauses checks that one holder who outlives its lease counts once, and
// each grant of a promised key by itself.
func TestCauses(t *testing.T) {
	for _, c := range []struct {
		property, kind string
		want           int
	}{
		{MutualExclusion, KindLeaseOverrun, 1}, {MutualExclusion, KindLateNotice, 1},
		{MutualExclusion, KindUnexplained, 1}, {MutualExclusion, KindGrantedWhileValid, 7},
		{Continuity, "", 1}, {LostUpdate, "", 1}, {UnfencedWrite, KindStale, 7}, {StolenRelease, "", 7}, {DeadGrant, "", 7},
	} {
		r := PropertyResult{Name: c.property, Outcome: Violated, Count: 7, Violations: pairs(c.property, c.kind, 7)}
		if got := r.Causes(nil); got != c.want {
			t.Errorf("%s %s: %d causes, want %d", c.property, c.kind, got, c.want)
		}
	}
	r := PropertyResult{Name: StuckLock, Violations: []Violation{{Property: StuckLock}, {Property: StuckLock}}}
	if got := r.Causes(nil); got != 2 {
		t.Errorf("stuck keys without grants: %d causes, want 2", got)
	}
}

// TestBlameOfResult checks that a property is judged by its gravest violation,
// also by one that is not kept.
func TestBlameOfResult(t *testing.T) {
	overrun := pairs(MutualExclusion, KindLeaseOverrun, 2)
	mixed := append(slices.Clone(overrun), pairs(MutualExclusion, KindGrantedWhileValid, 1)...)
	for _, c := range []struct {
		name  string
		r     PropertyResult
		want  Blame
		first string
	}{
		{"overruns", PropertyResult{Name: MutualExclusion, Count: 2, Violations: overrun,
			Kinds: map[string]int{KindLeaseOverrun: 2}}, Inherent, KindLeaseOverrun},
		{"a defect comes later", PropertyResult{Name: MutualExclusion, Count: 3, Violations: mixed,
			Kinds: map[string]int{KindLeaseOverrun: 2, KindGrantedWhileValid: 1}},
			Defect, KindGrantedWhileValid},
		{"a defect is not kept", PropertyResult{Name: MutualExclusion, Count: 3, Violations: overrun,
			Kinds: map[string]int{KindLeaseOverrun: 2, KindLateNotice: 1}},
			Defect, KindLeaseOverrun},
		{"kinds are not counted", PropertyResult{Name: MutualExclusion, Count: 3, Violations: mixed}, Defect, KindGrantedWhileValid},
		{"some are neither counted nor kept", PropertyResult{Name: MutualExclusion, Count: 3, Violations: overrun},
			Unclear, KindLeaseOverrun},
	} {
		if got := c.r.Blame(); got != c.want {
			t.Errorf("%s: blame %d, want %d", c.name, got, c.want)
		}
		if got := c.r.First(); got == nil || got.Kind != c.first {
			t.Errorf("%s: the first is %v, want one of kind %s", c.name, got, c.first)
		}
	}
}

// TestInOrderOfBlame checks that a property with a defect comes before what no
// lease prevents, and harm last.
func TestInOrderOfBlame(t *testing.T) {
	v := Verdict{Properties: []PropertyResult{
		{Name: MutualExclusion, Outcome: Violated, Count: 2, Violations: pairs(MutualExclusion, KindLeaseOverrun, 2)},
		{Name: UnfencedWrite, Outcome: Violated, Count: 1}, {Name: TokenOrder, Outcome: Pass},
		{Name: Continuity, Outcome: Violated, Count: 1},
		{Name: Starvation, Outcome: Violated, Count: 1}}}
	var got []string
	for _, p := range v.InOrderOfBlame() {
		got = append(got, p.Name)
	}
	if want := []string{Continuity, Starvation, MutualExclusion, UnfencedWrite}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestDefectIsKept checks that certain defects are among the violations that
// are kept, however many overruns were found before them.
func TestDefectIsKept(t *testing.T) {
	for _, c := range []struct {
		keep bool
		want []string
	}{
		{true, []string{KindLeaseOverrun, KindGrantedWhileValid, KindLateNotice}},
		{false, []string{KindLeaseOverrun, KindLeaseOverrun, KindLeaseOverrun}},
	} {
		h := plainLock().history("A acquire [0,1]")
		s := New(h.Header, h.Keys, Options{Keep: 3, KeepDefects: c.keep})
		k := &keyState{}
		for _, kind := range []string{KindLeaseOverrun, KindLeaseOverrun, KindLeaseOverrun, KindLeaseOverrun,
			KindLateNotice, KindGrantedWhileValid} {
			j := judgement{violated: true, kind: kind}
			s.findings.record(&mutualExclusion, k, j, j, func(j judgement) *Violation {
				return &Violation{Property: MutualExclusion, Kind: j.kind}
			})
		}
		var got []string
		for _, f := range s.findings.found[mutualExclusion.place] {
			got = append(got, f.plain.Kind)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("with KeepDefects %v: %v are kept, want %v", c.keep, got, c.want)
		}
	}
}
