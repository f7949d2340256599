package main

import (
	"context"
	"io"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/runs/runtimes"
)

// listFaults prints the catalogue of faults, and tries whether this machine can do them.
func listFaults(w io.Writer) error {
	can := tryFaults(context.Background())
	rows := [][]string{{"FAULT", "AIMED AT", "NEEDS", "HERE", "WHAT"}}
	for _, k := range nemesis.Kinds() {
		rows = append(rows, []string{k.Name, k.Targets(), string(k.Needs), can(k.Needs), k.About})
	}
	if err := table(w, rows); err != nil {
		return err
	}
	_, err := harmless.Fprintf(w, "\n%s\n", harmless.Safe(nemesis.TargetsLegend()))
	return err
}

// What tryFaults answers: yes, or why not after no.
const (
	yes = "yes"
	no  = "no: "
)

// tryFaults tries what faults need on this machine, and returns what to say of each need: yes, or why not and what to do.
func tryFaults(ctx context.Context) func(nemesis.Need) string {
	unmet := nemesis.Able(ctx, runtimes.ProbeVerb)
	return func(need nemesis.Need) string {
		if why := unmet(need); why != "" {
			return no + why
		}
		return yes
	}
}
