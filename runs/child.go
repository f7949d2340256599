package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/hosts/remote"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/runtimes"
	"github.com/lockchaos/lockchaos/scenarios"
)

// childLine is one line from the process that runs a scenario to the one that the user started.
type childLine struct {
	Progress *harness.Progress `json:"progress,omitempty"`
	Error    string            `json:"error,omitempty"`
}

// RunInside runs one scenario inside its sandbox, from the plan in its folder to its history. It
// writes its progress, and the error that ends it, to out, for the process that has started it.
func (t *Tool) RunInside(ctx context.Context, dir string, out io.Writer) error {
	if !hosts.Inside() {
		return exit.Misuse(errors.New("scenario is for lockchaos itself: use `lockchaos run`"))
	}
	lines := json.NewEncoder(out)
	err := t.runPlan(ctx, dir, func(p harness.Progress) { _ = lines.Encode(childLine{Progress: &p}) })
	if err != nil {
		_ = lines.Encode(childLine{Error: err.Error()}) // if nobody listens, nobody is there to be told
		return exit.With(exit.Failed, nil)
	}
	return nil
}

// runPlan runs the plan in a scenario's folder on the hosts of this sandbox, of containers, or of
// given servers.
func (t *Tool) runPlan(ctx context.Context, dir string, progress func(harness.Progress)) error {
	plan, err := scenarios.LoadPlan(filepath.Join(dir, PlanFile), t.Catalogue())
	if err != nil {
		return err
	}
	kind, err := t.KindOf(&plan.Scenario)
	if err != nil {
		return err
	}
	cfg := harness.Config{Plan: *plan, Lock: kind, History: filepath.Join(dir, HistoryFile), Logs: filepath.Join(dir, reports.LogFolder), Progress: progress,
		Versions: []history.Part{{Name: "lockchaos", Version: t.Version}, {Name: "kernel", Version: hosts.Kernel()}}}
	switch {
	case plan.Scenario.Own() && !hosts.Agent():
		return fmt.Errorf("%s is about an application in a compose project", plan.Scenario.Name)
	case remote.Given():
		return runtimes.RunRemote(ctx, cfg)
	case hosts.Agent():
		return runtimes.RunAgent(ctx, cfg)
	}
	return harness.Run(ctx, cfg)
}

// readChild passes the lines of a scenario's process on, and returns the error that it told, if any. What is no such line is
// part of a crash, and is returned as that.
func readChild(out io.Reader, progress func(harness.Progress)) error {
	var told error
	d := json.NewDecoder(out)
	for {
		var line childLine
		err := d.Decode(&line)
		switch {
		case errors.Is(err, io.EOF):
			return told
		case err != nil:
			rest, _ := io.ReadAll(io.LimitReader(io.MultiReader(d.Buffered(), out), 4096))
			_, _ = io.Copy(io.Discard, out)
			return errors.Join(told, fmt.Errorf("unexpected output of the scenario's process: %.500q", rest))
		case line.Error != "":
			told = errors.New(line.Error)
		case line.Progress != nil:
			progress(*line.Progress)
		}
	}
}
