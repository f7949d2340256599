package scenarios

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/nemesis"
)

// mostWeight bounds the weight of a choice.
const mostWeight = 1000

// faults checks the faults of a scenario.
func (v *validator) faults(at string, s *Scenario) {
	if s.Quiet < 0 || s.Quiet >= s.Duration && s.Quiet > 0 {
		v.fail(at+".quiet", "quiet %v: faults need time before it, and the workload lasts %v", s.Quiet, s.Duration)
	}
	if s.Quiet > 0 && len(s.Faults) == 0 {
		v.fail(at+".quiet", "quiet is the time without faults at the end of the workload, and no fault is planned")
	}
	for i := range s.Faults {
		f := &s.Faults[i]
		at := fmt.Sprintf("%s.faults[%d]", at, i)
		if f.Weight != 0 {
			v.fail(at+".weight", "weight is for the parts of a mix")
		}
		v.schedule(at, f)
		v.fault(at, s, *f)
	}
}

// word is a field of a fault, and whether it is given.
type word struct {
	name  string
	given bool
}

func given(words ...word) (names []string) {
	for _, w := range words {
		if w.given {
			names = append(names, w.name)
		}
	}
	return names
}

// schedule checks when a fault comes: every so often, at times, or with grants.
func (v *validator) schedule(at string, f *Fault) {
	ways := given(word{"every", f.Every != Range{}}, word{"at", len(f.At) > 0}, word{"grant", len(f.Grant) > 0})
	switch {
	case len(ways) > 1:
		v.fail(at+"."+ways[1], "%s: each says when the fault comes, so one of them must do",
			strings.Join(ways, " and "))
	case (len(ways) == 0 || ways[0] == "every") && (f.Every.Max <= 0 || f.Every.Max > longest || f.After > longest):
		v.fail(at+".every", "when the fault comes must be given: every (longer than 0; it and after may be %v at most), at (a time of the run) or grant (the number of one)", longest)
	case f.Every == Range{} && f.After != 0:
		v.fail(at+".after", "after is the time before the first of every; at and grant say when the fault comes")
	}
	v.instants(at, f)
}

// instants checks the times, or the numbers of grants, with which a fault comes.
func (v *validator) instants(at string, f *Fault) {
	for i, t := range f.At {
		if t.At > longest || t.Jitter > longest || i > 0 && t.At <= f.At[i-1].At {
			v.fail(at+".at", "at %v: times of the run must rise, and be %v at most", t, longest)
		}
	}
	for i, n := range f.Grant {
		if n < 1 || i > 0 && n <= f.Grant[i-1] {
			v.fail(at+".grant", "grant %d: numbers of grants must rise, from 1", n)
		}
	}
}

// fault checks what a fault does; f has what it inherits.
func (v *validator) fault(at string, s *Scenario, f Fault) {
	ways := given(word{"kind", f.Kind != ""}, word{"sequence", f.Sequence != nil}, word{"together", f.Together != nil},
		word{"mix", f.Mix != nil})
	switch {
	case len(ways) > 1:
		v.fail(at+"."+ways[1], "%s: a fault is one of them; combinations can be parts of each other",
			strings.Join(ways, " and "))
	case len(ways) == 1 && f.Kind == "":
		v.combination(at, ways[0], s, f)
	default:
		v.single(at, s, f)
	}
}

