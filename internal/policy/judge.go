package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/scenarios"
)

// The words that package checker uses.
const (
	severity     = "severity"
	pass         = "pass"
	violated     = "violated"
	inconclusive = "inconclusive"
	notJudged    = "not judged"
)

// hold is what is wanted of a property that is demanded.
const hold = pass

// tolerated is what is wanted of one that is known.
const tolerated = "known violation"

// soon is how long before the end of a tolerance it is said that it ends.
const soon = 14 * 24 * time.Hour

// Seen is what one run of one scenario showed.
type Seen struct {
	Scenario string
	// Ran: the scenario has a verdict. One that failed or was skipped has none.
	Ran        bool
	Properties []scenarios.Observed
	// Why tells, by property, why it was not judged or is inconclusive.
	Why      map[string]string
	Severity string
	// Unclear says, by property, why a violation does not meet what the scenario expects of itself,
	// though theory allows it: an attack came to one of which it is not clear whose affair it is.
	Unclear map[string]string
}

// Ruling is a demand beside what was observed.
type Ruling struct {
	Property, Want, Got string
	Met                 bool
	// Known is the reason for which a violation is met all the same; Note says more in a sentence.
	Known, Note string
}

// Judge sets what one run showed beside what the policy demands of the scenario; expect is
// what the scenario expects of itself. An open demand is ruled "inconclusive", and not met.
func (p *Policy) Judge(s Seen, expect scenarios.Expect, now time.Time) []Ruling {
	run, ok := p.run(s.Scenario)
	if !ok || !s.Ran {
		return nil
	}
	var all []Ruling
	if run.Demand.Expected {
		for _, c := range expect.Compare(s.Properties, s.Severity) {
			all = append(all, Ruling{Property: c.Property, Want: c.Want, Got: c.Got, Met: c.Met})
		}
	} else {
		all = run.Demand.rule(s)
	}
	excused := false
	for i := range all {
		if why := s.Unclear[all[i].Property]; why != "" && all[i].Met {
			all[i].Want, all[i].Met, all[i].Note = hold, false, why
		}
		if !all[i].Met && all[i].Got == violated {
			p.excuse(&all[i], s, now)
			excused = excused || all[i].Met
		}
	}
	for i := range all { // severity is what the violations did: it can't be better than they are
		if r := &all[i]; r.Property == severity && !r.Met && excused {
			r.Met, r.Note = true, "It comes with the known violation."
		}
	}
	return all
}

// rule rules on the properties that are named, or on all.
func (d Demand) rule(s Seen) (all []Ruling) {
	names := d.Names
	if d.All {
		names = nil
		for _, o := range s.Properties {
			names = append(names, o.Property)
		}
	}
	for _, name := range names {
		r := Ruling{Property: name, Want: hold, Got: inconclusive,
			Note: "It was not judged: this version of the checker does not know it."}
		if o := s.observed(name); o != nil {
			r.Got, r.Note = o.Outcome, ""
			r.Met = o.Outcome == pass || o.Outcome == notJudged && d.All
		}
		switch {
		case r.Got == notJudged && !r.Met:
			r.Got = inconclusive
			r.Note = strings.TrimSpace(fmt.Sprintf("%s is demanded by name and was not judged. %s", name, s.Why[name]))
		case r.Got == inconclusive && s.Why[name] != "":
			r.Note = s.Why[name]
		}
		all = append(all, r)
	}
	return all
}

func (s Seen) observed(property string) *scenarios.Observed {
	for i := range s.Properties {
		if s.Properties[i].Property == property {
			return &s.Properties[i]
		}
	}
	return nil
}

// excuse meets a violation that is known, and else says why it is not.
func (p *Policy) excuse(r *Ruling, s Seen, now time.Time) {
	var live []Known
	for _, k := range p.Known {
		switch {
		case !k.covers(s.Scenario, r.Property):
		case k.expired(now):
			r.Note = fmt.Sprintf("It was known until %s (line %d of %s), and that day is over: %s", day(k.Expires),
				k.Line, p.File, k.Reason)
		default:
			live = append(live, k)
		}
	}
	if len(live) == 0 {
		return
	}
	if other := otherKinds(live, s.observed(r.Property)); len(other) > 0 {
		r.Note = fmt.Sprintf("It is known, but not of the kind %s (line %d of %s).", strings.Join(other, ", "),
			live[0].Line, p.File)
		return
	}
	var reasons []string
	for _, k := range live {
		reasons = append(reasons, fmt.Sprintf("%s (until %s)", k.Reason, day(k.Expires)))
	}
	r.Want, r.Met, r.Note, r.Known = tolerated, true, "", strings.Join(reasons, "; ")
}

// otherKinds are the kinds of double-holds that showed and are not among the known ones. What is
// certain of no kind is taken for a known one, as it is where a scenario expects lease-overrun.
func otherKinds(live []Known, o *scenarios.Observed) (all []string) {
	if o == nil || slices.ContainsFunc(live, func(k Known) bool { return k.Kind == "" }) {
		return nil
	}
	for _, kind := range o.Kinds {
		if kind != checker.KindUnexplained && !slices.ContainsFunc(live, func(k Known) bool { return k.Kind == kind }) {
			all = append(all, kind)
		}
	}
	return all
}

// Remark is a sentence about an entry of the list of what is known.
type Remark struct {
	// Rule is "known-gone" or "known-expires".
	Rule string
	Text string
	Line int
}

// Remarks tells of known violations that showed no more, and of those whose
// days are numbered. Only what was judged, and passed each time, is gone: of a
// scenario that was skipped or is inconclusive nothing is known.
func (p *Policy) Remarks(all []Seen, now time.Time) (out []Remark) {
	for _, k := range p.Standings(all) {
		left := k.Expires.AddDate(0, 0, 1).Sub(now)
		switch {
		case k.Gone():
			out = append(out, Remark{"known-gone",
				fmt.Sprintf("%s of %s is known to be violated, and was not in %s: if its cause is gone, take it off the list. (%s)",
					k.Property, k.Scenario, runs(k.Clear), k.Reason), k.Line})
		case k.Shown > 0 && left > 0 && left <= soon:
			out = append(out, Remark{"known-expires",
				fmt.Sprintf("%s of %s is tolerated until %s, and fails the gate from then on. (%s)", k.Property,
					k.Scenario,
					day(k.Expires), k.Reason), k.Line})
		}
	}
	return out
}

func runs(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}

// sameScenario reports whether two scenarios of one name are one.
func sameScenario(a, b scenarios.Scenario) bool { return reflect.DeepEqual(a, b) }
