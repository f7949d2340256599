package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/spelling"
)

const rootHelp = `lockchaos answers one question with evidence: is this distributed lock safe for what I use it for?

It starts real lock services on a private network of its own, drives real client processes that take a lock and write
to a store, freezes the holder as a garbage collection would, records everything, and judges the record.

  lockchaos demo                                  why a lock alone is not enough, in 10 seconds
  lockchaos run                                   the quick suite: 13 scenarios of four locks, in half a minute
  lockchaos run redis-setnx/pause-holder/unfenced one scenario (names: lockchaos list scenarios)
  lockchaos run quick --lock-cmd "python3 lock.py" --service redis
                                                  a lock of your own (begin with: lockchaos adapter new)
  lockchaos exam redlock                          one lock, attacked in every way that its claims invite
  lockchaos check runs/latest/*/history.jsonl     judge saved histories again
  lockchaos witness runs/latest/…/history.jsonl   the few ops that show a violation
  lockchaos gate                                  rule by the policy in lockchaos.yaml (lockchaos init writes one)
  lockchaos explain lease-overrun                 what a word of a verdict means, and what to do
  lockchaos doctor                                what this machine can run, and how to get the rest

Exit status: 0 every scenario met its expectation, 1 a property was violated (or a control was not caught),
2 inconclusive, 3 the harness or a service failed, 64 wrong usage.`

// rootCommand is the whole command.
func rootCommand() *cobra.Command {
	root := bareCommand()
	root.Version = versionText()
	ofVerbs(root)
	root.SetVersionTemplate("lockchaos {{.Version}}\n")
	for _, d := range doors() {
		root.AddGroup(&cobra.Group{ID: d.title, Title: d.title + ":"})
		for _, cmd := range d.verbs {
			cmd.GroupID = d.title
		}
		root.AddCommand(d.verbs...)
		root.SetHelpCommandGroupID(d.title) // the last one's
	}
	complete(root)
	refuseWords(root)
	return root
}

// bareCommand has no verbs but those that lockchaos starts itself as.
func bareCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "lockchaos",
		Short:         "Fault-injection harness and checker for distributed locks",
		Long:          rootHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return exit.Misuse(fmt.Errorf("%w (see `%s --help`)", err, cmd.CommandPath()))
	})
	root.CompletionOptions.DisableDefaultCmd = true // ours says what is wrong
	root.AddCommand(insideCommands()...)
	return root
}

// commandFor is the command for a command line. Each client and each node of a run is a process of
// this program, so what people alone type is not made for them.
func commandFor(args []string) *cobra.Command {
	bare := bareCommand()
	if len(args) > 0 && slices.ContainsFunc(bare.Commands(), func(c *cobra.Command) bool { return c.Name() == args[0] }) {
		refuseWords(bare)
		return bare
	}
	return rootCommand()
}

// door is a reason why people come, and the verbs behind it.
type door struct {
	title string
	verbs []*cobra.Command
}

// doors are those of the README, and what all of them need.
func doors() []door {
	return []door{
		{"I choose a lock", []*cobra.Command{demoCommand(), runCommand(), examCommand(), surveyCommand(),
			sweepCommand()}},
		{"I wrote a lock", []*cobra.Command{adapterCommand(), exploreCommand(), shrinkCommand(), rerunCommand()}},
		{"I guard a CI", []*cobra.Command{initCommand(), gateCommand(), endsAtOnce(trendCommand())}},
		{"I have a production log", []*cobra.Command{endsAtOnce(checkCommand()), watchCommand(),
			endsAtOnce(witnessCommand()), generateCommand()}},
		{"To read what was found", []*cobra.Command{explainCommand(), endsAtOnce(reportCommand()), serveCommand()}},
		{"About lockchaos and this machine", []*cobra.Command{listCommand(), doctorCommand(), probeCommand(), cleanCommand(),
			completionCommand(), manCommand()}},
	}
}

// ofVerbs makes a command print its help, and refuse a word that is none of its verbs.
func ofVerbs(cmd *cobra.Command) {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		word, there := args[0], ""
		if cmd.HasParent() {
			word, there = cmd.Name()+" "+word, fmt.Sprintf(" (there are %s)", strings.Join(verbs(cmd), " and "))
		}
		return exit.Misuse(fmt.Errorf("unknown command %q%s%s", word, suggest(args[0], verbs(cmd)), there))
	}
}

