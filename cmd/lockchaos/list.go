package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/scenarios"
)

// lists are what can be listed.
var lists = []struct {
	name  string
	print func(io.Writer) error
}{
	{"locks", listLocks}, {"services", listServices}, {"scenarios", listScenarios}, {"workloads", listWorkloads}, {"faults", listFaults}, {"properties", listProperties},
}

func listCommand() *cobra.Command {
	var names []string
	for _, l := range lists {
		names = append(names, l.name)
	}
	return &cobra.Command{
		Use:       "list " + strings.Join(names, "|"),
		Short:     "Say which locks, services, scenarios, workloads, faults and properties there are",
		ValidArgs: names,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(fmt.Errorf("list what? one of %s", strings.Join(names, ", ")))
			}
			for _, n := range names {
				if n == args[0] {
					return nil
				}
			}
			return usage(fmt.Errorf("there is no list of %q: one of %s%s", args[0], strings.Join(names, ", "), suggest(args[0], names)))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, l := range lists {
				if l.name == args[0] {
					return l.print(cmd.OutOrStdout())
				}
			}
			return nil
		},
	}
}

// table prints rows under a heading, columns aligned.
func table(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 2, 0, 3, ' ', 0)
	for _, row := range rows {
		for i := range row {
			row[i] = harmless.Line(row[i])
		}
		harmless.Fprintln(t, harmless.Safe(strings.Join(row, "\t")))
	}
	return t.Flush()
}

func listLocks(w io.Writer) error {
	rows := [][]string{{"LOCK", "SERVICE", "VALID", "TOKEN", "CONFIRMS", "HOW"}}
	for _, k := range locks() {
		confirms := strings.Join(k.Claims.Confirms, ", ")
		if confirms == "" {
			confirms = "nothing"
		}
		valid := k.Claims.Validity
		if valid == "" {
			valid = "none"
		}
		rows = append(rows, []string{k.Name, k.Service, valid, k.Claims.Token, confirms, described(k)})
	}
	if err := table(w, rows); err != nil {
		return err
	}
	_, err := io.WriteString(w, locksLegend)
	return err
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
`

func listServices(w io.Writer) error {
	rows := [][]string{{"SERVICE", "NODES", "FROM"}}
	for _, k := range backends.Kinds() {
		rows = append(rows, []string{k.Name, fmt.Sprint(len(k.Nodes)), k.About})
	}
	return table(w, rows)
}

func listScenarios(w io.Writer) error {
	suites, err := scenarios.Builtin(catalogue())
	if err != nil {
		return err
	}
	for _, s := range suites {
		harmless.Fprintf(w, "suite %s: %s\n\n", s.Name, s.About)
		rows := [][]string{{"SCENARIO", "EXPECTED", "WHAT"}}
		for _, sc := range s.Scenarios {
			rows = append(rows, []string{sc.Name, expected(sc.Expect), sc.About})
		}
		if err := table(w, rows); err != nil {
			return err
		}
	}
	_, err = harmless.Fprintf(w, "\nsuite %s: drawn from the seed, one scenario for each lock: lockchaos run %s --seed 7\n", randomSuite, randomSuite)
	return err
}

// expected says in a few words what a scenario expects.
func expected(e scenarios.Expect) string {
	switch e.Severity {
	case "none":
		return "pass"
	case "":
		return "see its file"
	}
	return e.Severity
}

func listWorkloads(w io.Writer) error {
	rows := [][]string{{"WORKLOAD", "WHAT EVERY CLIENT DOES, AGAIN AND AGAIN"}}
	for _, k := range harness.Workloads() {
		rows = append(rows, []string{k.Name, k.About})
	}
	return table(w, rows)
}

func listProperties(w io.Writer) error {
	rows := [][]string{{"PROPERTY", "HOLDS WHEN"}}
	for _, p := range checker.Properties() {
		rows = append(rows, []string{p.Name, p.About})
	}
	return table(w, rows)
}
