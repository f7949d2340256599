package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/harness/workload"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/pick"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/reports/terminal"
	"github.com/lockchaos/lockchaos/scenarios"
)

// lists are what can be listed.
var lists = []struct {
	name string
	rows func() [][]string
	// end says what the words of the list mean.
	end string
}{
	{"locks", lockRows, locksLegend}, {"services", serviceRows, ""}, {listOfScenarios, nil, ""},
	{"workloads", workloadRows, ""},
	{"faults", faultRows, "\n" + nemesis.TargetsLegend() + "\n"}, {"properties", propertyRows, ""},
}

// listOfScenarios is the list that can be narrowed down.
const listOfScenarios = "scenarios"

func listNames() (names []string) {
	for _, l := range lists {
		names = append(names, l.name)
	}
	return names
}

func listCommand() *cobra.Command {
	var only pick.Selection
	var out string
	names := listNames()
	cmd := &cobra.Command{
		Use:   "list " + strings.Join(names, "|") + " [PATTERN]",
		Short: "Say which locks, services, scenarios, workloads, faults and properties there are",
		Long: `Lists what there is. ` + "`list scenarios`" + ` takes a suite's name, or a part of the scenarios' names, where * stands for any text; --lock, --fault and --last-failed
leave fewer. "lockchaos run" takes the same flags.`,
		Example: `  lockchaos list locks
  lockchaos list scenarios quick
  lockchaos list scenarios 'redis*/unfenced' --fault pause
  lockchaos list scenarios --lock redlock
  lockchaos list scenarios --last-failed`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			switch {
			case len(args) == 0:
				return names, cobra.ShellCompDirectiveNoFileComp
			case len(args) == 1 && args[0] == listOfScenarios:
				return completeScenarios(cmd, args[1:], typed)
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		Args: func(cmd *cobra.Command, args []string) error { return checkList(cmd, args, names) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == listOfScenarios {
				return listScenarios(cmd.OutOrStdout(), strings.Join(args[1:], ""), only, out)
			}
			l := lists[slices.Index(names, args[0])]
			if err := terminal.Table(cmd.OutOrStdout(), l.rows()); err != nil {
				return err
			}
			_, err := harmless.Fprintf(cmd.OutOrStdout(), "%s", harmless.Safe(l.end))
			return err
		},
	}
	addSelection(cmd, &only)
	addOut(cmd.Flags(), &out, runsFolder+", for --last-failed")
	return cmd
}

func checkList(cmd *cobra.Command, args, names []string) error {
	switch {
	case len(args) == 0:
		return exit.Misuse(fmt.Errorf("list what? one of %s", join(names)))
	case !slices.Contains(names, args[0]):
		return exit.Misuse(fmt.Errorf("there is no list of %q: one of %s%s", args[0], join(names),
			suggest(args[0], names)))
	case args[0] != listOfScenarios && (len(args) > 1 || cmd.Flags().NFlag() > 0):
		return exit.Misuse(fmt.Errorf("only the list of %s can be narrowed: lockchaos list %s takes nothing else",
			listOfScenarios, args[0]))
	case len(args) > 2:
		return exit.Misuse(fmt.Errorf("list %s takes one pattern, such as 'redis*/unfenced'", listOfScenarios))
	}
	return nil
}

func lockRows() [][]string {
	rows := [][]string{{"LOCK", "SERVICE", "VALID", "TOKEN", "CONFIRMS", "NOTICES", "TOLERATES", "HOW"}}
	for _, k := range locks() {
		rows = append(rows, []string{k.Name, k.Service, cmp.Or(k.Claims.Validity, "none"), k.Claims.Token,
			cmp.Or(join(k.Claims.Confirms), "nothing"), noticing(k), cmp.Or(k.Claims.Tolerates, "none"), described(k)})
	}
	return rows
}

// noticing says how a lock claims to notice a loss by itself.
func noticing(k clients.Kind) string {
	if k.LostGrace == nil {
		return "none"
	}
	return cmp.Or(k.Claims.Notices, "undisturbed")
}

// described says how a lock works, and of a control that it is one.
func described(k clients.Kind) string {
	if k.Control == "" {
		return k.About
	}
	return fmt.Sprintf("BROKEN ON PURPOSE, to be caught by %s: %s", k.Control, k.About)
}

// locksLegend says what the claims in the list mean.
const locksLegend = `
What a lock claims is what may be held against it.
VALID     how long a grant is good for: from_invocation, the start of the attempt plus the TTL; session, until the lock tells of
          its loss; library, as long as the library says; none, no such claim
TOKEN     fencing: rises with every grant, so that a store can refuse older ones; none
CONFIRMS  ops whose success proves that the lock was still held
NOTICES   how the lock notices a loss within a time that it claims: alone, by its own clock, cut off or not; undisturbed, while no
          fault touches its client, its links or the service; none, no such claim
TOLERATES minority: a fault that touches only a minority of the service's nodes excuses nothing; none, no such claim
`

func serviceRows() [][]string {
	rows := [][]string{{"SERVICE", "NODES", "FROM"}}
	for _, k := range backends.Kinds() {
		rows = append(rows, []string{k.Name, fmt.Sprint(len(k.Nodes)), k.About})
	}
	return rows
}

func workloadRows() [][]string {
	rows := [][]string{{"WORKLOAD", "WHAT EVERY CLIENT DOES, AGAIN AND AGAIN"}}
	for _, k := range workload.Kinds() {
		rows = append(rows, []string{k.Name, k.About})
	}
	return rows
}

func propertyRows() [][]string {
	rows := [][]string{{"PROPERTY", "HOLDS WHEN"}}
	for _, p := range checker.Properties() {
		rows = append(rows, []string{p.Name, p.About})
	}
	return rows
}

// faultRows is the catalogue of faults; it tries whether this machine can do them.
func faultRows() [][]string {
	tried := nemesis.ProbeNeeds(context.Background(), runtimes.ProbeVerb)
	rows := [][]string{{"FAULT", "AIMED AT", "NEEDS", "HERE", "WHAT"}}
	for _, k := range nemesis.Kinds() {
		here := "yes"
		if why, _ := tried(k.Needs); why != "" {
			here = "no: " + why
		}
		rows = append(rows, []string{k.Name, k.Targets(), string(k.Needs), here, k.About})
	}
	return rows
}

// listScenarios lists the scenarios that fit a pattern ("": all) and the
// selection, suite by suite. Runs is where the latest run lies.
func listScenarios(w io.Writer, pattern string, only pick.Selection, out string) error {
	if err := only.Check(catalogue()); err != nil {
		return err
	}
	suites, err := suitesOf(only, out)
	if err != nil {
		return err
	}
	isSuite := slices.ContainsFunc(suites, func(s scenarios.Suite) bool { return s.Name == pattern })
	listed := 0
	for _, s := range suites {
		if isSuite && s.Name != pattern {
			continue
		}
		rows := [][]string{{"SCENARIO", "EXPECTED", "WHAT"}}
		for _, sc := range s.Scenarios {
			if only.Takes(sc) && (isSuite || matches(pattern, sc.Name)) {
				rows = append(rows, []string{sc.Name, sc.Expect.Word(), sc.About})
			}
		}
		if len(rows) == 1 {
			continue
		}
		if listed > 0 {
			harmless.Fprintln(w)
		}
		listed += len(rows) - 1
		harmless.Fprintf(w, "suite %s: %s\n\n", s.Name, s.About)
		if err := terminal.Table(w, rows); err != nil {
			return err
		}
	}
	if listed == 0 && !only.LastFailed {
		return exit.Misuse(fmt.Errorf("no scenario fits %q%s (all names: lockchaos list scenarios)", pattern,
			suggest(pattern, runs.Names(suites))))
	}
	_, err = io.WriteString(w, listEnd(pattern, only, listed))
	return err
}

// suitesOf are the built-in suites, or what failed in the latest run as one.
func suitesOf(only pick.Selection, out string) ([]scenarios.Suite, error) {
	if !only.LastFailed {
		return ours().Suites()
	}
	last, err := ours().LastFailed(out)
	if err != nil {
		return nil, err
	}
	suite := scenarios.Suite{Name: last.Run.Suite,
		About: fmt.Sprintf("%s that did not come out as they should", last.Title())}
	for _, p := range last.Plans {
		suite.Scenarios = append(suite.Scenarios, p.Scenario)
	}
	return []scenarios.Suite{suite}, nil
}

// listEnd says what the words of the list mean, and what to do with it.
func listEnd(pattern string, only pick.Selection, listed int) string {
	switch {
	case only.LastFailed && listed == 0:
		return "Nothing: all scenarios of the latest run came out as they should.\n"
	case only.LastFailed:
		return "\nRun them again: lockchaos run --last-failed\n"
	}
	end := "\nEXPECTED is what theory says of the lock under the fault; \"either\" where chance decides whether anything is violated (lockchaos explain WORD).\n"
	if pattern == "" {
		end += fmt.Sprintf("suite %s: drawn from the seed, one scenario for each lock: lockchaos run %s --seed 7\n",
			pick.Random, pick.Random)
	}
	return end
}
