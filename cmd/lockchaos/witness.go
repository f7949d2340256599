package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/checker/witness"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/spf13/cobra"
)

func witnessCommand() *cobra.Command {
	var property, out string
	var number int
	cmd := &cobra.Command{
		Use:   "witness HISTORY",
		Short: "Reduce a history to the few ops that show a violation",
		Long: `Takes ops away from a history for as long as the checker still finds the very same violation in what is left, prints that, and writes it as a history
of its own (--out), in which "lockchaos check" finds the violation.

Exit status: 1 with a witness, 0 if nothing is violated, 64 a file that is no history.`,
		Example: "  lockchaos witness runs/latest/redis-setnx.pause-holder.unfenced/history.jsonl --property lost-update --out small.jsonl",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(errors.New("witness needs one history, such as runs/latest/redis-setnx.pause-holder.unfenced/history.jsonl"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := history.ReadFile(args[0])
			if err != nil {
				return usage(err)
			}
			opts := checker.Options{Keep: max(number, keepViolations)}
			v, err := chosen(checker.Judge(h, opts), property, number)
			if err != nil {
				return usage(err)
			}
			if v == nil {
				fmt.Fprintln(cmd.OutOrStdout(), "nothing is violated: there is nothing to show")
				return nil
			}
			w, err := witness.Smallest(h, *v, opts)
			if err != nil {
				return err
			}
			if out != "" {
				if err := write(out, w.Encode); err != nil {
					return err
				}
			}
			printWitness(cmd.OutOrStdout(), w, v, len(h.Events))
			return &status{code: exitViolated}
		},
	}
	cmd.Flags().StringVar(&property, "property", "", "whose violation (default: of the first property that is violated)")
	cmd.Flags().IntVar(&number, "number", 1, "which of its violations, in order of time")
	cmd.Flags().StringVar(&out, "out", "", "write the witness to this file, as a history")
	return cmd
}

// chosen picks the violation that was asked for; nil: nothing is violated.
func chosen(v checker.Verdict, property string, number int) (*checker.Violation, error) {
	var names []string
	for _, p := range v.Properties {
		names = append(names, p.Name)
		if property != "" && p.Name != property || property == "" && p.Count == 0 {
			continue
		}
		if p.Count == 0 {
			return nil, nil
		}
		if number < 1 || number > len(p.Violations) {
			return nil, fmt.Errorf("%s is violated %d times: there is no number %d", p.Name, p.Count, number)
		}
		return &p.Violations[number-1], nil
	}
	if property != "" {
		return nil, fmt.Errorf("there is no property %q%s; one of %s", property, suggest(property, names), strings.Join(names, ", "))
	}
	return nil, nil
}

// printWitness tells what happened, line by line, in the order of the stamps.
func printWitness(w io.Writer, wit witness.Witness, v *checker.Violation, whole int) {
	fmt.Fprintf(w, "%s: %s\n\n", v.Property, v.Text)
	table := tabwriter.NewWriter(w, 2, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "s\twho\t  what\n")
	// The store's ledger is read now and then: its lines come later than what they tell.
	events := slices.SortedStableFunc(slices.Values(wit.Events), func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	for i := range events {
		if what := happened(&events[i], wit.Keys); what != "" {
			fmt.Fprintf(table, "%.4f\t%s\t  %s\n", time.Duration(events[i].Time).Seconds(), who(&events[i]), what)
		}
	}
	table.Flush()
	fmt.Fprintf(w, "\n%d ops of %d events are enough", wit.Ops(), whole)
	if !wit.Minimal {
		fmt.Fprint(w, " (fewer might be: the search was cut short)")
	}
	fmt.Fprintln(w)
}

func who(e *history.Event) string {
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
		return "asks: " + asked(e, keys)
	case history.OK, history.Fail, history.Info:
		return answer(e) + ": " + asked(e, keys)
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
		if e.Token != 0 {
			text += fmt.Sprintf(", token %d", e.Token)
		}
		return text
	}
	return ""
}

func asked(e *history.Event, keys []string) string {
	text := e.Kind.String()
	if e.Kind != history.Close && int(e.Key) < len(keys) {
		text += " " + keys[e.Key]
	}
	if e.Type == history.OK && e.Kind == history.Acquire {
		text += fmt.Sprintf(" (grant %d", e.Grant)
		if e.Token != 0 {
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

// saveWitnesses writes the smallest witness of a violation of each property into the scenario's folder, of the one that the report tells where it tells one of
// the property, and else of the first; and notes them for the report. What can't be reduced is no error of the run: the whole history is there.
func saveWitnesses(folder string, sc *reports.Scenario, h *history.History) error {
	opts := checker.Options{Keep: keepViolations}
	told := reports.Told(*sc)
	for i := range sc.Verdict.Properties {
		p := &sc.Verdict.Properties[i]
		if len(p.Violations) == 0 {
			continue
		}
		v := &p.Violations[0]
		if told != nil && told.Property == p.Name {
			v = told
		}
		w, err := witness.Smallest(h, *v, opts)
		if err != nil {
			continue
		}
		file := "witness." + p.Name + ".jsonl"
		if err := write(filepath.Join(folder, file), w.Encode); err != nil {
			return err
		}
		saved := reports.Witness{Property: p.Name, At: v.At, File: file, Ops: w.Ops(), Of: sc.Verdict.Stats.Ops, Minimal: w.Minimal,
			Recheck: shell(sc.Program, "check", filepath.Join(folder, file))}
		for i := range w.Events {
			if w.Events[i].Type == history.Invoke {
				saved.Kept = append(saved.Kept, w.Events[i].Op)
			}
		}
		sc.Witnesses = append(sc.Witnesses, saved)
	}
	return nil
}
