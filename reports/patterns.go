package reports

import (
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/harmless"
)

// nounsOfKinds are what double-holds of a kind are called, counted by cause.
var nounsOfKinds = map[string]string{
	checker.KindGrantedWhileValid: "grant of a promised key",
	checker.KindLeaseOverrun:      "overrun",
}

// violationsOf writes how many violations of a property and kind there are: "17 overruns".
func violationsOf(property, kind string, n amount) string {
	noun := checker.Named(property).Words.Violation
	if word := nounsOfKinds[kind]; word != "" {
		noun = word
	}
	switch {
	case noun == "":
		return clip(property, clipName) + " " + n.times()
	case noun == nounsOfKinds[checker.KindGrantedWhileValid] && n.n != 1:
		return n.bound() + grouped(n.n) + " grants of a promised key"
	}
	return n.of(noun)
}

// groupCounts names what is in a group, counted by cause: "5 overruns and 9 stale writes". Lost updates are left out beside stale writes,
// which bring them about.
func (s Scenario) groupCounts(g checker.PatternGroup) string {
	var parts []string
	for _, c := range g.Counts {
		if c.Property == checker.LostUpdate && g.Of(checker.UnfencedWrite) > 0 {
			continue
		}
		p := s.property(c.Property)
		if p == nil {
			continue
		}
		n := caused(p, c.Count, func(v *checker.Violation) bool { return v.Pattern == g.Pattern })
		if c.Count == p.Count {
			n = s.causes(c.Property)
		}
		parts = append(parts, violationsOf(c.Property, kindOfAll(p, g.Pattern), n))
	}
	return list(parts)
}

// groupTitle is the title of a group; whole: nothing is violated outside of the verdict's groups.
func (s Scenario) groupTitle(g checker.PatternGroup, whole bool) prose {
	title := prose{}.b(s.groupCounts(g))
	if s.Verdict.SamePattern() && whole {
		title = title.t(", all by the same pattern")
	}
	return title.t(": " + clip(g.Says, clipText))
}

// unpatternedTitle is the title of the violations of a property that have no pattern.
func unpatternedTitle(p *checker.PropertyResult) prose {
	n := caused(p, p.Count, func(*checker.Violation) bool { return true })
	return prose{}.b(violationsOf(p.Name, kindOfAll(p, ""), n))
}

// kindOfAll is the kind of all violations of a property and pattern that are kept; empty where they differ.
func kindOfAll(p *checker.PropertyResult, pattern string) (kind string) {
	for i, n := 0, 0; i < len(p.Violations); i++ {
		v := &p.Violations[i]
		switch {
		case v.Pattern != pattern:
		case n > 0 && v.Kind != kind:
			return ""
		default:
			kind, n = v.Kind, n+1
		}
	}
	return kind
}

// patternGroups are the groups of the verdict's violations, those that show a defect first.
func (s Scenario) patternGroups() []checker.PatternGroup {
	groups := slices.Clone(s.Verdict.Patterns)
	defective := func(g checker.PatternGroup) int {
		for _, c := range g.Counts {
			if p := s.property(c.Property); p != nil && slices.ContainsFunc(p.Violations, func(v checker.Violation) bool {
				return v.Pattern == g.Pattern && v.Blame() == checker.Defect
			}) {
				return 0
			}
		}
		return 1
	}
	slices.SortStableFunc(groups, func(a, b checker.PatternGroup) int { return defective(a) - defective(b) })
	return groups
}

// patternProse tells the patterns of a verdict's violations for a page.
func (s Scenario) patternProse() (all []prose) {
	for _, g := range s.patternGroups() {
		text := s.groupCounts(g)
		if s.Verdict.SamePattern() {
			text += ", all by the same pattern"
		}
		all = append(all, prose{}.t(text+": ").b(clip(g.Says, clipText)))
	}
	return all
}

// PatternLines tells the patterns of a verdict's violations, a line each: "5 overruns and 5 stale writes, all by the same pattern: holder
// paused past its TTL (expired-while-paused)". Empty where nothing is violated that has one.
func PatternLines(v checker.Verdict) (lines []string) {
	s := Scenario{Verdict: v}
	groups := s.patternGroups()
	for i, p := range s.patternProse() {
		lines = append(lines, harmless.Sprintf("%s (%s)", p, clip(groups[i].Pattern, clipName)))
	}
	return lines
}
