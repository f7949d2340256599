package draw

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// The measures of a sparkline.
const (
	sparkParts  = 32
	sparkWidth  = 96.0
	sparkHeight = 12.0
)

// length is how long the history is (ns), 0 where that is not known.
func length(s reports.Scenario) int64 {
	if s.Length > 0 || s.History == nil || len(s.History.Events) == 0 {
		return s.Length
	}
	return s.History.Events[len(s.History.Events)-1].Time
}

// Spark draws when in the run the violations became certain: a bar for each part of it.
// The height tells of the number, by its root, so that one beside hundreds is still seen.
func Spark(s reports.Scenario) template.HTML {
	end := length(s)
	if end <= 0 || s.Skipped != "" {
		return ""
	}
	var parts [sparkParts]float64
	most, kept, all, first := 0.0, 0, 0, int64(math.MaxInt64)
	for i := range s.Verdict.Properties {
		p := &s.Verdict.Properties[i]
		if p.Outcome != checker.Violated {
			continue
		}
		all += p.Count
		for j := range p.Violations {
			at := min(max(p.Violations[j].At, 0), end)
			i := min(int(float64(at)/float64(end)*sparkParts), sparkParts-1)
			parts[i]++
			most = max(most, parts[i])
			first = min(first, at)
			kept++
		}
	}
	if kept == 0 {
		return ""
	}
	var b strings.Builder
	for i, n := range parts {
		if n > 0 {
			h := max(sparkHeight*math.Sqrt(n/most), 2)
			fmt.Fprintf(&b, "M%s %sh2v%sh-2z", num(float64(i)*sparkWidth/sparkParts), num(sparkHeight-h), num(h))
		}
	}
	d := &svg{w: sparkWidth, h: sparkHeight}
	d.line(0, sparkHeight-0.5, sparkWidth, sparkHeight-0.5, "ground")
	d.path(b.String(), "bars", "")
	label := fmt.Sprintf("%s over the %s of the run, first at %s", phrase.Plural(all, "violation"), phrase.Span(end),
		phrase.At(first))
	if kept < all {
		label = fmt.Sprintf("the first %s of ", phrase.Grouped(kept)) + label
	}
	return d.done(label, "spark")
}