// single checks a fault that is no combination.
func (v *validator) single(at string, s *Scenario, f Fault) {
	before := v.mistakes.Len()
	v.oneOf(at+".kind", "fault", f.Kind, v.catalogue.Faults)
	v.oneOf(at+".when", "moment", f.When, v.catalogue.Moments)
	if _, known := v.service(s); known && v.mistakes.Len() == before && v.catalogue.CheckFault != nil {
		if err := v.catalogue.CheckFault(s, f); err != nil {
			v.fail(at+".target", "%v", err)
		}
	}
	if f.For <= 0 && !f.momentary() || f.For > longest {
		v.fail(at+".for", "a fault must last longer than 0, and at most %v", longest)
	}
	if f.For > 0 && f.momentary() && (!f.Spec().Kills() || f.Spec().Ousts()) {
		v.fail(at+".for", "a %s is over as soon as it has struck: it takes no for (a silent cut does)", f.Kind)
	}
	if v.mistakes.Len() == before && f.When == whileRenewing && !v.renews(s) {
		v.fail(at+".when", "%s is a moment of applications that renew their grants (workload.renew: true), under a lock that is renewed so%s",
			whileRenewing, v.renewers())
	}
	if f.When == beforeCommit && s.Workload.Kind != transaction && !s.Own() {
		v.fail(at+".when", "%s is a moment of workload %s, not of %s", beforeCommit, transaction, s.Workload.Kind)
	}
}

// The moments that not every workload passes.
const (
	whileRenewing = string(nemesis.WhileRenewing)
	beforeCommit  = string(nemesis.BeforeCommit)
)

// renews reports whether a scenario's application renews its grants. Of a lock that there is not
// nothing is known, and it is told of elsewhere.
func (v *validator) renews(s *Scenario) bool {
	return s.Workload.Renew && v.catalogue.Renews[s.Lock] || !slices.Contains(v.catalogue.Locks, s.Lock)
}

// renewers says which locks are renewed by the application.
func (v *validator) renewers() string {
	var names []string
	for _, lock := range v.catalogue.Locks {
		if v.catalogue.Renews[lock] {
			names = append(names, lock)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, ", ") + "; a lock that renews by itself passes no step"
}

// combination checks one, and its parts. how is the name of the field that lists them.
func (v *validator) combination(at, how string, s *Scenario, f Fault) {
	shell := f
	shell.Target, shell.When, shell.For, shell.After, shell.Every, shell.At, shell.Grant, shell.Weight = "", "", 0, 0,
		Range{}, nil, nil, 0
	shell.Sequence, shell.Together, shell.Mix = nil, nil, nil
	if !reflect.DeepEqual(shell, Fault{}) {
		v.fail(at, "a %s has target, when, for, and when it comes; what a fault does is said of its parts", how)
	}
	if len(f.Parts()) < 2 {
		v.fail(at+"."+how, "a %s needs two faults at least", how)
	}
	for i, p := range f.Parts() {
		at := fmt.Sprintf("%s.%s[%d]", at, how, i)
		v.part(at, how, i, f, p)
		v.fault(at, s, p.Within(f))
	}
	if how == "together" && len(f.Together) > 1 && v.catalogue.CheckTogether != nil {
		if err := v.catalogue.CheckTogether(f.Together); err != nil {
			v.fail(at+"."+how, "%v", err)
		}
	}
}

// part checks what only some parts may say.
func (v *validator) part(at, how string, i int, whole, p Fault) {
	if p.Every != (Range{}) || len(p.At) > 0 || len(p.Grant) > 0 {
		v.fail(at, "when a part of a %s comes is said of the whole: no every, at or grant", how)
	}
	if p.After != 0 && (how != "sequence" || i == 0) {
		v.fail(at+".after", "after is a pause between the parts of a sequence")
	}
	switch {
	case how != "mix" && p.Weight != 0:
		v.fail(at+".weight", "weight is for the parts of a mix")
	case p.Weight < 0 || p.Weight > mostWeight:
		v.fail(at+".weight", "weight %d: 1 to %d, or not given, which is 1", p.Weight, mostWeight)
	}
	if how == "together" {
		v.combined(at, whole, p)
	}
}

// combined checks a part of what strikes together.
func (v *validator) combined(at string, whole, p Fault) {
	if len(p.Parts()) > 0 {
		v.fail(at, "what strikes together are single faults, no combinations")
	}
	if p.Target != "" && p.Target != whole.Target || p.When != "" && p.When != whole.When {
		v.fail(at+".target", "what strikes together has one target and one moment: they are said of the whole")
	}
}
