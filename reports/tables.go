package reports

import (
	"fmt"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
)

// The most faults that a page lists; the history has them all.
const biteRows = 200

type propertyRow struct {
	Name, Outcome, Class, Times, First, Words, Why string
}

type faultRow struct {
	Kind, When, Begun, Bit, Met, Lasted string
	Toothless                           bool
}

type biteRow struct {
	At, Lasted, Target, Holding, Evidence string
	Bit                                   bool
}

type needRow struct {
	What, Got, Need string
	Short           bool
}

// judged fills in the tables of a scenario that has a verdict.
func (p *reportPage) judged(s Scenario, r *record) {
	for _, x := range s.Verdict.Properties {
		row := propertyLine(x)
		if x.Name == checker.MutualExclusion {
			row.Why = strings.TrimSpace(row.Why + " " + s.holderSentence())
		}
		p.Properties = append(p.Properties, row)
	}
	p.violations(s, r)
	for _, f := range s.Verdict.Stats.Faults {
		p.Faults = append(p.Faults, faultLine(f))
	}
	if r != nil {
		p.bites(r)
		p.needs(s, r)
		p.latency(s, r)
	}
}

func propertyLine(x checker.PropertyResult) propertyRow {
	row := propertyRow{Name: clip(x.Name, clipName), Outcome: outcomeWord(x.Outcome), Times: "–", First: "–",
		Words: propertyWords(x.Name), Why: sentence(clip(x.Why, clipText))}
	row.Class = outcomeClass(row.Outcome)
	switch x.Outcome {
	case checker.Violated:
		row.Times = grouped(x.Count)
		if len(x.Violations) > 0 {
			row.First = at(byTime(&x)[0].At)
		}
	case checker.Pass:
		row.Times = "0"
	}
	return row
}

func faultLine(f checker.FaultStats) faultRow {
	row := faultRow{Kind: clip(f.Kind, clipName), When: strings.ReplaceAll(clip(f.When, clipName), "-", " "), Begun: grouped(f.Begun), Bit: grouped(f.Bit),
		Met: grouped(f.MetHolder), Lasted: "–", Toothless: f.Injected && f.Bit == 0}
	if !f.Injected {
		row.Kind += " (by the machine, not injected)"
	}
	if f.Longest > 0 {
		row.Lasted = at(int64(f.Shortest))
		if at(int64(f.Longest)) != row.Lasted {
			row.Lasted += " to " + at(int64(f.Longest))
		}
	}
	return row
}

// bites lists every fault with its proof.
func (p *reportPage) bites(r *record) {
	for i, f := range r.faults {
		if i == biteRows {
			p.MoreBites = grouped(len(r.faults)-biteRows) + " more are in history.jsonl."
			break
		}
		row := biteRow{At: at(f.From), Lasted: at(f.To - f.From), Target: clip(f.Target, clipName), Evidence: sentence(clip(f.Evidence, 400)), Bit: f.Bit}
		var who []string
		for _, c := range f.Clients {
			who = append(who, client(c))
		}
		if len(who) > 0 && (len(who) != 1 || who[0] != row.Target) {
			row.Target = strings.TrimSpace(row.Target + " (" + list(who) + ")")
		}
		if g := r.byGrant[f.Holding]; g != nil {
			row.Holding = r.key(g.key) + ", " + grantName(g.id, g.token)
		}
		switch {
		case !f.ended:
			row.Evidence = "The history ends before this fault does."
		case row.Evidence == "" && !f.Bit:
			row.Evidence = "No proof that it took effect."
		}
		p.Bites = append(p.Bites, row)
	}
}

// needs compares what the run did with what its verdict needs.
func (p *reportPage) needs(s Scenario, r *record) {
	st, need := s.Verdict.Stats, r.h.Header.Needs
	met := 0
	for _, f := range st.Faults {
		if f.Injected {
			met += f.MetHolder
		}
	}
	add := func(what string, got int64, least int) {
		row := needRow{What: what, Got: grouped(got), Need: "–", Short: got < int64(least)}
		if least > 0 {
			row.Need = grouped(least)
		}
		p.Needs = append(p.Needs, row)
	}
	add("grants", st.Grants, need.Grants)
	add("contended hand-overs", st.Handovers, need.Handovers)
	if need.Bites > 0 || met > 0 {
		add("faults that met a holder", int64(met), need.Bites)
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
