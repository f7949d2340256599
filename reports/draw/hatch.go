package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

// DoubleHolds lists the double-holds that the verdict keeps, in order of time.
func DoubleHolds(s reports.Scenario) []*checker.Violation {
	p := s.Property(checker.MutualExclusion)
	if p == nil {
		return nil
	}
	return slices.DeleteFunc(reports.ByTime(p), func(v *checker.Violation) bool { return v.To <= v.From })
}

// overlap hatches every time in which two clients held a key: lightly, but for the one that is told.
func (p *painter) overlap() {
	if p.t == nil {
		return
	}
	from, to, told := reports.Overlap(p.t.Violation)
	told = told && p.s.overlaps(from, to)
	p.lightHatch()
	if !told {
		return
	}
	x0, x1 := p.s.clamp(from), p.s.clamp(to)
	p.hatch("told", fmt.Sprintf("M%s %sH%sV%sH%sz", num(x0), num(lineTop-12), num(max(x1, x0+3)), num(p.bottom), num(x0)), "hatch")
	label := fmt.Sprintf("two holders of %s, %s: told above", p.t.Key, phrase.Span(to-from))
	if !reports.BothActed(p.t.Violation) {
		label = fmt.Sprintf("%s given to two, %s: told above", p.t.Key, phrase.Span(to-from))
	}
	half := float64(len(label)) * 3.4
	anchor, x := "middle", (x0+x1)/2
	if x-half < 0 {
		anchor, x = "start", min(max(x0, 0), p.w-2*half)
	} else if x+half > p.w {
		anchor, x = "end", p.w
	}
	p.text(x, lineTop-18, anchor, "strong ink-bad", label)
}

// lightHatch hatches the double-holds in sight, those that touch as one.
func (p *painter) lightHatch() {
	var b strings.Builder
	open, x0, x1 := false, 0.0, 0.0
	flush := func() {
		if open {
			fmt.Fprintf(&b, "M%s %sH%sV%sH%sz", num(x0), num(lineTop-12), num(max(x1, x0+1)), num(p.bottom), num(x0))
		}
	}
	shown := slices.Clone(p.doubles)
	slices.SortStableFunc(shown, func(a, b *checker.Violation) int { return cmp.Compare(a.From, b.From) })
	for _, v := range shown {
		if !p.s.overlaps(v.From, v.To) {
			continue
		}
		from, to := p.s.clamp(v.From), p.s.clamp(v.To)
		if open && from <= x1+0.5 {
			x1 = max(x1, to)
			continue
		}
		flush()
		open, x0, x1 = true, from, to
	}
	flush()
	if b.Len() > 0 {
		p.hatch("all", b.String(), "hatchall")
	}
}

// hatch fills a path with stripes. The pattern's id is unique among the drawings of a page.
func (p *painter) hatch(name, path, class string) {
	id := fmt.Sprintf("hatch-%s-%d-%d-%s", name, p.s.from, p.s.to, num(p.w))
	p.b.WriteString(`<defs><pattern id="` + id + `" width="7" height="7" patternTransform="rotate(45)" patternUnits="userSpaceOnUse">` +
		`<rect width="7" height="7" class="hatchbg"/><line x1="0" y1="0" x2="0" y2="7" class="hatchline"/></pattern></defs>`)
	fmt.Fprintf(&p.b, `<path d="%s" class="%s" fill="url(#%s)"/>`, path, class, id)
}

// HoldNote explains, with the story's own times, why a client that did nothing for long held its key all the while.
func HoldNote(r *reports.Record, t *story.Story) string {
	if t.A == nil || t.Fault == nil || t.Violation.Property != checker.MutualExclusion || t.A.LastAct <= t.Fault.To {
		return ""
	}
	return fmt.Sprintf("A hold lasts from the grant to the holder's last act: whoever acts at %s under a grant of %s has held it all the time.", r.At(t.A.LastAct), r.At(t.A.End))
}
