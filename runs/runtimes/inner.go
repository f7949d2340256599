package runtimes

import (
	"context"
	"errors"
	"os"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/hosts/docker"
)

// RunAgent runs a plan beside containers, which outer started.
func RunAgent(ctx context.Context, cfg harness.Config) (err error) {
	ctx, joined, err := docker.Join(ctx, os.Stdin, os.Stdout)
	defer func() { err = errors.Join(err, joined.Close()) }()
	if err != nil {
		return err
	}
	if err := sweep(ctx, joined.Nodes, os.Stderr); err != nil {
		return err
	}
	cfg.Network, cfg.Keys = joined.Network, joined.Keys
	for _, n := range joined.Nodes {
		cfg.Attached = append(cfg.Attached, backends.Attached{Name: n.Name, Host: n.Host, Process: n.Process})
	}
	for _, f := range joined.Facts {
		cfg.Versions = append(cfg.Versions, history.Part{Name: f.Name, Version: f.Version})
	}
	if cfg.Plan.Scenario.Own() {
		return harness.RunApp(ctx, harness.AppConfig{Plan: cfg.Plan, Attached: cfg.Attached, Logs: cfg.Logs, History: cfg.History, Versions: cfg.Versions, Progress: cfg.Progress,
			Execute: joined.Exec})
	}
	return harness.Run(ctx, cfg)
}
