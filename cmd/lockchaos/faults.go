package main

import (
	"context"
	"io"
	"sync"

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

// What tryFaults answers: yes, or why not after no.
const (
	yes = "yes"
	no  = "no: "
)

// tryFaults tries what faults need, in a throw-away sandbox, and returns what to say of each need: yes,
// or why not and what to do.
func tryFaults(ctx context.Context) func(nemesis.Need) string {
	checks := map[string]hosts.Check{}
	for _, c := range netfault.ProbeOutside(ctx, probeVerb) {
		checks[c.Name] = c
	}
	clocks := sync.OnceValue(func() error { return clockskew.Supported(ctx) })
	return func(need nemesis.Need) string {
		switch need {
		case nemesis.NeedsLocalFilter:
			need = nemesis.NeedsFilter
		case nemesis.NeedsNothing, nemesis.NeedsLocal:
			return yes
		case nemesis.NeedsClocks:
			if err := clocks(); err != nil {
				return no + err.Error()
			}
			return yes
		}
		return answer(checks, string(need))
	}
}

// answer tells how the check of that name ended.
func answer(checks map[string]hosts.Check, name string) string {
	c, known := checks[name]
	switch {
	case !known:
		return "not known: nobody tries " + name
	case c.OK:
		return yes
	case c.Fix != "":
		return no + c.Detail + "; to do: " + c.Fix
	}
	return no + c.Detail
}
