package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// childLine is one line from the process that runs a scenario to the one that the user started.
type childLine struct {
	Progress *record.Progress `json:"progress,omitempty"`
	Error    string           `json:"error,omitempty"`
}

// RunInside runs one scenario inside its sandbox, from the plan in its folder to its history. carry
// carries it out: harness.Run on the private network, runtimes.RunInside wherever the runtime is.
// It writes its progress, and the error that ends it, to out, for the process that has started it.
func (t *Tool) RunInside(ctx context.Context, dir string, out io.Writer,
	carry func(context.Context, harness.Config) error) error {
	if !hosts.Inside() {
		return exit.Misuse(errors.New("scenario is for lockchaos itself: use `lockchaos run`"))
	}
	lines := json.NewEncoder(out)
	cfg, err := t.inside(dir)
	if err == nil {
		cfg.Progress = func(p record.Progress) { _ = lines.Encode(childLine{Progress: &p}) }
		err = carry(ctx, cfg)
	}
	if err != nil {
		// if nobody listens, nobody is there to be told
		_ = lines.Encode(childLine{Error: err.Error()})
		return exit.With(exit.Failed, nil)
	}
	return nil
}

// inside is what the harness is to do for the plan in a scenario's folder.
func (t *Tool) inside(dir string) (cfg harness.Config, err error) {
	plan, err := scenarios.LoadPlan(filepath.Join(dir, PlanFile), t.Catalogue())
	if err != nil {
		return cfg, err
	}
	kind, err := t.KindOf(&plan.Scenario)
	if err != nil {
		return cfg, err
	}
	return harness.Config{Plan: *plan, Lock: kind, History: filepath.Join(dir, HistoryFile),
			Logs: filepath.Join(dir, reports.LogFolder),
			Versions: []history.Part{{Name: "lockchaos", Version: t.Version},
				{Name: "kernel", Version: hosts.Kernel()}}},
		nil
}

// readChild passes the lines of a scenario's process on, and returns the error that
// it told, if any. What is no such line is part of a crash, and is returned as that.
func readChild(out io.Reader, progress func(record.Progress)) error {
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
