package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/screen"
)

func formats() []string { return []string{screen.Text, screen.JSON, screen.GitHub} }

// outputFlags say in which form a run is told.
type outputFlags struct {
	format         string
	json           bool
	quiet, verbose bool
}

func (f *outputFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.format, "format", screen.Text, `"text"; "json", one object a line (docs/schema/progress.json); "github", text with annotations and, in $`+screen.SummaryVar+`, a job summary`)
	flags.BoolVar(&f.json, "json", false, "the same as --format json")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print nothing while it runs, and at the end only what needs attention (and a gate's ruling)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print each phase of each scenario, and each property's outcome")
}

// check completes the flags and refuses what makes no sense.
func (f *outputFlags) check() error {
	if f.json {
		if f.format != screen.Text && f.format != screen.JSON {
			return exit.Misuse(fmt.Errorf("--json is --format json: give no --format %s beside it", f.format))
		}
		f.format = screen.JSON
	}
	known := false
	for _, name := range formats() {
		known = known || name == f.format
	}
	if !known {
		return exit.Misuse(fmt.Errorf("unknown --format %q%s (there are %s)", f.format, suggest(f.format, formats()), join(formats())))
	}
	if f.quiet && f.verbose {
		return exit.Misuse(errors.New("--quiet or --verbose, not both"))
	}
	return nil
}

// open makes the screen that the flags ask for.
func (f *outputFlags) open(cmd *cobra.Command) (*screen.Screen, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return screen.Open(cmd.OutOrStdout(), f.format, f.quiet, f.verbose)
}
