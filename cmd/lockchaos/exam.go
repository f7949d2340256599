package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/redact"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/runtimes"
	"github.com/lockchaos/lockchaos/scenarios"
)

// examFlags are the settings of `lockchaos exam`.
type examFlags struct {
	runFlags
	short   bool
	attacks []string
}

func examCommand() *cobra.Command {
	var f examFlags
	cmd := &cobra.Command{
		Use:   "exam [LOCK]",
		Short: "Attack a lock in every way that its claims invite",
		Long: `Attacks one lock: one that comes with lockchaos, or with --lock-cmd a program of your own in any
language. Each attack aims one fault at one step of one kind of application. Which attacks make
sense follows from the lock's claims and abilities, and from its service. Every time is stretched to
its lease.

At the end each attack has an outcome: the lock stood, it fell to a defect of its own, it fell to
what no lease prevents, or the attack showed nothing. An attack that showed nothing is made again
(--retries), the last time alone.

Exit status: 0 no defect, 1 a defect or a violation that is not clear, 2 an attack that stayed inconclusive, 3 the harness failed.`,
		Example: `  lockchaos exam redlock
  lockchaos exam --lock-cmd "python3 my_lock.py" --service redis
  lockchaos exam etcd-lease --short
  lockchaos exam zookeeper --attack stop-wait,cut-off-wait`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("seed") {
				f.Seed = f.Shard.Seed()
			}
			f.repeat = 1
			f.crowd(cmd.Flags())
			return f.run(cmd.Context(), cmd, args)
		},
	}
	flags := cmd.Flags()
	f.addWhere(flags)
	f.addEffort(flags)
	f.addCompress(flags)
	flags.Uint64Var(&f.Seed, "seed", 0, "seed of every random draw (default: a new one, printed)")
	f.addDryRun(flags)
	f.addShard(flags)
	flags.StringVar(&f.lockCmd, "lock-cmd", "", "command line of a lock of your own (docs/protocol.md)")
	flags.StringVar(&f.service, "service", "", `the service that the lock of --lock-cmd uses (lockchaos list services), or "none"`)
	flags.DurationVar(&f.ttl, "ttl", 0, "lease of the lock (default: that of its scenarios; of --lock-cmd 500ms, etcd and zookeeper 2s)")
	flags.BoolVar(&f.short, "short", false, "make only the most telling attacks, about a third")
	flags.StringSliceVar(&f.attacks, "attack", nil, "make only these attacks")
	f.outputFlags.add(flags)
	return cmd
}

// run examines the lock.
func (f examFlags) run(ctx context.Context, cmd *cobra.Command, words []string) (err error) {
	out, err := f.open(cmd)
	if err != nil {
		return err
	}
	defer func() { err = out.Annotate(err) }()
	if f.lockCmd, err = redact.Command(f.lockCmd); err != nil {
		return exit.Misuse(fmt.Errorf("--lock-cmd: %w", err))
	}
	if err := f.check(words); err != nil {
		return err
	}
	plans, exam, err := f.plans(ctx, words, out.Say)
	if err != nil {
		return err
	}
	if err := runs.WithoutSecrets(plans); err != nil {
		return err
	}
	if err := f.Shard.Cut(plans, func(i int) time.Duration { return scenarios.LengthOf(plans[i]) }); err != nil {
		return err
	}
	part := f.Shard.Part(plans)
	name := "exam of " + exam.Lock
	if f.dry {
		return dryRun(cmd.OutOrStdout(), name, part, f.runFlags)
	}
	where, err := runtimes.Choose(ctx, f.runFlags.Where, kindOf, part, out.Say)
	if err != nil {
		return err
	}
	if f.Runtime == runtimes.Compose {
		f.Parallel = 1
	}
	s := &runs.Run{Settings: f.complete(), Where: where, Name: name, About: "every attack that the lock's claims invite", Plans: plans, Command: f.commandLine(words),
		Screen: out, Exam: exam}
	return errors.Join(s.Do(ctx), where.Close())
}

// check refuses what makes no sense.
func (f examFlags) check(words []string) error {
	if err := f.checkWhere(); err != nil {
		return err
	}
	switch {
	case (len(words) == 0) == (f.lockCmd == ""):
		return exit.Misuse(errors.New("name one lock (lockchaos list locks), or give --lock-cmd and --service for one of your own"))
	case f.lockCmd == "" && f.service != "":
		return exit.Misuse(errors.New("--service is for the lock of --lock-cmd"))
	case f.lockCmd != "":
		return f.ownLock()
	}
	return checkTTL(f.ttl)
}

