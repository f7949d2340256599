package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
)

// Observed is what a run showed of one property.
type Observed struct {
	Property, Outcome string
	// Kinds are those of its violations.
	Kinds []string
}

// Compared is an expectation beside what was observed.
type Compared struct {
	Property string // or "severity"
	// "pass", "violated", "not judged", "any", "lease-overrun", "late-notice",
	// "pass or not judged", "violated (ghost or wedged)"
	Want string
	Got  string
	Met  bool
	// Inherent: it is violated, and met all the same, since no lease prevents it.
	Inherent bool
}

// unnamed is what is expected of a property that a scenario does not name.
const unnamed = "pass or not judged"

// anyOutcome is for a property that a scenario is not about: nothing is expected of it.
const anyOutcome = "any"

// overrunOutcome is for a property where theory allows what is inherent to
// leases, and no defect of the lock.
const overrunOutcome = checker.KindLeaseOverrun

// overrunProperties are those: a violation may be of a kind that no lease prevents.
var overrunProperties = []string{checker.MutualExclusion, checker.OncePerTick, checker.Overlap, checker.StopDeadline}

// lateOutcome is for mutual-exclusion, too: it is violated, and some double-hold is a late notice.
const lateOutcome = checker.KindLateNotice

// overrun reports whether what was observed is no more than that, by the blame of its
// kinds. Where e allows a grant that was dead when it came, it allows the second
// holder, too, that such a grant brings about. Strictly, a double-hold that nothing
// explains is more: a lock that claims no validity and locks nothing shows such ones.
func (e Expect) overrun(o Observed) bool {
	if o.Outcome != "violated" {
		return o.Outcome == "pass" || o.Outcome == "not judged"
	}
	return len(o.Kinds) > 0 && !slices.ContainsFunc(o.Kinds, func(kind string) bool {
		blame := (&checker.Violation{Property: o.Property, Kind: kind}).Blame()
		return blame != checker.Inherent && (e.Inherent || blame != checker.Unclear) &&
			(kind != checker.KindGrantedDead || e.Properties[checker.DeadGrant] != anyOutcome)
	})
}

// Compare sets the expectations beside what was observed, in the order of the observations;
// the severity comes last. An inconclusive outcome meets no expectation, where there is one.
func (e Expect) Compare(seen []Observed, severity string) []Compared {
	var out []Compared
	for _, o := range seen {
		c := Compared{Property: o.Property, Want: unnamed, Got: o.Outcome}
		if want, named := e.Properties[o.Property]; named {
			c.Want = want
			c.Met = o.Outcome == want || want == anyOutcome || want == overrunOutcome && e.overrun(o) ||
				want == lateOutcome && o.Outcome == "violated" && slices.Contains(o.Kinds, lateOutcome)
		} else {
			c.Met = o.Outcome == "pass" || o.Outcome == "not judged"
		}
		c.demandKinds(e.Kinds[o.Property], o)
		c.Inherent = e.Inherent && c.Met && o.Outcome == "violated"
		out = append(out, c)
	}
	if e.Severity != "" {
		out = append(out, Compared{Property: "severity", Want: e.Severity, Got: severity, Met: severity == e.Severity})
	}
	return out
}

// Allows reports whether a violation of the property, of the kind, is met as inherent.
func (e Expect) Allows(property, kind string) bool {
	seen := []Observed{{Property: property, Outcome: "violated", Kinds: []string{kind}}}
	return e.Compare(seen, "")[0].Inherent
}

// demandKinds demands that one violation at least is of one of the kinds; none: that is not asked.
func (c *Compared) demandKinds(kinds []string, o Observed) {
	if len(kinds) == 0 {
		return
	}
	c.Want = fmt.Sprintf("%s (%s)", c.Want, strings.Join(kinds, " or "))
	if o.Outcome != "violated" {
		return
	}
	c.Met = c.Met && slices.ContainsFunc(o.Kinds, func(kind string) bool { return slices.Contains(kinds, kind) })
	if !c.Met {
		c.Got = fmt.Sprintf("%s (%s)", c.Got, cmp.Or(strings.Join(o.Kinds, ", "), "of no kind"))
	}
}

// Met reports whether every expectation was met. Where only what is inherent is
// allowed, a verdict that is inconclusive as a whole stays so.
func (e Expect) Met(all []Compared, verdict string) bool {
	return Met(all) && !(e.Inherent && verdict == "inconclusive")
}

// InherentWords says why a violation is met that no lease prevents.
const InherentWords = "inherent: the holder came after the end of its lease and could not know, which no lease prevents"

// Met reports whether every expectation was met.
func Met(all []Compared) bool {
	return !slices.ContainsFunc(all, func(c Compared) bool { return !c.Met })
}
