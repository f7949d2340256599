package oracle

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"
	"github.com/lockchaos/lockchaos/history"
)

// StoreOpinion is what Porcupine says about the reads and writes of one key of the store.
type StoreOpinion struct {
	Key history.KeyID
	// Ops is how many were compared, Unsure how many of them are of unknown fate.
	Ops, Unsure int
	Windows     int
	// Broken are the windows that no order of their ops explains, Undecided
	// those for which the time did not suffice, or that were not asked about.
	Broken, Undecided []Span
}

// maxCarried bounds how many ops of unknown fate are taken from one window to
// the next: each may happen in any of them.
const maxCarried = 64

// StoreWindows asks Porcupine about the reads and writes of every key of the store, a window
// at a time. Windows meet where no op is under way whose fate is known, so that the versions
// on either side can be told apart. Those of unknown fate are in all windows from theirs on.
func StoreWindows(h *history.History, l Limits) []StoreOpinion {
	r := RegisterOf(&h.Header)
	var all []StoreOpinion
	for key, ops := range StoreOps(h) {
		if len(ops) > 0 {
			o := StoreOpinion{Key: history.KeyID(key), Ops: len(ops)}
			o.ask(r, ops, l)
			all = append(all, o)
		}
	}
	return all
}

func (o *StoreOpinion) ask(r Register, ops []StoreOp, l Limits) {
	slices.SortStableFunc(ops, func(a, b StoreOp) int { return cmp.Compare(a.Call, b.Call) })
	from := registerState{}
	var carried []StoreOp
	for len(ops) > 0 {
		n := storeWindow(ops, l.Window)
		if n == 0 || len(carried) > maxCarried {
			o.Undecided = append(o.Undecided, spanOf(ops))
			return
		}
		asked := append(slices.Clone(carried), ops[:n]...)
		o.Windows++
		switch r.after(from, asked, l.Time) {
		case porcupine.Illegal:
			o.Broken = append(o.Broken, spanOf(ops[:n]))
		case porcupine.Unknown:
			o.Undecided = append(o.Undecided, spanOf(ops[:n]))
		}
		for _, x := range ops[:n] {
			switch {
			case x.Maybe:
				x.Before = true
				carried = append(carried, x)
				o.Unsure++
			case !x.refused():
				from.version = max(from.version, x.Version)
				from = r.raised(from, &x)
			}
		}
		ops = ops[n:]
	}
}

// storeWindow returns how many ops the next window has: as many as there may be,
// up to an instant at which none of known fate is under way; 0 if there is none.
func storeWindow(ops []StoreOp, most int) int {
	if len(ops) <= most {
		return len(ops)
	}
	n, busy := 0, int64(0)
	for i := range most {
		if !ops[i].Maybe {
			busy = max(busy, ops[i].Return)
		}
		if busy < ops[i+1].Call {
			n = i + 1
		}
	}
	return n
}

func spanOf(ops []StoreOp) Span {
	s := Span{From: ops[0].Call, First: ops[0].Op, Last: ops[len(ops)-1].Op}
	for i := range ops {
		s.To = max(s.To, ops[i].Call)
	}
	return s
}
