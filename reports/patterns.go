package reports

import (
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/harmless"
)

// nounsOf are what violations of a property are called, one and more; a property that has none is named as it is.
var nounsOf = map[string]string{
	checker.MutualExclusion: "double-hold",
	checker.UnfencedWrite:   "stale write",
	checker.LostUpdate:      "lost update",
	checker.DuplicateEffect: "repeated effect",
	checker.TokenOrder:      "misordered token",
	checker.Continuity:      "false confirmation",
	checker.DeadGrant:       "dead grant",
	checker.StolenRelease:   "stolen release",
	checker.StuckLock:       "stuck key",
}

// violationsOf counts the violations of a property in words: "17 double-holds".
func violationsOf(property string, n int) string {
	if noun := nounsOf[property]; noun != "" {
		return plural(n, noun)
	}
	return clip(property, clipName) + " " + times(n)
}

// groupCounts names what is in a group: "17 double-holds and 9 stale writes".
func groupCounts(g checker.PatternGroup) string {
	var parts []string
	for _, c := range g.Counts {
		parts = append(parts, violationsOf(c.Property, c.Count))
	}
	return list(parts)
}

// patternProse tells the patterns of a verdict's violations for a page.
func patternProse(v checker.Verdict) (all []prose) {
	for _, g := range v.Patterns {
		text := groupCounts(g)
		if v.SamePattern() {
			text += ", all by the same pattern"
		}
		all = append(all, prose{}.t(text+": ").b(clip(g.Says, clipText)))
	}
	return all
}

// PatternLines tells the patterns of a verdict's violations, a line each: "17 double-holds, all by the same pattern: holder paused past its TTL
// (expired-while-paused)". Empty where nothing is violated that has one.
func PatternLines(v checker.Verdict) (lines []string) {
	for i, p := range patternProse(v) {
		lines = append(lines, harmless.Sprintf("%s (%s)", p, clip(v.Patterns[i].Pattern, clipName)))
	}
	return lines
}
