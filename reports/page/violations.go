package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

// The most rows of violations that a page shows, and the most that one row
// unfolds; the files have more.
const (
	violationRows = 24
	unfoldedRows  = 100
)

// violationRow is one violation, or the double-holds of one holder.
type violationRow struct {
	At, Property, Kind, Text string
	Told                     bool // it is the one told above, or holds it
	Each                     []violationRow

	at int64
	Go string // its place in the timeline, as an address names it
}

// violationGroup is the violations of one pattern: one in full, and the others in rows.
type violationGroup struct {
	Title story.Prose
	Means string
	Shown story.Explained
	Told  bool // the one in full is told above
	Place violationRow
	Rows  []violationRow
	More  string
}

// violations puts what was violated into groups by its pattern, those that show a
// defect first, then the largest; what has no pattern of its own comes by property.
func (p *reportPage) violations(s reports.Scenario, r *reports.Record) {
	rest := []checker.PropertyResult{}
	for i := range s.Verdict.Properties {
		x := ofPattern(&s.Verdict.Properties[i], "")
		for _, g := range s.Verdict.Patterns {
			x.Count -= g.Of(x.Name)
		}
		if x.Outcome == checker.Violated && x.Count > 0 {
			rest = append(rest, x)
		}
	}
	for _, g := range story.PatternGroups(s) {
		var of []checker.PropertyResult
		for _, c := range g.Counts {
			if x := s.Property(c.Property); x != nil {
				y := ofPattern(x, g.Pattern)
				y.Count = c.Count
				of = append(of, y)
			}
		}
		p.group(s, r, story.GroupTitle(s, g, len(rest) == 0), story.PatternMeans(s, g.Pattern), of)
	}
	for _, x := range rest {
		p.group(s, r, story.UnpatternedTitle(&x), "", []checker.PropertyResult{x})
	}
}

// ofPattern is a property's result with only those of its violations that are of one pattern.
func ofPattern(x *checker.PropertyResult, pattern string) checker.PropertyResult {
	y := *x
	y.Violations = nil
	for i := range x.Violations {
		if x.Violations[i].Pattern == pattern {
			y.Violations = append(y.Violations, x.Violations[i])
		}
	}
	return y
}

// group makes one group: in full the violation that is told above, or else the one that shows most;
// then the first of every property in order of time, the double-holds by their earlier holder.
func (p *reportPage) group(s reports.Scenario, r *reports.Record, title story.Prose, means string,
	of []checker.PropertyResult) {
	g := violationGroup{Title: title, Means: means}
	var best *checker.Violation
	bestRank := -1
	all, kept := 0, 0
	for i := range of {
		all, kept = all+of[i].Count, kept+len(of[i].Violations)
		for j := range of[i].Violations {
			v := &of[i].Violations[j]
			n := reports.Rank(v)
			if p.isTold(v) {
				g.Told, n = true, math.MaxInt
			}
			if n > bestRank {
				best, bestRank = v, n
			}
		}
	}
	if best == nil {
		return // none of them is kept with its particulars
	}
	g.Shown, g.Place = story.ExplainViolation(s, r, best), violationRow{At: s.Labels().At(best.At), Go: p.goTo(best)}
	shown := 0
	for i := range of {
		rows := p.rows(s, r, &of[i])
		// Each property gets its share, so that a long list of one does not hide the others.
		rows = rows[:min(len(rows), violationRows/len(of))]
		for _, row := range rows {
			shown += max(len(row.Each), 1)
		}
		g.Rows = append(g.Rows, rows...)
	}
	slices.SortStableFunc(g.Rows, func(a, b violationRow) int { return cmp.Compare(a.at, b.at) })
	if rest := all - shown; rest > 0 {
		g.More = fmt.Sprintf("%s more; verdict.json has the first of each property, history.jsonl all that happened.",
			phrase.Grouped(rest))
	}
	if all == 1 {
		g.Rows = nil
	}
	p.Groups = append(p.Groups, g)
}

// isTold reports whether a violation is the one that the page tells above.
func (p *reportPage) isTold(v *checker.Violation) bool {
	return p.told != nil && reports.SameViolation(v, p.told)
}

