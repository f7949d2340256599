package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/redact"
	"github.com/lockchaos/lockchaos/spelling"
)

// version is the version of lockchaos itself.
const version = "0.1.0-dev"

// The exit statuses that the command promises.
const (
	exitOK           = 0
	exitViolated     = 1
	exitInconclusive = 2
	exitFailed       = 3
	exitUsage        = 64
)

// status is an error that carries the exit status. Its text, if any, is printed.
type status struct {
	code int
	err  error
}

func (s *status) Error() string {
	if s.err == nil {
		return fmt.Sprintf("exit status %d", s.code)
	}
	return s.err.Error()
}

func (s *status) Unwrap() error { return s.err }

// usage marks an error as the user's: wrong words on the command line, or a wrong file.
func usage(err error) error { return &status{exitUsage, err} }

const rootHelp = `lockchaos answers one question with evidence: is this distributed lock safe for what I use it for?

It starts real lock services on a private network of its own, drives real client processes that take a lock and write
to a store, freezes the holder as a garbage collection would, records everything, and judges the record.

  lockchaos run                                   the quick suite: every lock, with and without faults, in a minute
  lockchaos run redis-setnx/pause-holder/unfenced one scenario (names: lockchaos list scenarios)
  lockchaos check runs/latest/*/history.jsonl     judge saved histories again
  lockchaos witness runs/latest/…/history.jsonl   the few ops that show a violation
  lockchaos doctor                                what this machine can run, and how to get the rest

Exit status: 0 every scenario met its expectation, 1 a property was violated (or a control was not caught),
2 inconclusive, 3 the harness or a service failed, 64 wrong usage.`

// rootCommand is the whole command.
func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "lockchaos",
		Short:         "Fault-injection harness and checker for distributed locks",
		Long:          rootHelp,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return usage(fmt.Errorf("unknown command %q%s", args[0], suggest(args[0], verbs(cmd))))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(fmt.Errorf("%w (see `%s --help`)", err, cmd.CommandPath()))
	})
	root.SetVersionTemplate("lockchaos {{.Version}}\n")
	root.CompletionOptions.DisableDefaultCmd = true // ours says what is wrong
	root.AddCommand(runCommand(), gateCommand(), initCommand(), rerunCommand(), shrinkCommand(), sweepCommand(), serveCommand(), checkCommand(), witnessCommand(), generateCommand(), reportCommand(), listCommand(), doctorCommand(), cleanCommand(), adapterCommand(), completionCommand(), manCommand(), workerCommand(), nodeCommand(), probeCommand(), insideCommand(), scenarioCommand())
	complete(root)
	return root
}

// execute runs the command line and returns the exit status.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	out, errs := harmless.NewWriter(stdout), harmless.NewWriter(stderr)
	defer func() { _, _ = errs.Close(), out.Close() }() // the runner obeys commands again after the last word; nobody is left to be told that it was not written
	root.SetOut(out)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		root.SetOut(stdout) // a shell reads it, and a line that begins with a colon means something to it
	}
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code := exitOf(err)
	var s *status
	if errors.As(err, &s) {
		err = s.err
	}
	if err != nil {
		harmless.Fprintln(errs, "lockchaos:", harmless.Block(redact.Text(err.Error()), "  "))
	}
	return code
}

func verbs(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

// suggest returns the known words that come nearest to a mistyped one, as the end of an error message.
func suggest(word string, known []string) string { return spelling.Suggest(word, known) }
