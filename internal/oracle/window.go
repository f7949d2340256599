package oracle

import (
	"cmp"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/lockchaos/lockchaos/history"
)

// Limits bound what Porcupine is asked at once. Its memory grows with the
// square of a window, its time with much more where many holds meet.
type Limits struct {
	Window int           // holds at once
	Time   time.Duration // for one window
}

// DefaultLimits are bounds that take some seconds at the worst.
var DefaultLimits = Limits{Window: 1000, Time: 5 * time.Second}

// Opinion is what Porcupine says about the holds of one key.
type Opinion struct {
	Key history.KeyID
	// Holds is how many there are, Unsure how many more grants nobody knows to have been
	// made. Those are left out: each may not have happened, so they forbid nothing.
	Holds, Unsure int
	Windows       int
	// Broken are the windows whose holds conflict in whatever order they are
	// put, Undecided those for which the time did not suffice.
	Broken, Undecided []Span
	// Cuts are where a window had to end in the midst of a hold: holds on
	// either side were not compared.
	Cuts []int64
}

// Span is a stretch of a key's holds: from the grant of the first to the last
// act in it (ns), and the grants that it begins and ends with.
type Span struct {
	From, To    int64
	First, Last int64
}

// Covered reports whether the opinion is about all the holds of the key, each
// compared with every other.
func (o *Opinion) Covered() bool { return len(o.Undecided) == 0 && len(o.Cuts) == 0 }

// Windows asks Porcupine about the holds of every key, a window at a time, as holds of
// the lock that the header claims. Promises and the store are not its subject, and tokens
// only if they are declared to be fencing tokens of an exclusive or a reader-writer lock.
//
// What is broken in a window is broken in the whole, since to leave holds out forbids nothing. What
// is linearizable in each window is linearizable in the whole if the windows meet at instants at
// which nothing is held or being granted: each hold can shrink to its own span, and then all of one
// window lie before all of the next. Of its tokens the greatest is all that the next one must know.
func Windows(h *history.History, l Limits) []Opinion {
	var all []Opinion
	for key, holds := range Holds(h) {
		lock, top := LockOf(&h.Header), Token{}
		o := Opinion{Key: history.KeyID(key)}
		certain := holds[:0]
		for _, d := range holds {
			switch {
			case d.Maybe:
				o.Unsure++
			case d.Acquired != 0 && (d.Acts > 0 || lock.Fenced):
				certain = append(certain, d)
				if d.Acts > 0 {
					o.Holds++
				}
			}
		}
		slices.SortStableFunc(certain, func(a, b Hold) int { return cmp.Compare(a.Earliest, b.Earliest) })
		for len(certain) > 0 {
			n, clean := window(certain, l.Window)
			o.ask(lock, top, certain[:n], l.Time)
			if !clean {
				o.Cuts = append(o.Cuts, certain[n].Earliest)
			}
			top = top.among(certain[:n], clean)
			certain = certain[n:]
		}
		all = append(all, o)
	}
	return all
}

// window returns how many holds the next window has: as many as there may be,
// up to an instant at which nothing goes on. If there is none, it is not clean.
func window(holds []Hold, most int) (n int, clean bool) {
	if len(holds) <= most {
		return len(holds), true
	}
	busy := int64(0)
	for i := range most {
		busy = max(busy, holds[i].Acquired, holds[i].Last)
		if busy < holds[i+1].Earliest {
			n = i + 1
		}
	}
	if n > 0 {
		return n, true
	}
	return most, false
}

// among returns the greatest token, this one or one of the holds'. Where the
// order of one window and the next is not certain, nothing follows from it.
func (top Token) among(holds []Hold, clean bool) Token {
	if !clean {
		return Token{}
	}
	for _, d := range holds {
		top = top.with(&d)
	}
	return top
}

func (o *Opinion) ask(lock Lock, top Token, holds []Hold, limit time.Duration) {
	o.Windows++
	span := Span{From: holds[0].Earliest, First: holds[0].Grant, Last: holds[len(holds)-1].Grant}
	for _, d := range holds {
		span.To = max(span.To, d.Last, d.Acquired)
	}
	switch lock.after(top, holds, limit) {
	case porcupine.Illegal:
		o.Broken = append(o.Broken, span)
	case porcupine.Unknown:
		o.Undecided = append(o.Undecided, span)
	}
}