// rows makes the rows of one property.
func (p *reportPage) rows(s reports.Scenario, r *reports.Record, x *checker.PropertyResult) []violationRow {
	var out []violationRow
	byHolder := map[int64]int{} // the earlier grant's place in out
	var first []*checker.Violation
	for _, v := range reports.ByTime(x) {
		row := violationRow{At: s.Labels().At(v.At), at: v.At, Property: phrase.Clip(v.Property, phrase.MostName),
			Kind: kindOf(v), Text: phrase.Sentence(phrase.Clip(v.Text, 500)), Told: p.isTold(v), Go: p.goTo(v)}
		if r != nil && x.Name == checker.LostUpdate {
			row.Text += story.Blameless(r, v)
		}
		if v.A == nil || v.Unordered || x.Name != checker.MutualExclusion {
			out, first = append(out, row), append(first, v)
			continue
		}
		i, ok := byHolder[v.A.Grant]
		if !ok {
			i = len(out)
			byHolder[v.A.Grant] = i
			out, first = append(out, row), append(first, v)
		}
		if len(out[i].Each) < unfoldedRows {
			out[i].Each = append(out[i].Each, row)
		}
		out[i].Told = out[i].Told || row.Told
	}
	exact := s.Noted().Exact
	for i := range out {
		if len(out[i].Each) == 1 {
			out[i].Each = nil
		}
		if len(out[i].Each) > 0 {
			out[i].Text = p.sayHolder(r, first[i], len(out[i].Each), exact, x.Count == len(x.Violations))
		}
	}
	return out
}

// sayHolder sums the n double-holds up that are kept of one holder. Where the
// verdict does not keep them all there may be more, and their number is told
// only if the holds as drawn make as many double-holds as the checker counted.
func (p *reportPage) sayHolder(r *reports.Record, v *checker.Violation, n int, exact, whole bool) string {
	text := p.S.Labels().Client(v.A.Client)
	if v.A.Token.Given() {
		text += fmt.Sprintf(" (%s)", reports.GrantName(v.A.Grant, v.A.Token))
	}
	if r != nil {
		if f := faultOf(r, v); f != nil {
			text += fmt.Sprintf(", %s %s", story.Did(f), phrase.Span(f.To-f.From))
		}
	}
	pairs := p.pairsOf(v)
	n = max(n, len(pairs))
	least := ""
	if i := place(r, v.A.Grant); !whole && exact && i >= 0 {
		n = len(reports.Later(r.Grants[i], r.Grants[i+1:]))
	} else if !whole {
		least = "at least "
	}
	first, last := v.From, v.To
	for _, w := range pairs {
		first, last = min(first, w.From), max(last, w.To)
	}
	text += fmt.Sprintf(": %s%s overlapped it", least, phrase.Plural(n, "later grant"))
	if n > len(pairs) {
		last = 0 // that of those that are not kept is not known
	}
	if last > first && first > 0 {
		text += fmt.Sprintf(", from %s to %s", p.S.Labels().At(first), p.S.Labels().At(last))
	}
	return phrase.Sentence(text)
}

// place returns where a grant stands among the grants, -1 where it is not known.
func place(r *reports.Record, id int64) int {
	if r == nil {
		return -1
	}
	return slices.IndexFunc(r.Grants, func(g *history.Grant) bool { return g.ID == id })
}

// pairsOf returns the double-holds that are kept of the same grant, where it is
// certainly the earlier one.
func (p *reportPage) pairsOf(v *checker.Violation) []*checker.Violation {
	var out []*checker.Violation
	x := p.S.Property(v.Property)
	for i := range x.Violations {
		if w := &x.Violations[i]; w.A != nil && !w.Unordered && w.A.Grant == v.A.Grant && w.Pattern == v.Pattern {
			out = append(out, w)
		}
	}
	return out
}

// faultOf returns the longest of the faults that a violation names.
func faultOf(r *reports.Record, v *checker.Violation) *history.FaultSpan {
	var best *history.FaultSpan
	for _, f := range r.Faults {
		if slices.Contains(v.Faults, f.ID) && f.Disturbs(v.A.Client) &&
			(best == nil || f.To-f.From > best.To-best.From) {
			best = f
		}
	}
	return best
}

// kindOf is a violation's kind and severity, as far as it has them.
func kindOf(v *checker.Violation) string {
	out := phrase.Clip(v.Kind, 40)
	if word := story.SeverityWord(v.Severity); word != "" && out != "" {
		out += " · " + word
	} else if out == "" {
		out = word
	}
	return out
}
