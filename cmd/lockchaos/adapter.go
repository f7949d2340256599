package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/adapter/skeleton"
	"github.com/lockchaos/lockchaos/clients/shell"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/own"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/internal/strictyaml"
	"github.com/lockchaos/lockchaos/reports"
)

const adapterHelp = `A lock in any language is tested through an adapter: a small program that speaks JSON lines on its standard input and output
(docs/protocol.md). lockchaos starts one for each client, on the client's host, so that faults hit it as they hit built-in locks.

  lockchaos adapter new --lang python --dir my-lock                       a skeleton: a complete lock, with comments
  lockchaos adapter test "python3 my-lock/lock.py" --service redis        what is missing or wrong, with the exchange that shows it
  lockchaos run quick --lock-cmd "python3 my-lock/lock.py" --service redis   is it safe?

A scheduler and an election are programs of the same kind (docs/jobs.md): --kind job, --kind leader.`

func adapterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "adapter",
		Short: "Bring a lock of your own, in any language",
		Long:  adapterHelp,
	}
	ofVerbs(cmd)
	cmd.AddCommand(adapterTestCommand(), adapterNewCommand())
	return cmd
}

func adapterTestCommand() *cobra.Command {
	var service, format, kind string
	var ttl, every time.Duration
	var commands shell.Commands
	cmd := &cobra.Command{
		Use:   "test COMMAND|--acquire … --service SERVICE",
		Short: "Try an adapter on its real service, and tell what is missing or wrong",
		Long: `Starts the service on a private network, and several of the adapter as clients, and goes through what the protocol demands, in order. What is
missing or wrong is told with the exchange that shows it. Whether the lock is safe is another question: lockchaos run --lock-cmd.

Exit status: 0 nothing is wrong, 1 something is, 3 the adapter broke the protocol, or the service failed, 64 wrong usage.`,
		Example: `  lockchaos adapter test "python3 my-lock/lock.py" --service redis
  lockchaos adapter test "java -jar lock.jar" --service zookeeper --ttl 4s`,
		RunE: func(cmd *cobra.Command, args []string) error {
			command, err := adapterLine(args, commands)
			if err != nil {
				return err
			}
			a, err := own.Adapter(command, service)
			if err != nil {
				return err
			}
			if format != screen.Text && format != screen.GitHub {
				return exit.Misuse(fmt.Errorf("unknown --format %q (there are %s, %s)", format, screen.Text,
					screen.GitHub))
			}
			if err := errors.Join(checkTTL(ttl), checkEvery(every), checkKind(kind)); err != nil {
				return err
			}
			if every != 0 && kind != adapter.KindJob {
				return exit.Misuse(errors.New("--every is for a scheduler: --kind job"))
			}
			told := outputFlags{format: format}
			out, err := told.open(cmd)
			if err != nil {
				return err
			}
			err = own.Trial{Adapter: a, TTL: ttl, Kind: kind, Every: every}.Outside(cmd.Context(), out.Final, cmd.ErrOrStderr())
			var ended *exec.ExitError
			if errors.As(err, &ended) && slices.Contains([]int{exit.Violated, exit.Failed, exit.Usage},
				ended.ExitCode()) {
				wrong := fmt.Errorf("%s does not pass lockchaos adapter test: the log of this step says why", a.Command)
				_ = out.Annotate(wrong)                 // for GitHub alone
				return exit.With(ended.ExitCode(), nil) // it has said why
			}
			return out.Annotate(err)
		},
	}
	addCommands(cmd.Flags(), &commands)
	cmd.Flags().StringVar(&service, "service", "",
		`the service that the lock uses (lockchaos list services), or "none"`)
	cmd.Flags().DurationVar(&ttl, "ttl", 0,
		"TTL that the lock is opened with (default: its lease where that cannot be set, else 1s; etcd, zookeeper 2s)")
	addKind(cmd, &kind)
	cmd.Flags().DurationVar(&every, "every", 0, "period of a scheduler's job (default: half its lease)")
	cmd.Flags().StringVar(&format, "format", screen.Text,
		`"text"; "github", text during which GitHub's runner takes no line for a command, and an annotation of a failure`)
	return cmd
}

