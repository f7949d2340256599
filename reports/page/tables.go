package page

import (
	"fmt"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/draw"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

type propertyRow struct {
	Name, Outcome, Class, Times, First, Words, Why string
	// Details are the figures behind Times.
	Details string
}

type needRow struct {
	What, Got, Need string
	Short           bool
}

// judged fills in the tables of a scenario that has a verdict.
func (p *reportPage) judged(s reports.Scenario, r *reports.Record) {
	said := map[string]bool{}
	for _, x := range s.Verdict.Properties {
		row := propertyLine(x, s.Labels())
		if x.Outcome == checker.Inconclusive && said[row.Why] { // one reason leaves many open
			row.Why = ""
		}
		said[row.Why] = true
		if x.Outcome == checker.Violated {
			row.Times, row.Details = s.Causes(x.Name).Short(), causeDetails(s, &x)
		}
		p.Properties = append(p.Properties, row)
	}
	p.violations(s, r)
	p.inFigures(s)
	p.faults(s, r)
	if r != nil {
		p.needs(s, r)
		p.latency(s, r)
	}
}

// inFigures fills in what took how long, how much clients competed, and how
// many grants were not exclusive.
func (p *reportPage) inFigures(s reports.Scenario) {
	p.Timings = story.TimingRows(s.Verdict.Stats)
	var h *history.Header
	if s.History != nil {
		h = &s.History.Header
	}
	if text := story.Exclusive(s.Verdict, h); text != "" {
		p.Figures, p.FiguresNote = append(p.Figures, phrase.Sentence(text)), story.ExclusiveNote
	}
	if text := story.Contention(s.Verdict.Stats); text != "" {
		p.Figures = append(p.Figures, phrase.Sentence(text))
	}
}

func propertyLine(x checker.PropertyResult, said reports.Labels) propertyRow {
	row := propertyRow{Name: phrase.Clip(x.Name, phrase.MostName), Outcome: x.Outcome.String(), Times: "–", First: "–",
		Words: checker.Named(x.Name).Words.Demands, Why: phrase.Sentence(phrase.Clip(x.Why, phrase.MostText))}
	row.Class = outcomeClass(row.Outcome)
	switch x.Outcome {
	case checker.Violated:
		if len(x.Violations) > 0 {
			row.First = said.At(reports.ByTime(&x)[0].At)
		}
	case checker.Pass:
		row.Times = "0"
	}
	return row
}

// needs compares what the run did with what its verdict needs.
func (p *reportPage) needs(s reports.Scenario, r *reports.Record) {
	st, need := s.Verdict.Stats, r.History.Header.Needs
	add := func(what string, got int64, least int) {
		row := needRow{What: what, Got: phrase.Grouped(got), Need: "–", Short: got < int64(least)}
		if least > 0 {
			row.Need = phrase.Grouped(least)
		}
		p.Needs = append(p.Needs, row)
	}
	add("grants", st.Grants, need.Grants)
	add("contended hand-overs", st.Handovers, need.Handovers)
	if need.Bites > 0 || st.Bites > 0 {
		add("faults that hit what they were aimed at", int64(st.Bites), need.Bites)
	}
	add("writes accepted", st.Accepted, 0)
	add("writes refused by the fence", st.Refused, 0)
	add("acquires told busy", st.Busy, 0)
	add("ops without a clear answer", st.Indefinite, 0)
}

func (p *reportPage) latency(s reports.Scenario, r *reports.Record) {
	drawing, shown, all := draw.Latency(r)
	if all == 0 {
		return
	}
	p.Latency = latencyPart{Drawing: drawing, P50: phrase.Span(int64(s.Verdict.Stats.AcquireP50)),
		P99: phrase.Span(int64(s.Verdict.Stats.AcquireP99))}
	if shown < all {
		p.Latency.Note = fmt.Sprintf("%s of %s acquires drawn: the slowest, and an even sample of the others.",
			phrase.Grouped(shown), phrase.Grouped(all))
	}
}

// causeDetails says how many violations verdict.json has for the causes of a
// property; empty where each is its own cause.
func causeDetails(s reports.Scenario, p *checker.PropertyResult) string {
	n := s.Causes(p.Name)
	switch p.Name {
	case checker.MutualExclusion:
		return phrase.Sentence(strings.Join(holdDetails(s, p), "; "))
	case checker.Continuity:
		return phrase.Sentence(n.Of("grant") + " confirmed too late, and one violation for each later grant by then: " +
			phrase.Grouped(p.Count))
	case checker.LostUpdate:
		return phrase.Sentence(n.Of("hold") + " brought this about, in " + phrase.Plural(p.Count, "write") +
			" over an unread version")
	}
	return ""
}

// holdDetails says of each kind of double-holds how many causes there are, and
// how many pairs of grants they make.
func holdDetails(s reports.Scenario, p *checker.PropertyResult) (all []string) {
	for _, k := range s.HoldKinds() {
		all = append(all, k.Name+": "+k.Of("grant")+", in "+phrase.Plural(p.CountOfKind(k.Name), "pair")+" of grants")
	}
	return all
}
