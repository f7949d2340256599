package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
)

// The most rows of violations that a page shows, and the most that one row unfolds; the files have more.
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
	Title prose
	Means string
	Shown explained
	Told  bool // the one in full is told above
	Place violationRow
	Rows  []violationRow
	More  string
}

// violations puts what was violated into groups by its pattern, those that show a defect first, then the largest; what has no pattern of its own comes by property.
func (p *reportPage) violations(s Scenario, r *record) {
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
	for _, g := range s.patternGroups() {
		var of []checker.PropertyResult
		for _, c := range g.Counts {
			if x := s.property(c.Property); x != nil {
				y := ofPattern(x, g.Pattern)
				y.Count = c.Count
				of = append(of, y)
			}
		}
		p.group(s, r, s.groupTitle(g, len(rest) == 0), s.patternMeans(g.Pattern), of)
	}
	for _, x := range rest {
		p.group(s, r, unpatternedTitle(&x), "", []checker.PropertyResult{x})
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

// group makes one group: in full the violation that is told above, or else the one that shows most; then the first of every property in order of time, the
// double-holds by their earlier holder.
func (p *reportPage) group(s Scenario, r *record, title prose, means string, of []checker.PropertyResult) {
	g := violationGroup{Title: title, Means: means}
	var best *checker.Violation
	bestRank := -1
	all, kept := 0, 0
	for i := range of {
		all, kept = all+of[i].Count, kept+len(of[i].Violations)
		for j := range of[i].Violations {
			v := &of[i].Violations[j]
			n := rank(v)
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
	g.Shown, g.Place = s.explain(r, best), violationRow{At: s.voice().at(best.At), Go: p.goTo(best)}
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
		g.More = fmt.Sprintf("%s more; verdict.json has the first of each property, history.jsonl all that happened.", grouped(rest))
	}
	if all == 1 {
		g.Rows = nil
	}
	p.Groups = append(p.Groups, g)
}

// isTold tells whether a violation is the one that the page tells above.
func (p *reportPage) isTold(v *checker.Violation) bool {
	return p.told != nil && sameViolation(v, p.told)
}

// sameViolation tells whether two are of the same finding: groups have copies.
func sameViolation(a, b *checker.Violation) bool {
	return a.Property == b.Property && a.At == b.At && a.Text == b.Text
}

// rows makes the rows of one property.
func (p *reportPage) rows(s Scenario, r *record, x *checker.PropertyResult) []violationRow {
	var out []violationRow
	byHolder := map[int64]int{} // the earlier grant's place in out
	var first []*checker.Violation
	for _, v := range byTime(x) {
		row := violationRow{At: s.voice().at(v.At), at: v.At, Property: clip(v.Property, clipName), Kind: kindOf(v), Text: sentence(clip(v.Text, 500)), Told: p.isTold(v), Go: p.goTo(v)}
		if r != nil && x.Name == checker.LostUpdate {
			row.Text += r.blameless(v)
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
	exact := s.noted().exact
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

// sayHolder sums the n double-holds up that are kept of one holder. Where the verdict does not keep them all there may be more, and their number
// is told only if the holds as drawn make as many double-holds as the checker counted.
func (p *reportPage) sayHolder(r *record, v *checker.Violation, n int, exact, whole bool) string {
	text := p.S.voice().client(v.A.Client)
	if v.A.Token != 0 {
		text += fmt.Sprintf(" (%s)", grantName(v.A.Grant, v.A.Token))
	}
	if r != nil {
		if f := r.faultOf(v); f != nil {
			text += fmt.Sprintf(", %s %s", f.did(), span(f.To-f.From))
		}
	}
	pairs := p.pairsOf(v)
	n = max(n, len(pairs))
	least := ""
	if i := r.place(v.A.Grant); !whole && exact && i >= 0 {
		n = len(later(r.grants[i], r.grants[i+1:]))
	} else if !whole {
		least = "at least "
	}
	first, last := v.From, v.To
	for _, w := range pairs {
		first, last = min(first, w.From), max(last, w.To)
	}
	text += fmt.Sprintf(": %s%s overlapped it", least, plural(n, "later grant"))
	if n > len(pairs) {
		last = 0 // that of those that are not kept is not known
	}
	if last > first && first > 0 {
		text += fmt.Sprintf(", from %s to %s", p.S.voice().at(first), p.S.voice().at(last))
	}
	return sentence(text)
}

// place returns where a grant stands among the grants, -1 where it is not known.
func (r *record) place(id int64) int {
	if r == nil {
		return -1
	}
	return slices.IndexFunc(r.grants, func(g *grant) bool { return g.id == id })
}

// pairsOf returns the double-holds that are kept of the same grant, where it is certainly the earlier one.
func (p *reportPage) pairsOf(v *checker.Violation) []*checker.Violation {
	var out []*checker.Violation
	x := p.S.property(v.Property)
	for i := range x.Violations {
		if w := &x.Violations[i]; w.A != nil && !w.Unordered && w.A.Grant == v.A.Grant && w.Pattern == v.Pattern {
			out = append(out, w)
		}
	}
	return out
}

// faultOf returns the longest of the faults that a violation names.
func (r *record) faultOf(v *checker.Violation) *fault {
	var best *fault
	for _, f := range r.faults {
		if slices.Contains(v.Faults, f.ID) && f.touches(v.A.Client) && (best == nil || f.To-f.From > best.To-best.From) {
			best = f
		}
	}
	return best
}

// blameless says of a lost update that its writer is not at fault, where the history shows whose it is: the version that it replaced had
// been slipped in by a stale write.
func (r *record) blameless(v *checker.Violation) string {
	for _, id := range v.Ops {
		o := r.ops[id]
		if o == nil || !r.lossy[id] {
			continue
		}
		if w := r.replacedBy(o); r.rightfulAfter(o, w) {
			return fmt.Sprintf(" %s rightly held the lock; the version it replaced had been written behind its back by %s's stale write.",
				r.subject(o.client), r.client(w.client))
		}
	}
	return ""
}

// kindOf is a violation's kind and severity, as far as it has them.
func kindOf(v *checker.Violation) string {
	out := clip(v.Kind, 40)
	if word := severityWord(v.Severity); word != "" && out != "" {
		out += " · " + word
	} else if out == "" {
		out = word
	}
	return out
}

// byTime lists the violations that are kept of a property in order of time.
func byTime(x *checker.PropertyResult) []*checker.Violation {
	var out []*checker.Violation
	for i := range x.Violations {
		out = append(out, &x.Violations[i])
	}
	slices.SortStableFunc(out, func(a, b *checker.Violation) int { return cmp.Compare(a.At, b.At) })
	return out
}