// adapterLine is the command line of the adapter that is to be tried.
func adapterLine(args []string, commands shell.Commands) (string, error) {
	switch {
	case commands.Given() && len(args) > 0:
		return "", exit.Misuse(errors.New("an adapter's command line, or --acquire: one lock, not both"))
	case commands.Given():
		if err := commands.Change(redact.Command); err != nil {
			return "", exit.Misuse(err)
		}
		return own.ShellLine(commands), checkShell(commands)
	case len(args) != 1 || strings.TrimSpace(args[0]) == "":
		return "", exit.Misuse(errors.New("give the adapter's command line as one word: lockchaos adapter test \"python3 lock.py\" --service redis"))
	}
	return args[0], nil
}

func adapterNewCommand() *cobra.Command {
	var lang, dir, kind string
	var names []string
	for _, l := range skeleton.Languages() {
		names = append(names, l.Name)
	}
	cmd := &cobra.Command{
		Use:   "new --lang " + strings.Join(names, "|") + " --dir DIR",
		Short: "Write an adapter to begin with",
		Long: `Writes a complete lock on one Redis server, in one commented file that needs no library, for you to put your own lock in its place. It passes
lockchaos adapter test as it is. With --kind job it is a scheduler, with --kind leader an election.`,
		Example: `  lockchaos adapter new --lang python --dir my-lock
  lockchaos adapter new --kind job --lang go --dir my-scheduler`,
		Args: noWords("unexpected word %q: the language is --lang, the folder is --dir"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, known := skeleton.Lookup(lang)
			switch {
			case lang == "":
				return exit.Misuse(fmt.Errorf("in which language? --lang, one of %s", join(names)))
			case !known:
				return exit.Misuse(fmt.Errorf("there is no skeleton in %q%s (there are %s); the protocol is docs/protocol.md", lang, suggest(lang, names), join(names)))
			case dir == "":
				return exit.Misuse(errors.New("where to? --dir, a folder; it is made if it is not there"))
			}
			if err := checkKind(kind); err != nil {
				return err
			}
			l = l.Of(kind)
			if err := skeleton.Write(l, dir); err != nil {
				return err
			}
			command := skeleton.In(dir, l.Command, reports.Shell)
			if err := skeleton.WriteSuite(dir, kind, command, strictyaml.SchemaLine("suite")); err != nil {
				return err
			}
			suite := filepath.Join(dir, skeleton.SuiteFile)
			harmless.Fprintf(cmd.OutOrStdout(), "wrote %s\nwrote %s\n\nnext:\n", filepath.Join(dir, l.File), suite)
			if l.Build != "" {
				harmless.Fprintf(cmd.OutOrStdout(), "  (cd %s && %s)    # build it\n", reports.Shell(dir), l.Build)
			}
			harmless.Fprintf(cmd.OutOrStdout(), nextSteps(kind), os.Args[0], reports.Shell(command), reports.Shell(suite))
			return nil
		},
	}
	cmd.Flags().StringVar(&lang, "lang", "", "the language: "+join(names))
	cmd.Flags().StringVar(&dir, "dir", "", "the folder to write to")
	addKind(cmd, &kind)
	return cmd
}

// nextSteps is what to do with a new adapter of the kind: a format of this program, the adapter's
// command line and its scenarios.
func nextSteps(kind string) string {
	const suite = "  %[1]s run %[3]s    # scenarios of its own, to be changed\n"
	switch kind {
	case adapter.KindJob:
		return "  %[1]s adapter test %[2]s --kind job --service redis    # what is missing or wrong\n" +
			"  %[1]s exam --job-cmd %[2]s --service redis    # is every tick executed once?\n" + suite
	case adapter.KindLeader:
		return "  %[1]s adapter test %[2]s --kind leader --service redis    # what is missing or wrong\n" +
			"  %[1]s exam --leader-cmd %[2]s --service redis    # is there one leader at a time?\n" + suite
	}
	return "  %[1]s adapter test %[2]s --service redis    # what is missing or wrong\n" +
		"  %[1]s run quick --lock-cmd %[2]s --service redis --inherent    # is anything wrong that no lease excuses?\n" + suite
}

// addKind adds the flag that says what an adapter is.
func addKind(cmd *cobra.Command, kind *string) {
	cmd.Flags().StringVar(kind, "kind", "", `what the adapter is: "job", an instance of a scheduler; "leader", a candidate for leadership (default: a lock)`)
}

// checkKind refuses an unknown --kind.
func checkKind(kind string) error {
	kinds := []string{adapter.KindJob, adapter.KindLeader}
	if kind != "" && !slices.Contains(kinds, kind) {
		return exit.Misuse(fmt.Errorf("unknown --kind %q%s (there are %s)", kind, suggest(kind, kinds), join(kinds)))
	}
	return nil
}
