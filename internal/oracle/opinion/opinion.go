// Package opinion sets what Porcupine says of a history (package oracle) beside the verdict of the
// judge, in words.
package opinion

import (
	"fmt"
	"io"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/oracle"
)

// Name is that of the one oracle that there is.
const Name = "porcupine"

// Tell asks Porcupine about the holds of a history and about what its store answered, and prints
// what it says and what it was not asked. It returns an error if that contradicts the verdict: one
// of the two judges is wrong then.
func Tell(w io.Writer, h *history.History, v checker.Verdict) error {
	err := opinionOfHolds(w, h, v)
	opinionOfStore(w, h)
	return err
}

// opinionOfHolds asks about the holds, by the model of the lock that the header claims.
func opinionOfHolds(w io.Writer, h *history.History, v checker.Verdict) error {
	lock := oracle.LockOf(&h.Header)
	switch {
	case lock.Permits < 1:
		harmless.Fprintf(w, "  porcupine: not asked: this is no lock, it claims no exclusion\n")
		return nil
	case lock.Owners && lock.Permits > 1:
		harmless.Fprintf(w, "  porcupine: not asked: it has no model of a reentrant lock with more than one permit\n")
		return nil
	}
	harmless.Fprintf(w, "  porcupine, asked whether the holds are those of %s (not: promises, the store):\n", lock)
	broken := 0
	for _, o := range oracle.Windows(h, oracle.DefaultLimits) {
		key := h.Keys[o.Key]
		harmless.Fprintf(w, "    %s: %d holds in windows of at most %d (%d of them); ", key, o.Holds,
			oracle.DefaultLimits.Window, o.Windows)
		switch {
		case len(o.Broken) > 0:
			harmless.Fprintf(w, "they conflict %s\n", place("grants", o.Broken[0], len(o.Broken)))
		case o.Holds == 0:
			harmless.Fprintf(w, "nothing to compare\n")
		case o.Covered():
			harmless.Fprintf(w, "they exclude each other\n")
		default:
			harmless.Fprintf(w, "no conflict in what was compared\n")
		}
		if o.Unsure > 0 {
			harmless.Fprintf(w, "      left out: %d acquires of unknown fate, which may not have happened\n", o.Unsure)
		}
		if len(o.Cuts) > 0 {
			harmless.Fprintf(w, "      not covered: at %d places something was always held, so holds before were not compared with holds after; the first at %s\n",
				len(o.Cuts), inSeconds(o.Cuts[0]))
		}
		if len(o.Undecided) > 0 {
			harmless.Fprintf(w, "      not covered: not decided within %v each %s\n", oracle.DefaultLimits.Time,
				place("grants", o.Undecided[0], len(o.Undecided)))
		}
		broken += len(o.Broken)
	}
	if broken > 0 && !found(v, checker.MutualExclusion) && !(lock.Fenced && found(v, checker.TokenOrder)) {
		return fmt.Errorf("the judge and Porcupine disagree about %s: this is a defect of lockchaos, please report it with the history", checker.MutualExclusion)
	}
	return nil
}

// found reports whether the judge found something against a property, or says that it can't tell.
func found(v checker.Verdict, property string) bool {
	r := v.Property(property)
	return r == nil || r.Outcome != checker.Pass
}

// opinionOfStore asks about the reads and writes of the protected resource, as
// its clients saw them.
func opinionOfStore(w io.Writer, h *history.History) {
	if h.Header.Workload == history.WorkloadTransaction {
		harmless.Fprintf(w, "  porcupine: not asked about the store: it has no model of transactions\n")
		return
	}
	if h.Header.Store.Engine == "" || h.Header.Translated {
		return
	}
	opinions := oracle.StoreWindows(h, oracle.DefaultLimits)
	if len(opinions) == 0 {
		return
	}
	harmless.Fprintf(w, "  porcupine, asked whether the store answered as %s:\n", oracle.RegisterOf(&h.Header))
	for _, o := range opinions {
		harmless.Fprintf(w, "    %s: %d reads and writes in windows of at most %d (%d of them), %d of unknown fate; ",
			h.Keys[o.Key], o.Ops, oracle.DefaultLimits.Window, o.Windows, o.Unsure)
		switch {
		case len(o.Broken) > 0:
			harmless.Fprintf(w, "no order explains its answers %s\n", place("ops", o.Broken[0], len(o.Broken)))
		case len(o.Undecided) == 0:
			harmless.Fprintf(w, "it did\n")
		default:
			harmless.Fprintf(w, "it did in what was decided\n")
		}
		if len(o.Undecided) > 0 {
			harmless.Fprintf(w, "      not covered: too much at a time, or not decided within %v each %s\n",
				oracle.DefaultLimits.Time, place("ops", o.Undecided[0], len(o.Undecided)))
		}
	}
}

// place says where a span of grants or of ops is, and that it is one of n windows.
func place(what string, s oracle.Span, n int) string {
	text := fmt.Sprintf("between %s and %s (%s %d to %d)", inSeconds(s.From), inSeconds(s.To), what, s.First, s.Last)
	if n > 1 {
		text += fmt.Sprintf(" and in %d more windows", n-1)
	}
	return text
}

func inSeconds(ns int64) string { return fmt.Sprintf("%.3f s", time.Duration(ns).Seconds()) }
