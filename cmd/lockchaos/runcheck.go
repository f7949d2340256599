package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lockchaos/lockchaos/internal/policy"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/pick"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
)

// checkScale refuses a scale that there is not, and remembers the one that there is.
func (f *runFlags) checkScale() error {
	if f.scale != scaleTest && f.scale != scaleReal {
		return exit.Misuse(fmt.Errorf("unknown --scale %q: test or real", f.scale))
	}
	f.Real = f.scale == scaleReal
	return nil
}

// checkWhere refuses what makes no sense of these.
func (f *runFlags) checkWhere() error {
	if !slices.Contains(runtimes.Names(), f.Runtime) {
		return exit.Misuse(fmt.Errorf("unknown runtime %q%s (there are %s)", f.Runtime,
			suggest(f.Runtime, runtimes.Names()), strings.Join(runtimes.Names(), ", ")))
	}
	var err error
	if f.FailoverCmd, err = redact.Command(f.FailoverCmd); err != nil {
		return exit.Misuse(fmt.Errorf("--failover-cmd: %w", err))
	}
	if err := lackingPassword("--failover-cmd", f.FailoverCmd); err != nil {
		return err
	}
	if f.FailoverCmd != "" {
		f.Parallel = 1 // who else uses the service at that time would be struck, too, and not know it
	}
	if f.Parallel < 1 {
		return exit.Misuse(fmt.Errorf("--parallel %d: at least one scenario must run", f.Parallel))
	}
	if f.Retries < 0 || f.Retries > policy.MostRetries {
		return exit.Misuse(fmt.Errorf("--retries %d: what came to nothing is run again 0 to %d times", f.Retries,
			policy.MostRetries))
	}
	return f.then.Check(f.Runtime, f.repeat > 1 || f.until != "")
}

// checkDry refuses a list of scenarios as JSON, which there is only of attacks.
func (f *runFlags) checkDry() error {
	if f.dry && f.format == screen.JSON {
		return exit.Misuse(errors.New("--dry-run is told as text: give no --format json beside it"))
	}
	return nil
}

// check refuses what makes no sense of the flags of `lockchaos run`.
func (f *runFlags) check(given *pflag.FlagSet) error {
	if err := f.checkWhere(); err != nil {
		return err
	}
	if given.Changed("duration") && f.Duration <= 0 {
		return exit.Misuse(fmt.Errorf("--duration %v: a workload must last longer than 0", f.Duration))
	}
	if err := f.checkScale(); err != nil {
		return err
	}
	return errors.Join(f.checkDry(), f.checkShards(), f.repeatFlags.check(f.Shard.Total > 0), f.checkOwn(), f.Only.Check(catalogue()),
		f.checkInherent(), f.checkNames())
}

// checkNames refuses names and choices of locks that do not go together.
func (f *runFlags) checkNames() error {
	random := f.Random()
	switch {
	case f.Only.LastFailed || f.Plan != "":
		return f.checkSaved()
	case random && f.Own.Given() && len(f.Locks) > 0:
		return exit.Misuse(errors.New("--locks chooses among the locks of lockchaos: give no --lock-cmd beside it"))
	case random && len(f.Only.Words()) > 0:
		return exit.Misuse(fmt.Errorf("suite %s is drawn for each lock: --locks chooses them, and --lock and --fault are for other suites", pick.Random))
	case !random && (len(f.Locks) > 0 || slices.Contains(f.Names, pick.Random)):
		return exit.Misuse(fmt.Errorf("suite %s is drawn, and --locks is for it alone: give no other names beside it",
			pick.Random))
	}
	return nil
}

// checkSaved refuses what a saved plan has in it already.
func (f *runFlags) checkSaved() error {
	switch {
	case f.Only.LastFailed && (f.Plan != "" || f.Own.Given() || len(f.Locks) > 0):
		return exit.Misuse(errors.New("--last-failed runs saved plans, which have their locks: give no --plan, --lock-cmd or --locks beside it"))
	case !f.Only.LastFailed && len(f.Names)+len(f.Locks) > 0:
		return exit.Misuse(errors.New("--plan runs a saved plan: give no names beside it"))
	}
	return nil
}

// checkInherent refuses --inherent where something else says what is expected.
func (f *runFlags) checkInherent() error {
	switch {
	case !f.Inherent:
		return nil
	case f.NoExpect:
		return exit.Misuse(errors.New("--inherent says what is expected: give no --no-expect beside it"))
	case f.Plan != "" || f.Only.LastFailed:
		return exit.Misuse(errors.New("a saved plan has its expectation in it: give no --inherent beside --plan or --last-failed"))
	case f.Random():
		return exit.Misuse(fmt.Errorf("suite %s expects what theory allows each lock under its faults: --inherent is for other suites", pick.Random))
	}
	return nil
}
