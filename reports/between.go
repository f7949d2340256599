package reports

import (
	"fmt"

	"github.com/lockchaos/lockchaos/history"
)

// between tells of the grants of the same key that are not the story's own: a frozen client often misses dozens. They come as one moment
// before B's grant and one after it, at the first of each.
func (r *record) between(t *story) []moment {
	if !t.rivals() {
		return nil
	}
	last := max(t.a.last, t.b.last)
	var before, after []*grant
	for _, g := range r.grants {
		switch {
		case g == t.a || g == t.b || g.key != t.a.key || g.end <= t.a.end || g.end > last:
		case g.end < t.b.end:
			before = append(before, g)
		default:
			after = append(after, g)
		}
	}
	var out []moment
	for _, group := range [][]*grant{before, after} {
		if len(group) > 0 {
			out = append(out, r.sayMeanwhile(t, group))
		}
	}
	return out
}

func (r *record) sayMeanwhile(t *story, group []*grant) moment {
	var first, last int64
	for _, g := range group {
		for _, o := range g.ops {
			if o.kind == history.Write && o.accepted() && o.start < t.a.last {
				if first == 0 {
					first = o.version
				}
				last = o.version
			}
		}
	}
	p := prose{}.t("Meanwhile ").code(t.key).t(" is granted " + times(len(group)) + " more")
	switch {
	case first == 0:
	case first == last:
		p = p.t(fmt.Sprintf(", and version %s is written", grouped(first)))
	default:
		p = p.t(fmt.Sprintf(", and versions %s to %s are written", grouped(first), grouped(last)))
	}
	return moment{At: group[0].end, Text: p.t("."), arrow: &arrow{to: atService, label: plural(len(group), "more grant")}, aside: true}
}