// wordCount refuses any other number of words; text says what the command needs.
func wordCount(least, most int, text string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return exit.Misuse(errors.New(text))
		}
		return nil
	}
}

// noWords refuses any word, which text names by %q.
func noWords(text string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return exit.Misuse(fmt.Errorf(text, args[0]))
		}
		return nil
	}
}

// refuseWords makes words that a command can't take a mistake of the user's.
func refuseWords(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		refuseWords(c)
	}
	check := cmd.Args
	if check == nil {
		return
	}
	cmd.Args = func(c *cobra.Command, args []string) error {
		err := check(c, args)
		if err == nil || exit.Of(err) == exit.Usage {
			return err
		}
		return exit.Misuse(err)
	}
}

// execute runs the command line and returns the exit status.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := commandFor(args)
	root.SetArgs(args)
	errs := harmless.NewWriter(stderr)
	root.SetErr(errs)
	var pipe *outlet
	// a process of a run ends with the run
	if cmd, _, err := root.Find(args); err == nil && !cmd.Hidden {
		ctx, pipe = outlive(ctx, stdout)
		defer pipe.interrupt()
		stdout = pipe
	}
	out := harmless.NewWriter(stdout)
	// the runner obeys commands again after the last word; nobody is left to be
	// told that it was not written
	defer func() { _, _ = errs.Close(), out.Close() }()
	root.SetOut(out)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		// a shell reads it, and a line that begins with a colon means something to it
		root.SetOut(stdout)
	}
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exit.OK
	}
	code := exit.Of(err)
	var s *exit.Status
	if errors.As(err, &s) {
		err = s.Err
	}
	if err != nil && (pipe == nil || !pipe.broken.Load()) { // who has stopped reading knows
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

// suggest returns the known words that come nearest to a mistyped one, as the
// end of an error message.
func suggest(word string, known []string) string { return spelling.Suggest(word, known) }

func join(words []string) string { return strings.Join(words, ", ") }

// outlet is a standard output whose reader may go, as in `lockchaos run | head -1`. The
// kernel would then end the program at once, and what it has made in containers and
// networks would stay. So it is interrupted instead: it heals, records and cleans up.
type outlet struct {
	out       io.Writer
	interrupt context.CancelFunc
	broken    atomic.Bool
}

// errUnread is why a command whose output nobody reads any more is interrupted.
var errUnread = errors.New("nobody reads the output any more")

// endsAtOnce is for a command that only reads what is saved: it has nothing to
// heal, so an interrupt ends it wherever it is. One whose output nobody reads
// comes to its own end and exit status.
func endsAtOnce(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		done := make(chan error, 1)
		crashed := make(chan string, 1)
		go func() {
			defer func() {
				if p := recover(); p != nil { // main tells of it
					crashed <- fmt.Sprintf("%v\n%s", p, debug.Stack())
				}
			}()
			done <- run(cmd, args)
		}()
		interrupted := cmd.Context().Done()
		for {
			select {
			case err := <-done:
				return err
			case p := <-crashed:
				panic(p)
			case <-interrupted:
			}
			if !errors.Is(context.Cause(cmd.Context()), errUnread) {
				return exit.With(exit.Failed, errors.New("interrupted: what it had not written yet is not there"))
			}
			interrupted = nil
		}
	}
	return cmd
}

// outlive returns the context that ends when nobody reads out any more.
func outlive(ctx context.Context, out io.Writer) (context.Context, *outlet) {
	ctx, cancel := context.WithCancelCause(ctx)
	// Not ignored: programs that are started would inherit that. Nobody has to receive it.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	return ctx, &outlet{out: out, interrupt: func() { cancel(errUnread) }}
}

// Under is the output itself, for screen.Wrapper.
func (o *outlet) Under() io.Writer { return o.out }

func (o *outlet) Write(p []byte) (int, error) {
	n, err := o.out.Write(p)
	if errors.Is(err, unix.EPIPE) {
		o.broken.Store(true)
		o.interrupt()
	}
	return n, err
}
