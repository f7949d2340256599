package story

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/checker/witness"
	"github.com/lockchaos/lockchaos/history"
)

// TellWitness tells what happened in a witness of the violation, line by line, in the
// order of the stamps. Whole is how many events the history has that it was taken from.
func TellWitness(w io.Writer, wit witness.Witness, v *checker.Violation, whole int) {
	fmt.Fprintf(w, "%s: %s\n\n", v.Property, v.Text)
	table := tabwriter.NewWriter(w, 2, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "s\twho\t  what\n")
	// The store's ledger is read now and then: its lines come later than what they tell.
	events := slices.SortedStableFunc(slices.Values(wit.Events),
		func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	for i := range events {
		if what := happened(&events[i], wit.Keys); what != "" {
			fmt.Fprintf(table, "%.4f\t%s\t  %s\n", time.Duration(events[i].Time).Seconds(), speaker(&events[i]), what)
		}
	}
	table.Flush()
	fmt.Fprintf(w, "\n%d ops of %d events are enough", wit.Ops(), whole)
	if !wit.Minimal {
		fmt.Fprint(w, " (fewer might be: the search was cut short)")
	}
	fmt.Fprintln(w)
}

// WitnessLines tells what happened in a witness in as few lines as can be read without its report:
// what was answered, and the faults that were planned. A reader of the whole has TellWitness.
func WitnessLines(wit witness.Witness) (lines []string) {
	events := slices.SortedStableFunc(slices.Values(wit.Events),
		func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	for i := range events {
		e := &events[i]
		if e.Type == history.Invoke || e.Type == history.Ledger && !e.Refused || e.Kind == history.Read ||
			e.Type == history.Fault && !e.Fault.Injected {
			continue
		}
		if what := happened(e, wit.Keys); what != "" {
			lines = append(lines, fmt.Sprintf("%8.4f s  %-8s  %s", time.Duration(e.Time).Seconds(), speaker(e), what))
		}
	}
	return lines
}

func speaker(e *history.Event) string {
	switch {
	case e.Type == history.Ledger:
		return "store"
	case e.Type == history.Fault && len(e.Fault.Clients) == 0:
		return e.Fault.Target
	case e.Client == 0:
		return ""
	}
	return "client " + strconv.Itoa(int(e.Client))
}

// happened says in words what an event tells; nothing for what only the judge needs.
func happened(e *history.Event, keys []string) string {
	switch e.Type {
	case history.Invoke:
		return "asks: " + askText(e, keys)
	case history.OK, history.Fail, history.Info:
		return answer(e) + ": " + askText(e, keys)
	case history.Lost:
		return "is told that its hold is lost: " + e.Text
	case history.Fault:
		text := e.Fault.Kind + " " + e.Fault.Phase + "s"
		if e.Fault.Evidence != "" {
			text += ": " + e.Fault.Evidence
		}
		return text
	case history.Ledger:
		if e.Refused {
			return fmt.Sprintf("refuses the %s with token %d", e.Kind, e.Token)
		}
		text := fmt.Sprintf("takes the %s of grant %d, version %d", e.Kind, e.Grant, e.Version)
		if e.Token.Given() {
			text += fmt.Sprintf(", token %d", e.Token)
		}
		return text
	}
	return ""
}

func askText(e *history.Event, keys []string) string {
	text := e.Kind.String()
	if e.Kind != history.Close && int(e.Key) < len(keys) {
		text += " " + keys[e.Key]
	}
	if e.Type == history.OK && e.Kind == history.Acquire {
		text += fmt.Sprintf(" (grant %d", e.Grant)
		if e.Token.Given() {
			text += fmt.Sprintf(", token %d", e.Token)
		}
		return text + ")"
	}
	if e.Kind != history.Acquire && e.Grant != 0 {
		text += fmt.Sprintf(" under grant %d", e.Grant)
	}
	if e.Type == history.OK && e.Version != 0 {
		text += fmt.Sprintf(", version %d", e.Version)
	}
	return text
}

func answer(e *history.Event) string {
	switch {
	case e.Type == history.OK:
		return "ok"
	case e.Type == history.Info:
		return "nobody knows"
	case e.Refused:
		return "refused by the fence"
	case e.Busy:
		return "busy"
	case e.NotHeld:
		return "not held"
	case e.Declined:
		return "not begun"
	}
	return "failed"
}
