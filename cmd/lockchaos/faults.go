package main

import (
	"context"
	"fmt"
	"io"

	"github.com/lockchaos/lockchaos/clockskew"
	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/netfault"
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

// tryFaults tries what faults need, in a throw-away sandbox, and returns what to say of each need: "yes", or why not.
func tryFaults(ctx context.Context) func(nemesis.Need) string {
	checks := map[string]hosts.Check{}
	for _, c := range netfault.ProbeOutside(ctx, probeVerb) {
		checks[c.Name] = c
	}
	return func(need nemesis.Need) string {
		switch need {
		case nemesis.NeedsLocalFilter:
			need = nemesis.NeedsFilter
		case nemesis.NeedsNothing, nemesis.NeedsLocal:
			return "yes"
		case nemesis.NeedsClocks:
			if err := clockskew.Supported(ctx); err != nil {
				return fmt.Sprintf("no: %v", err)
			}
			return "yes"
		}
		c, known := checks[string(need)]
		switch {
		case !known:
			return "not known: nobody tries " + string(need)
		case !c.OK:
			return "no: " + c.Detail
		}
		return "yes"
	}
}
