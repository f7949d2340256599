package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/reports/terminal"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/pick"
)

// lists are what can be listed.
var lists = []struct {
	name  string
	print func(io.Writer) error
}{
	{"locks", listLocks}, {"services", listServices}, {listOfScenarios, nil}, {"workloads", listWorkloads}, {"faults", listFaults}, {"properties", listProperties},
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
			for _, l := range lists {
				if l.name == args[0] {
					return l.print(cmd.OutOrStdout())
				}
			}
			return nil
		},
	}
	addSelection(cmd, &only)
	cmd.Flags().StringVar(&out, "out", "runs", "folder for the runs' folders, for --last-failed")
	return cmd
}

func checkList(cmd *cobra.Command, args, names []string) error {
	switch {
	case len(args) == 0:
		return exit.Misuse(fmt.Errorf("list what? one of %s", join(names)))
	case !slices.Contains(names, args[0]):
		return exit.Misuse(fmt.Errorf("there is no list of %q: one of %s%s", args[0], join(names), suggest(args[0], names)))
	case args[0] != listOfScenarios && (len(args) > 1 || cmd.Flags().NFlag() > 0):
		return exit.Misuse(fmt.Errorf("only the list of %s can be narrowed: lockchaos list %s takes nothing else", listOfScenarios, args[0]))
	case len(args) > 2:
		return exit.Misuse(fmt.Errorf("list %s takes one pattern, such as 'redis*/unfenced'", listOfScenarios))
	}
	return nil
}

func listLocks(w io.Writer) error {
	rows := [][]string{{"LOCK", "SERVICE", "VALID", "TOKEN", "CONFIRMS", "NOTICES", "TOLERATES", "HOW"}}
	for _, k := range locks() {
		rows = append(rows, []string{k.Name, k.Service, cmp.Or(k.Claims.Validity, "none"), k.Claims.Token, cmp.Or(join(k.Claims.Confirms), "nothing"), noticing(k), cmp.Or(k.Claims.Tolerates, "none"), described(k)})
	}
	if err := terminal.Table(w, rows); err != nil {
		return err
	}
	_, err := io.WriteString(w, locksLegend)
	return err
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

func listServices(w io.Writer) error {
	rows := [][]string{{"SERVICE", "NODES", "FROM"}}
	for _, k := range backends.Kinds() {
		rows = append(rows, []string{k.Name, fmt.Sprint(len(k.Nodes)), k.About})
	}
	return terminal.Table(w, rows)
}

func listWorkloads(w io.Writer) error {
	rows := [][]string{{"WORKLOAD", "WHAT EVERY CLIENT DOES, AGAIN AND AGAIN"}}
	for _, k := range harness.Workloads() {
		rows = append(rows, []string{k.Name, k.About})
	}
	return terminal.Table(w, rows)
}

func listProperties(w io.Writer) error {
	rows := [][]string{{"PROPERTY", "HOLDS WHEN"}}
	for _, p := range checker.Properties() {
		rows = append(rows, []string{p.Name, p.About})
	}
	return terminal.Table(w, rows)
}
