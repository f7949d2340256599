package runtimes

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness"
	"github.com/lockchaos/lockchaos/internal/harness/app"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/docker"
	"github.com/lockchaos/lockchaos/internal/hosts/kubernetes"
	"github.com/lockchaos/lockchaos/internal/hosts/remote"
)

// RunInside carries a plan out inside, wherever outer has started this process: on
// the private network, beside containers or on given servers.
func RunInside(ctx context.Context, cfg harness.Config) error {
	switch {
	case cfg.Plan.Scenario.Own() && !hosts.Agent():
		return fmt.Errorf("%s is about an application in a compose project, or on Kubernetes", cfg.Plan.Scenario.Name)
	case kubernetes.Inside():
		return runPod(ctx, cfg)
	case remote.Given():
		return runRemote(ctx, cfg)
	case hosts.Agent():
		return runAgent(ctx, cfg)
	}
	return harness.Run(ctx, cfg)
}

// runAgent runs a plan beside containers, which outer started.
func runAgent(ctx context.Context, cfg harness.Config) (err error) {
	ctx, joined, err := docker.Join(ctx, os.Stdin, os.Stdout)
	defer func() { err = errors.Join(err, joined.Close()) }()
	if err != nil {
		return err
	}
	if err := healLeftovers(ctx, joined.Nodes, os.Stderr); err != nil {
		return err
	}
	return runApp(ctx, with(cfg, joined.Joined), app.Config{Execute: joined.Exec})
}

// with adds to what a run needs where its agent finds itself.
func with(cfg harness.Config, joined agent.Joined) harness.Config {
	cfg.Network, cfg.Keys, cfg.Attached = joined.Network, joined.Keys, joined.Nodes
	for _, f := range joined.Facts {
		cfg.Versions = append(cfg.Versions, history.Part{Name: f.Name, Version: f.Version})
	}
	return cfg
}

// runApp runs a plan beside nodes that outer has started, or that are an application's:
// own says how its commands are run, and whether its clients are started again.
func runApp(ctx context.Context, cfg harness.Config, own app.Config) error {
	if cfg.Plan.Scenario.Own() {
		own.Plan, own.Attached, own.Logs, own.History, own.Versions, own.Progress = cfg.Plan, cfg.Attached, cfg.Logs,
			cfg.History, cfg.Versions, cfg.Progress
		return app.Run(ctx, own)
	}
	return harness.Run(ctx, cfg)
}
