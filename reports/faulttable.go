package reports

import (
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
)

// The most faults that a page lists one by one; the history has them all.
const biteRows = 200

// clipEvidence is how much of one proof is repeated among the faults one by one, in characters.
const clipEvidence = 400

// clipFirst is how much of one proof is repeated where it stands for many, in characters.
const clipFirst = 200

// faultRow is one planned fault, or one kind that nobody planned: what became of it, and the proof.
type faultRow struct {
	Kind, Whom, Planned, Begun, Bit, Met, Lasted string
	Doc                                          string // where the documentation tells of this kind
	// Evidence is the proof of the first that took effect, Of which one of how many that is.
	Evidence, Of string
	// Never: planned, and never injected. Toothless: injected, and nothing proves that it took effect.
	Never, Toothless bool
}

// biteRow is one fault that was injected, or noticed.
type biteRow struct {
	At, Lasted, Fault, Target, Holding, Evidence string
	Bit                                          bool
	Go                                           string // its place in the timeline
}

// faults fills in what was planned, and what became of it.
func (p *reportPage) faults(s Scenario, r *record) {
	for _, f := range s.Verdict.Stats.Faults {
		p.Faults = append(p.Faults, faultLine(f, r))
	}
	if r == nil {
		return
	}
	fault := r.h.Header.Fault
	p.Undisturbed = len(r.h.Header.Faults) == 0 && (fault == "" || fault == "none") && !ofOthers(&r.h.Header) // a log does not tell
	p.bites(r)
	p.Clocks = r.clocks()
}

func faultLine(f checker.FaultStats, r *record) faultRow {
	row := faultRow{Doc: r.faultDoc(f), Kind: clip(f.Kind, clipName), Whom: clip(f.Target, clipName), Planned: clip(f.Planned, clipName), Begun: grouped(f.Begun), Bit: grouped(f.Bit),
		Met: grouped(f.MetHolder), Lasted: "–", Never: f.Injected && f.Begun == 0, Toothless: f.Injected && f.Begun > 0 && f.Bit == 0}
	if f.When != "" {
		row.Whom = strings.TrimPrefix(row.Whom+", "+strings.ReplaceAll(clip(f.When, clipName), "-", " "), ", ")
	}
	switch {
	case !f.Injected:
		row.Planned = "by the machine, not injected"
	case row.Planned == "":
		row.Planned = "–"
	}
	if f.MetHolder == 0 && r != nil && r.ofNodes(f) {
		row.Met = "–"
	}
	if f.Longest > 0 {
		row.Lasted = span(int64(f.Shortest))
		if longest := span(int64(f.Longest)); longest != row.Lasted {
			row.Lasted += " to " + longest
		}
	}
	row.Evidence = sentence(cut(f.Evidence, clipFirst))
	if row.Evidence != "" && f.Bit > 1 {
		row.Of = "the first of " + grouped(f.Bit)
	}
	return row
}

// ofNodes tells whether the fault struck nodes only: those hold nothing.
func (r *record) ofNodes(stats checker.FaultStats) bool {
	struck := false
	for _, f := range r.faults {
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
func (p *reportPage) bites(r *record) {
	for i, f := range r.faults {
		if i == biteRows {
			p.MoreBites = grouped(len(r.faults)-biteRows) + " more are in history.jsonl."
			break
		}
		p.Bites = append(p.Bites, r.bite(f))
	}
	p.ManyKinds = slices.ContainsFunc(p.Bites, func(b biteRow) bool { return b.Fault != p.Bites[0].Fault })
}

func (r *record) bite(f *fault) biteRow {
	row := biteRow{At: at(f.From), Lasted: at(f.To - f.From), Fault: clip(f.Kind, clipName), Target: clip(f.Target, clipName), Evidence: sentence(clip(f.Evidence, clipEvidence)),
		Bit: f.Bit, Go: goBetween(f.From, f.To)}
	var who []string
	for _, c := range f.struck() {
		who = append(who, client(c))
	}
	for _, host := range f.Hosts {
		if len(f.struck()) == 0 { // nodes
			who = append(who, clip(host, clipName))
		}
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
	return row
}
