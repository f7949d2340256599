package draw

import (
	"html/template"

	"github.com/lockchaos/lockchaos/reports"
)

// RateBar draws a rate with its interval.
func RateBar(r reports.Rate) template.HTML {
	d := svg{w: 120, h: 16}
	d.rect(0, 6, 120, 4, 2, "dim", "")
	low, high := r.Interval()
	d.rect(120*low, 3, 120*(high-low), 10, 3, "fault edge", "")
	if r.Of > 0 {
		d.circle(5+110*r.Share(), 8, 4, "dot", "")
	}
	return d.done(r.String()+", 95 % interval "+r.Between(), "ratebar")
}
