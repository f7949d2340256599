package story

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// between tells of the grants of the same key that are not the story's own: a frozen client often
// misses dozens. They come as one moment before B's grant and one after it, at the first of each.
func between(r *reports.Record, t *Story) []Moment {
	if !t.Rivals() {
		return nil
	}
	last := max(t.A.LastAct, t.B.LastAct)
	var before, after []*history.Grant
	for _, g := range r.Grants {
		switch {
		case g == t.A || g == t.B || g.Key != t.A.Key || g.End <= t.A.End || g.End > last:
		case g.End < t.B.End:
			before = append(before, g)
		default:
			after = append(after, g)
		}
	}
	var out []Moment
	for _, group := range [][]*history.Grant{before, after} {
		if len(group) > 0 {
			out = append(out, sayMeanwhile(r, t, group))
		}
	}
	return out
}

func sayMeanwhile(r *reports.Record, t *Story, group []*history.Grant) Moment {
	var first, last int64
	for _, g := range group {
		for _, o := range g.Ops {
			if o.Kind == history.Write && o.Accepted() && o.Start < t.A.LastAct {
				if first == 0 {
					first = o.Version
				}
				last = o.Version
			}
		}
	}
	p := Prose{}.t("Meanwhile ").code(t.Key).t(" is granted " + phrase.Times(len(group)) + " more")
	switch {
	case first == 0:
	case first == last:
		p = p.t(fmt.Sprintf(", and version %s is written", phrase.Grouped(first)))
	default:
		p = p.t(fmt.Sprintf(", and versions %s to %s are written", phrase.Grouped(first), phrase.Grouped(last)))
	}
	return Moment{At: group[0].End, Text: p.t("."),
		Arrow: &arrow{To: AtService, Label: phrase.Plural(len(group), "more grant")}, Aside: true}
}
