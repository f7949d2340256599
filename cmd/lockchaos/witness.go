package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/checker/witness"
	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/story"
	"github.com/lockchaos/lockchaos/runs/exit"
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
		Example: "  lockchaos witness runs/latest/redis-setnx.pause-holder.unfenced/history.jsonl --property " + checker.LostUpdate + " --out small.jsonl",
		Args:    wordCount(1, 1, "witness needs one history, such as runs/latest/redis-setnx.pause-holder.unfenced/history.jsonl"),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := history.ReadFile(args[0])
			if err != nil {
				return exit.Misuse(err)
			}
			opts := checker.Options{Keep: max(number, reports.KeptViolations), KeepDefects: true}
			verdict := checker.Judge(h, opts)
			v, err := chosen(verdict, property, number)
			if property == "" && !cmd.Flags().Changed("number") {
				v, err = reports.Told(reports.Scenario{History: h, Verdict: verdict}), nil
			}
			if err != nil {
				return exit.Misuse(err)
			}
			if v == nil {
				harmless.Fprintln(cmd.OutOrStdout(), "nothing is violated: there is nothing to show")
				return nil
			}
			w, err := witness.Smallest(h, *v, opts)
			if err != nil {
				return err
			}
			if out != "" {
				if err := reports.WriteFile(out, w.Encode); err != nil {
					return err
				}
			}
			story.TellWitness(cmd.OutOrStdout(), w, v, len(h.Events))
			return exit.With(exit.Violated, nil)
		},
	}
	cmd.Flags().StringVar(&property, "property", "", "whose violation (default: the violation that a report tells first)")
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
		return nil, fmt.Errorf("there is no property %q%s; one of %s", property, suggest(property, names), join(names))
	}
	return nil, nil
}
