package page

import (
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/draw"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

// The most faults that a page lists one by one; the history has them all.
const biteRows = 200

// clipEvidence is how much of one proof is repeated among the faults one by one, in characters.
const clipEvidence = 400

// faultRow is one planned fault, or one kind that nobody planned: what became of it, and the proof.
type faultRow struct {
	Kind, Whom, Planned, Begun, Bit, Met, Lasted string
	Doc                                          string // where the documentation tells of this kind
	// Evidence is the proof of the first that took effect, Of which one of how many that is.
	Evidence, Of string
	// Never: planned, and never injected. Toothless: injected, and nothing
	// proves that it took effect.
	Never, Toothless bool
}

// biteRow is one fault that was injected, or noticed.
type biteRow struct {
	At, Lasted, Fault, Target, Holding, Evidence string
	Bit                                          bool
	Go                                           string // its place in the timeline
}

// faults fills in what was planned, and what became of it.
func (p *reportPage) faults(s reports.Scenario, r *reports.Record) {
	for _, f := range s.Verdict.Stats.Faults {
		p.Faults = append(p.Faults, faultLine(f, r))
	}
	if r == nil {
		return
	}
	fault := r.History.Header.Fault
	// a log does not tell
	p.Undisturbed = len(r.History.Header.Faults) == 0 && (fault == "" || fault == "none") &&
		!reports.OfOthers(&r.History.Header)
	p.bites(r)
	p.Clocks = draw.Clocks(r)
}

func faultLine(f checker.FaultStats, r *reports.Record) faultRow {
	row := faultRow{Doc: story.FaultDoc(r, f), Kind: phrase.Clip(f.Kind, phrase.MostName),
		Whom: phrase.Clip(f.Target, phrase.MostName), Planned: phrase.Clip(f.Planned, phrase.MostName),
		Begun: phrase.Grouped(f.Begun), Bit: phrase.Grouped(f.Bit),
		Met: phrase.Grouped(f.MetHolder), Lasted: "–", Never: f.Injected && f.Begun == 0, Toothless: f.Injected &&
			f.Begun > 0 && f.Bit == 0}
	if f.When != "" {
		row.Whom = strings.TrimPrefix(row.Whom+", "+strings.ReplaceAll(phrase.Clip(f.When, phrase.MostName), "-", " "),
			", ")
	}
	switch {
	case !f.Injected:
		row.Planned = "by the machine, not injected"
	case row.Planned == "":
		row.Planned = "–"
	}
	if f.MetHolder == 0 && r != nil && ofNodes(r, f) {
		row.Met = "–"
	}
	if f.Longest > 0 {
		row.Lasted = phrase.Span(int64(f.Shortest))
		if longest := phrase.Span(int64(f.Longest)); longest != row.Lasted {
			row.Lasted += " to " + longest
		}
	}
	row.Evidence = phrase.Sentence(phrase.Cut(f.Evidence, story.MostProof))
	if row.Evidence != "" && f.Bit > 1 {
		row.Of = "the first of " + phrase.Grouped(f.Bit)
	}
	return row
}

// ofNodes reports whether the fault struck nodes only: those hold nothing.
func ofNodes(r *reports.Record, stats checker.FaultStats) bool {
	struck := false
	for _, f := range r.Faults {
		if f.Plan != stats.Plan || f.Kind != stats.Kind || f.When != stats.When {
			continue
		}
		if !f.Service || len(f.Clients) > 0 {
			return false
		}
		struck = true
	}
	return struck
}

// bites lists every fault with its proof.
func (p *reportPage) bites(r *reports.Record) {
	for i, f := range r.Faults {
		if i == biteRows {
			p.MoreBites = phrase.Grouped(len(r.Faults)-biteRows) + " more are in history.jsonl."
			break
		}
		p.Bites = append(p.Bites, bite(r, f))
	}
	p.ManyKinds = slices.ContainsFunc(p.Bites, func(b biteRow) bool { return b.Fault != p.Bites[0].Fault })
}

func bite(r *reports.Record, f *history.FaultSpan) biteRow {
	row := biteRow{At: phrase.At(f.From), Lasted: phrase.At(f.To - f.From), Fault: phrase.Clip(f.Kind, phrase.MostName),
		Target:   phrase.Clip(f.Target, phrase.MostName),
		Evidence: phrase.Sentence(phrase.Clip(f.Evidence, clipEvidence)),
		Bit:      f.Bit, Go: draw.GoBetween(f.From, f.To)}
	var who []string
	for _, c := range f.Struck() {
		who = append(who, phrase.Client(c))
	}
	for _, host := range f.Hosts {
		if len(f.Struck()) == 0 { // nodes
			who = append(who, phrase.Clip(host, phrase.MostName))
		}
	}
	if len(who) > 0 && (len(who) != 1 || who[0] != row.Target) {
		row.Target = strings.TrimSpace(row.Target + " (" + phrase.List(who) + ")")
	}
	if g := r.Grant(f.Holding); g != nil {
		row.Holding = r.Key(g.Key) + ", " + reports.NameOf(g)
	}
	switch {
	case !f.Ended:
		row.Evidence = "The history ends before this fault does."
	case row.Evidence == "" && !f.Bit:
		row.Evidence = "No proof that it took effect."
	}
	return row
}
