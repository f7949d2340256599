package draw

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/studies"
)

// plotArea maps ratios and rates onto the drawing.
type plotArea struct{ left, right, top, bottom, from, to float64 }

func (a plotArea) x(ratio float64) float64 {
	if a.to == a.from {
		return (a.left + a.right) / 2
	}
	return a.left + (a.right-a.left)*(ratio-a.from)/(a.to-a.from)
}

func (a plotArea) y(rate float64) float64 { return a.bottom - (a.bottom-a.top)*rate }

// Plot draws the rates over the ratio: a line through the shares, with the interval of each point.
func Plot(c studies.Curve, width, height float64, class string, harm bool) template.HTML {
	if len(c.Points) == 0 {
		return ""
	}
	d := &svg{w: width, h: height}
	a := plotArea{left: 52, right: width - 20, top: 26, bottom: height - 48, from: min(0, c.Points[0].Ratio),
		to: max(c.Points[len(c.Points)-1].Ratio, 1)}
	axes(c, d, a)
	series(c, d, a, studies.CurvePoint.Rate, "curveline", "curveband", "curvedot", 0)
	if harm {
		series(c, d, a, studies.CurvePoint.Harm, "curveline harm", "", "curvedot harm", 5)
	}
	return d.done(c.Headline()+" The table below has the figures.", class)
}

// axes draws the frame, the grid, and the line at the TTL.
func axes(c studies.Curve, d *svg, a plotArea) {
	for i := 0; i <= 4; i++ {
		share := float64(i) / 4
		d.line(a.left, a.y(share), a.right, a.y(share), "gridline")
		d.text(a.left-8, a.y(share)+4, "end", "m t", strconv.Itoa(25*i)+" %")
	}
	step := tickStep((a.to - a.from) * 80 / (a.right - a.left))
	for v := math.Ceil(a.from/step) * step; v <= a.to+step/1000; v += step {
		d.line(a.x(v), a.bottom, a.x(v), a.bottom+5, "gridline")
		d.text(a.x(v), a.bottom+19, "middle", "m t", studies.Ratio(math.Round(v*1000)/1000))
	}
	for _, ttl := range []float64{-1, 1} {
		if ttl >= a.from && ttl <= a.to {
			d.line(a.x(ttl), a.top-8, a.x(ttl), a.bottom, "expiry")
			d.text(a.x(ttl)+6, a.top-6, "start", "small ink-bad", "the TTL")
		}
	}
	d.text((a.left+a.right)/2, d.h-8, "middle", "m small",
		fmt.Sprintf("%s of the fault, in TTLs (1 = %s)", c.Over, phrase.Span(int64(c.TTL))))
	d.text(a.left-8, 12, "start", "m small", "struck holds that were violated")
}

// tickStep is the least of 0.1, 0.25, 0.5, 1, 2.5 … that is not below v.
func tickStep(v float64) float64 {
	for unit := 0.1; ; unit *= 10 {
		for _, m := range []float64{1, 2.5, 5} {
			if unit*m >= v || unit > 1e9 {
				return unit * m
			}
		}
	}
}

// series draws one rate: its intervals as whiskers and a band, and its shares as dots with
// a line through them. aside moves it, in pixels, so that two do not cover each other.
func series(c studies.Curve, d *svg, a plotArea, of func(studies.CurvePoint) reports.Rate, line, band, dot string,
	aside float64) {
	var shares, lows, highs []string
	for _, p := range c.Points {
		if p.Struck == 0 {
			continue
		}
		low, high := of(p).Interval()
		x := num(a.x(p.Ratio) + aside)
		shares = append(shares, x+" "+num(a.y(of(p).Share())))
		highs = append(highs, x+" "+num(a.y(high)))
		lows = append([]string{x + " " + num(a.y(low))}, lows...)
	}
	if band != "" && len(shares) > 1 {
		d.path("M"+strings.Join(append(highs, lows...), "L")+"Z", band, "")
	}
	if len(shares) > 1 {
		d.path("M"+strings.Join(shares, "L"), line, "")
	}
	for _, p := range c.Points {
		if p.Struck == 0 {
			continue
		}
		r := of(p)
		low, high := r.Interval()
		x := a.x(p.Ratio) + aside
		d.line(x, a.y(low), x, a.y(high), strings.Replace(line, "curveline", "whisker", 1))
		d.circle(x, a.y(r.Share()), 4, dot, fmt.Sprintf("%s × TTL (%s): %s, 95 %% interval %s", studies.Ratio(p.Ratio),
			phrase.Span(p.Value), r, r.Between()))
	}
}
