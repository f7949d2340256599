package story

import (
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// nounsOfKinds are what double-holds of a kind are called, counted by cause.
var nounsOfKinds = map[string]string{
	checker.KindGrantedWhileValid: "grant of a promised key",
	checker.KindLeaseOverrun:      "overrun",
}

// violationsOf writes how many violations of a property and kind there are: "17 overruns".
func violationsOf(property, kind string, n reports.Amount) string {
	noun := checker.Named(property).Words.Violation
	if word := nounsOfKinds[kind]; word != "" {
		noun = word
	}
	switch {
	case noun == "":
		return phrase.Clip(property, phrase.MostName) + " " + n.Times()
	case noun == nounsOfKinds[checker.KindGrantedWhileValid] && n.N != 1:
		return n.Bound() + phrase.Grouped(n.N) + " grants of a promised key"
	}
	return n.Of(noun)
}

// groupCounts names what is in a group, counted by cause: "5 overruns and 9 stale
// writes". Lost updates are left out beside stale writes, which bring them about.
func groupCounts(s reports.Scenario, g checker.PatternGroup) string {
	var parts []string
	for _, c := range g.Counts {
		if c.Property == checker.LostUpdate && g.Of(checker.UnfencedWrite) > 0 {
			continue
		}
		p := s.Property(c.Property)
		if p == nil {
			continue
		}
		n := reports.Caused(p, c.Count, func(v *checker.Violation) bool { return v.Pattern == g.Pattern })
		if c.Count == p.Count {
			n = s.Causes(c.Property)
		}
		parts = append(parts, violationsOf(c.Property, kindOfAll(p, g.Pattern), n))
	}
	return phrase.List(parts)
}

// GroupTitle is the title of a group; whole: nothing is violated outside of the verdict's groups.
func GroupTitle(s reports.Scenario, g checker.PatternGroup, whole bool) Prose {
	title := Prose{}.b(groupCounts(s, g))
	if s.Verdict.SamePattern() && whole {
		title = title.t(", all by the same pattern")
	}
	return title.t(": " + phrase.Clip(g.Says, phrase.MostText))
}

// UnpatternedTitle is the title of the violations of a property that have no pattern.
func UnpatternedTitle(p *checker.PropertyResult) Prose {
	n := reports.Caused(p, p.Count, func(*checker.Violation) bool { return true })
	return Prose{}.b(violationsOf(p.Name, kindOfAll(p, ""), n))
}

// kindOfAll is the kind of all violations of a property and pattern that are
// kept; empty where they differ.
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

// PatternGroups are the groups of the verdict's violations, those that show a defect first.
func PatternGroups(s reports.Scenario) []checker.PatternGroup {
	groups := slices.Clone(s.Verdict.Patterns)
	defective := func(g checker.PatternGroup) int {
		for _, c := range g.Counts {
			if p := s.Property(c.Property); p != nil &&
				slices.ContainsFunc(p.Violations, func(v checker.Violation) bool {
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

// PatternProse tells the patterns of a verdict's violations for a page.
func PatternProse(s reports.Scenario) (all []Prose) {
	for _, g := range PatternGroups(s) {
		text := groupCounts(s, g)
		if s.Verdict.SamePattern() {
			text += ", all by the same pattern"
		}
		all = append(all, Prose{}.t(text+": ").b(phrase.Clip(g.Says, phrase.MostText)))
	}
	return all
}

// PatternLines tells the patterns of a verdict's violations, a line each: "5
// overruns and 5 stale writes, all by the same pattern: holder paused past its
// TTL (expired-while-paused)". Empty where nothing is violated that has one.
func PatternLines(v checker.Verdict) (lines []string) {
	s := reports.Scenario{Verdict: v}
	groups := PatternGroups(s)
	for i, p := range PatternProse(s) {
		lines = append(lines, harmless.Sprintf("%s (%s)", p, phrase.Clip(groups[i].Pattern, phrase.MostName)))
	}
	return lines
}
