package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/hosts/remote"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/runtimes"
	"github.com/lockchaos/lockchaos/scenarios"
)

// scenarioCommand is what the command runs as inside each sandbox: one scenario, from its plan to its history.
func scenarioCommand() *cobra.Command {
	return &cobra.Command{
		Use:    runtimes.ScenarioVerb + " DIR",
		Short:  "Run the plan in a folder (inside a sandbox)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !hosts.Inside() {
				return exit.Misuse(errors.New("scenario is for lockchaos itself: use `lockchaos run`"))
			}
			lines := json.NewEncoder(cmd.OutOrStdout())
			err := runPlan(cmd, args[0], lines)
			if err != nil {
				_ = lines.Encode(runs.ChildLine{Error: err.Error()}) // if nobody listens, nobody is there to be told
				return exit.With(exit.Failed, nil)
			}
			return nil
		},
	}
}

func runPlan(cmd *cobra.Command, dir string, lines *json.Encoder) error {
	plan, err := scenarios.LoadPlan(filepath.Join(dir, runs.PlanFile), catalogue())
	if err != nil {
		return err
	}
	kind, err := kindOf(&plan.Scenario)
	if err != nil {
		return err
	}
	cfg := harness.Config{
		Plan: *plan, Lock: kind, History: filepath.Join(dir, runs.HistoryFile), Logs: filepath.Join(dir, reports.LogFolder),
		Versions: ownVersions(),
		Progress: func(p harness.Progress) { _ = lines.Encode(runs.ChildLine{Progress: &p}) },
	}
	if plan.Scenario.Own() && !hosts.Agent() {
		return fmt.Errorf("%s is about an application in a compose project", plan.Scenario.Name)
	}
	if remote.Given() {
		return runtimes.RunRemote(cmd.Context(), cfg)
	}
	if !hosts.Agent() {
		return harness.Run(cmd.Context(), cfg)
	}
	return runtimes.RunAgent(cmd.Context(), cfg)
}

// ownVersions names the parts that are not services.
func ownVersions() []history.Part {
	return []history.Part{{Name: "lockchaos", Version: version}, {Name: "kernel", Version: hosts.Kernel()}}
}

func workerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "worker",
		Short:  "Be a client: take commands from the harness",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return harness.Work(cmd.Context(), os.Stdin, os.Stdout, workerLocks())
		},
	}
}
