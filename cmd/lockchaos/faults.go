package main

import (
	"context"
	"io"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/reports/terminal"
	"github.com/lockchaos/lockchaos/runs/runtimes"
)

// listFaults prints the catalogue of faults, and tries whether this machine can do them.
func listFaults(w io.Writer) error {
	tried := nemesis.Tried(context.Background(), runtimes.ProbeVerb)
	rows := [][]string{{"FAULT", "AIMED AT", "NEEDS", "HERE", "WHAT"}}
	for _, k := range nemesis.Kinds() {
		here := "yes"
		if why, _ := tried(k.Needs); why != "" {
			here = "no: " + why
		}
		rows = append(rows, []string{k.Name, k.Targets(), string(k.Needs), here, k.About})
	}
	if err := terminal.Table(w, rows); err != nil {
		return err
	}
	_, err := harmless.Fprintf(w, "\n%s\n", harmless.Safe(nemesis.TargetsLegend()))
	return err
}
