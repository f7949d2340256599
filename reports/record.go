package reports

import (
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Record is the view of a history, with the marks of its verdict and the labels to tell it by.
type Record struct {
	Labels
	*history.View
	Unsaid func(op int64) bool // an op that stands on no line of the log

	counts bool // what the writes counted can be told: see counters

	Stale map[int64]bool // accepted writes that violate unfenced-write
	// Unordered are grants of which the verdict says that a rival may have been
	// granted the key before or after them.
	Unordered map[int64]bool
	Lossy     map[int64]bool // accepted writes that violate lost-update
}

// NewRecord reads a history, and marks in it what the verdict found.
func NewRecord(h *history.History, v checker.Verdict) *Record {
	r := &Record{Labels: labelsOf(&h.Header), View: history.NewView(h), Stale: map[int64]bool{}, Lossy: map[int64]bool{},
		Unordered: map[int64]bool{}}
	r.mark(v)
	r.counts = r.counters(v) != nil
	return r
}

// mark finds the writes that the verdict complains of: of a violation's writes
// the last in the ledger, behind which the others stand.
func (r *Record) mark(v checker.Verdict) {
	for _, p := range v.Properties {
		set := r.Stale
		switch p.Name {
		case checker.MutualExclusion:
			r.markUnordered(p)
			continue
		case checker.UnfencedWrite:
		case checker.LostUpdate:
			set = r.Lossy
		default:
			continue
		}
		for _, x := range p.Violations {
			var last *history.Op
			for _, id := range x.Ops {
				if o := r.Op(id); o != nil && o.Accepted() && (last == nil || o.Seq > last.Seq) {
					last = o
				}
			}
			if last != nil {
				set[last.ID] = true
			}
		}
	}
}

func (r *Record) markUnordered(p checker.PropertyResult) {
	for _, v := range p.Violations {
		if v.Unordered && v.A != nil && v.B != nil {
			r.Unordered[v.A.Grant], r.Unordered[v.B.Grant] = true, true
		}
	}
}

// Harmful reports whether the store should not have taken the write.
func (r *Record) Harmful(o *history.Op) bool { return r.Stale[o.ID] || r.Lossy[o.ID] }

// Key returns a key's name, fit to be shown.
func (r *Record) Key(id history.KeyID) string {
	if int(id) < 0 || int(id) >= len(r.History.Keys) {
		return "?"
	}
	return phrase.Clip(r.History.Keys[id], 40)
}

// GrantName names a grant as a reader finds it in the history: by its fencing
// token if it has one, else by the op of its acquire.
func GrantName(id int64, token history.Token) string {
	if token.Given() {
		return "#" + phrase.Itoa(token.Number())
	}
	return "grant " + phrase.Itoa(id)
}

// NameOf names a grant.
func NameOf(g *history.Grant) string { return GrantName(g.ID, g.Token) }