// plans are the attacks on the lock, and what there is to say of those that are none.
func (f examFlags) plans(ctx context.Context, words []string, say func(string)) (plans []scenarios.Plan, exam *reports.Exam, err error) {
	table, err := f.table()
	if err != nil {
		return nil, nil, exit.Misuse(fmt.Errorf("--attack: %w", err))
	}
	lock, err := f.examinee(ctx, words, say)
	if err != nil {
		return nil, nil, exit.Misuse(err)
	}
	can, err := possibleFaults(ctx, f.runFlags, say)
	if err != nil {
		return nil, nil, err
	}
	all, not, err := f.attacksOn(lock, table, can)
	if err != nil {
		return nil, nil, err
	}
	exam = reports.ExamOf(lock.Base.Lock, not)
	exam.Short = f.short
	for _, s := range all {
		plans = append(plans, scenarios.Plan{Seed: f.Seed, Scenario: s})
	}
	return plans, exam, nil
}

// attacksOn are the attacks of the table that can be made on the lock with the kinds of faults that can be done here, and the others with
// the reason.
func (f examFlags) attacksOn(lock scenarios.Examinee, table scenarios.Exam, can map[string]bool) ([]scenarios.Scenario,
	[]scenarios.Inapplicable, error) {
	lock.Fits = f.fitting(can, lock.Fits)
	all, not := table.Of(lock)
	if len(all) == 0 {
		return nil, nil, exit.Misuse(fmt.Errorf("none of these attacks makes sense against %s: %s", lock.Base.Lock, not[0].Why))
	}
	return all, not, nil
}

// table is the table of attacks, as far as the flags want it.
func (f examFlags) table() (scenarios.Exam, error) {
	table, err := scenarios.Attacks()
	if err != nil {
		return table, err
	}
	return table.Only(f.short, f.attacks)
}

// examinee is the lock as the table of attacks sees it.
func (f examFlags) examinee(ctx context.Context, words []string, say func(string)) (scenarios.Examinee, error) {
	if f.lockCmd != "" {
		own, err := f.meet(ctx, say)
		if err != nil {
			return scenarios.Examinee{}, err
		}
		return own.examinee(), nil
	}
	return builtinExaminee(words[0], f.ttl)
}

// builtinExaminee is a lock that comes with lockchaos. ttl 0: that of its scenarios.
func builtinExaminee(name string, ttl time.Duration) (scenarios.Examinee, error) {
	k, err := lockKind(name)
	if err != nil {
		return scenarios.Examinee{}, fmt.Errorf("%w%s (lockchaos list locks)", err, suggest(name, catalogue().Locks))
	}
	if k.Claims.Permits == 0 {
		return scenarios.Examinee{}, fmt.Errorf("%s is no lock, so there is nothing to attack: %s", k.Name, k.About)
	}
	suites, err := scenarios.Builtin(catalogue())
	if err != nil {
		return scenarios.Examinee{}, err
	}
	base, ok := undisturbed(suites, k.Name)
	if !ok {
		base.TTL = max(usualTTL(k.Service), examTTL)
	}
	if ttl > 0 {
		base.TTL = scenarios.Duration(ttl)
	}
	base.Lock = k.Name
	base.Store = scenarios.Store{Kind: "unfenced"}
	if k.Writes == "guarded" {
		base.Store.Kind = k.Writes
	}
	return harness.Examinee(k, base), nil
}

// examTTL is the lease of a lock of which nothing else is known.
const examTTL = scenarios.Duration(500 * time.Millisecond)

// examinee is the user's own lock.
func (l *ownLock) examinee() scenarios.Examinee {
	base := scenarios.Scenario{Lock: l.name, Adapter: l.adapter, TTL: l.ttl, Store: scenarios.Store{Kind: "unfenced"}}
	if base.TTL == 0 {
		base.TTL = examTTL
	}
	e := harness.Examinee(l.kind(), base)
	for op, ability := range map[string]scenarios.Ability{adapter.OpRenew: scenarios.CanRenew, adapter.OpHeld: scenarios.CanBeAsked} {
		if l.says.Does(op) && !slices.Contains(e.Abilities, ability) {
			e.Abilities = append(e.Abilities, ability)
		}
	}
	return e
}

// commandLine is what the user would type to have the same again.
func (f examFlags) commandLine(words []string) string {
	line := append([]string{os.Args[0], "exam"}, words...)
	line = append(line, "--seed", strconv.FormatUint(f.Seed, 10))
	line = append(line, f.lockWords()...)
	if f.short {
		line = append(line, "--short")
	}
	if len(f.attacks) > 0 {
		line = append(line, "--attack", strings.Join(f.attacks, ","))
	}
	return reports.Shell(append(append(line, f.whereWords()...), f.Shard.Words()...)...)
}
