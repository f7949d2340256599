package reports

import (
	"fmt"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
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
func (p *reportPage) judged(s Scenario, r *record) {
	said := map[string]bool{}
	for _, x := range s.Verdict.Properties {
		row := propertyLine(x, s.voice())
		if x.Outcome == checker.Inconclusive && said[row.Why] { // one reason leaves many open
			row.Why = ""
		}
		said[row.Why] = true
		if x.Outcome == checker.Violated {
			row.Times, row.Details = s.causes(x.Name).short(), s.causeDetails(&x)
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

// inFigures fills in what took how long, how much clients competed, and how many grants were not exclusive.
func (p *reportPage) inFigures(s Scenario) {
	p.Timings = TimingRows(s.Verdict.Stats)
	var h *history.Header
	if s.History != nil {
		h = &s.History.Header
	}
	if text := Exclusive(s.Verdict, h); text != "" {
		p.Figures, p.FiguresNote = append(p.Figures, sentence(text)), ExclusiveNote
	}
	if text := Contention(s.Verdict.Stats); text != "" {
		p.Figures = append(p.Figures, sentence(text))
	}
}

func propertyLine(x checker.PropertyResult, said voice) propertyRow {
	row := propertyRow{Name: clip(x.Name, clipName), Outcome: x.Outcome.String(), Times: "–", First: "–",
		Words: checker.Named(x.Name).Words.Demands, Why: sentence(clip(x.Why, clipText))}
	row.Class = outcomeClass(row.Outcome)
	switch x.Outcome {
	case checker.Violated:
		if len(x.Violations) > 0 {
			row.First = said.at(byTime(&x)[0].At)
		}
	case checker.Pass:
		row.Times = "0"
	}
	return row
}

// needs compares what the run did with what its verdict needs.
func (p *reportPage) needs(s Scenario, r *record) {
	st, need := s.Verdict.Stats, r.h.Header.Needs
	add := func(what string, got int64, least int) {
		row := needRow{What: what, Got: grouped(got), Need: "–", Short: got < int64(least)}
		if least > 0 {
			row.Need = grouped(least)
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

func (p *reportPage) latency(s Scenario, r *record) {
	drawing, shown, all := r.latency()
	if all == 0 {
		return
	}
	p.Latency = latencyPart{Drawing: drawing, P50: span(int64(s.Verdict.Stats.AcquireP50)), P99: span(int64(s.Verdict.Stats.AcquireP99))}
	if shown < all {
		p.Latency.Note = fmt.Sprintf("%s of %s acquires drawn: the slowest, and an even sample of the others.", grouped(shown), grouped(all))
	}
}
