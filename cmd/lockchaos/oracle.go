package main

import (
	"fmt"
	"io"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/checker/oracle"
	"github.com/lockchaos/lockchaos/history"
)

// oracleName is the one oracle that there is.
const oracleName = "porcupine"

// secondOpinion asks Porcupine about the holds of a history, and prints what it says and what it was not asked. It returns an error if that contradicts the verdict:
// one of the two judges is wrong then.
func secondOpinion(w io.Writer, h *history.History, v checker.Verdict) error {
	claims := h.Header.Claims
	switch {
	case claims.Permits < 1:
		fmt.Fprintf(w, "  porcupine: not asked: this is no lock, it claims no exclusion\n")
		return nil
	case h.Header.Translated:
		fmt.Fprintf(w, "  porcupine: not asked: in a translated history one client may have several grants at a time\n")
		return nil
	case claims.Reentrant:
		fmt.Fprintf(w, "  porcupine: not asked: it has no model of a reentrant lock's nested grants\n")
		return nil
	}
	fmt.Fprintf(w, "  porcupine, asked whether the holds exclude each other by time alone (not: promises, tokens, the store):\n")
	broken := 0
	for _, o := range oracle.Windows(h, oracle.DefaultLimits) {
		key := h.Keys[o.Key]
		fmt.Fprintf(w, "    %s: %d holds in windows of at most %d (%d of them); ", key, o.Holds, oracle.DefaultLimits.Window, o.Windows)
		switch {
		case len(o.Broken) > 0:
			fmt.Fprintf(w, "they conflict %s\n", told(o.Broken[0], len(o.Broken)))
		case o.Covered():
			fmt.Fprintf(w, "they exclude each other\n")
		default:
			fmt.Fprintf(w, "no conflict in what was compared\n")
		}
		if o.Unsure > 0 {
			fmt.Fprintf(w, "      left out: %d acquires of unknown fate, which may not have happened\n", o.Unsure)
		}
		if len(o.Cuts) > 0 {
			fmt.Fprintf(w, "      not covered: at %d places something was always held, so holds before were not compared with holds after; the first at %s\n",
				len(o.Cuts), inSeconds(o.Cuts[0]))
		}
		if len(o.Undecided) > 0 {
			fmt.Fprintf(w, "      not covered: not decided within %v each %s\n", oracle.DefaultLimits.Time, told(o.Undecided[0], len(o.Undecided)))
		}
		broken += len(o.Broken)
	}
	if r := v.Property(checker.MutualExclusion); broken > 0 && r != nil && r.Outcome == checker.Pass {
		return fmt.Errorf("the judge and Porcupine disagree about %s: this is a defect of lockchaos, please report it with the history", checker.MutualExclusion)
	}
	return nil
}

// told tells where a span is, and how many more there are.
func told(s oracle.Span, n int) string {
	text := fmt.Sprintf("between %s and %s (grants %d to %d)", inSeconds(s.From), inSeconds(s.To), s.First, s.Last)
	if n > 1 {
		text += fmt.Sprintf(" and in %d more windows", n-1)
	}
	return text
}

func inSeconds(ns int64) string { return fmt.Sprintf("%.3f s", time.Duration(ns).Seconds()) }
