package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients/shell"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/scenarios"
)

// addOwn adds the flags of every command that takes a lock of the user's own.
func (f *runFlags) addOwn(flags *pflag.FlagSet, command, ttl string) {
	flags.StringVar(&f.Own.Command, lockFlag, "", command)
	flags.StringVar(&f.Own.Go, "lock-go", "",
		"folder of a Go package that is an adapter: lockchaos compiles it, for --runtime sim too (docs/simulation.md)")
	addCommands(flags, &f.Own.Shell)
	flags.StringVar(&f.Own.Service, "service", "",
		`the service that the lock of --lock-cmd or --acquire uses (lockchaos list services), or "none"`)
	flags.DurationVar(&f.Own.TTL, "ttl", 0, ttl)
}

// addJobs adds the flags of the commands that take a scheduler of the user's own.
func (f *runFlags) addJobs(flags *pflag.FlagSet) {
	flags.StringVar(&f.jobCmd, jobFlag, "", "command line of a scheduler of your own (docs/jobs.md), in the place of --lock-cmd")
	flags.StringVar(&f.leaderCmd, leaderFlag, "", "command line of a candidate for leadership of your own (docs/jobs.md), in the place of --lock-cmd")
	flags.DurationVar(&f.Own.Every, "every", 0, "period of a scheduler's job (default: half its lease, which is 1s; or --ttl)")
}

// addCommands adds the flags of a lock that is made of shell commands (docs/shell.md).
func addCommands(flags *pflag.FlagSet, c *shell.Commands) {
	flags.StringVar(&c.Acquire, shell.AcquireFlag, "",
		"a lock of shell commands (docs/shell.md): takes $LOCKCHAOS_KEY; exit status 0 granted, 1 another holds it. "+
			"Without --release it prints a line when granted, and runs for as long as it holds")
	flags.StringVar(&c.Release, shell.ReleaseFlag, "",
		"of --acquire: gives the key back; exit status 0 given back, 1 it was no longer ours")
	flags.StringVar(&c.Renew, shell.RenewFlag, "",
		"of --acquire: starts the lease anew; exit status 0 renewed, 1 it was no longer ours")
	flags.StringVar(&c.Held, shell.HeldFlag, "",
		"of --acquire: asks whether the key is still ours; exit status 0 it is, 1 it is not")
	flags.StringVar(&c.Declare, shell.DeclareFlag, "",
		`of --acquire: what the lock promises, in the words of docs/protocol.md, such as {"name":"flock","no_expiry":true}`)
}

// withoutPasswords takes the passwords out of the command line of a lock of the
// user's own, which is saved, and shown, with the plans.
func (f *runFlags) withoutPasswords() (err error) {
	if f.Own.Command, err = redact.Command(f.Own.Command); err != nil {
		return exit.Misuse(fmt.Errorf("%s: %w", f.commandFlag(), err))
	}
	if err := f.Own.Shell.Change(redact.Command); err != nil {
		return exit.Misuse(err)
	}
	for _, command := range append(f.Own.Shell.Words(), f.Own.Command) {
		if err := lackingPassword(f.commandFlag(), command); err != nil {
			return err
		}
	}
	return nil
}

// lackingPassword refuses the command of a flag that refers to a password which is not there.
func lackingPassword(flag, command string) error {
	if lacking := redact.Lacking(command); lacking != "" {
		return exit.Misuse(fmt.Errorf("%s: %s is not set in the environment: it is the password that the command line had, which was not saved", flag, lacking))
	}
	return nil
}

// checkOwn checks the flags about a lock of the user's own.
func (f *runFlags) checkOwn() error {
	if err := f.takeKind(); err != nil {
		return err
	}
	if err := f.withoutPasswords(); err != nil {
		return err
	}
	if f.Own.Go != "" && f.Own.Service == "" {
		f.Own.Service = "redis"
	}
	program := f.Own.Command != "" || f.Own.Shell.Given()
	switch {
	case f.Own.Go != "" && program || f.Own.Command != "" && f.Own.Shell.Given():
		return exit.Misuse(errors.New("--lock-cmd, --lock-go or --acquire: one lock of your own, not several"))
	case program && f.Runtime == runtimes.Virtual:
		return exit.Misuse(errors.New("the simulation compiles the lock: give --lock-go DIR, the folder of its Go package, in the place of --lock-cmd or --acquire"))
	case !f.Own.Given() && (f.Own.Service != "" || f.Own.TTL != 0):
		return exit.Misuse(errors.New("--service and --ttl are for the lock of --lock-cmd or --acquire"))
	case f.Own.Given() && f.Plan != "":
		return exit.Misuse(errors.New("--plan runs a saved plan, which has its lock: give no --lock-cmd beside it"))
	case f.Own.Given() && !f.Here() && f.Runtime != runtimes.Auto:
		return runtimes.OnlyHere("--lock-cmd", f.Runtime)
	}
	return errors.Join(checkShell(f.Own.Shell), checkTTL(f.Own.TTL), checkEvery(f.Own.Every))
}

// takeKind takes the program of --job-cmd or --leader-cmd for the one of the user's own.
func (f *runFlags) takeKind() error {
	for _, k := range []struct {
		command    *string
		flag, kind string
	}{{&f.jobCmd, jobFlag, adapter.KindJob}, {&f.leaderCmd, leaderFlag, adapter.KindLeader}} {
		switch {
		case *k.command == "":
		case f.Own.Given():
			return exit.Misuse(fmt.Errorf("--%s, or another program of your own: not both", k.flag))
		default:
			f.Own.Kind, f.Own.Command, *k.command = k.kind, *k.command, ""
		}
	}
	if f.Own.Every != 0 && f.Own.Given() && f.Own.Kind != adapter.KindJob {
		return exit.Misuse(errors.New("--every is for a scheduler: --job-cmd"))
	}
	return nil
}

// checkEvery refuses a --every that is no period; 0: none was given.
func checkEvery(every time.Duration) error {
	if every != 0 && (every < scenarios.ShortestPeriod.Std() || every%time.Millisecond != 0) {
		return exit.Misuse(fmt.Errorf("--every %v: a period is a whole number of milliseconds, %v at least", every, scenarios.ShortestPeriod))
	}
	return nil
}

// checkShell refuses shell commands that make no lock.
func checkShell(c shell.Commands) error {
	if !c.Given() {
		return nil
	}
	if err := c.Check(); err != nil {
		return exit.Misuse(err)
	}
	return nil
}

// checkTTL refuses a --ttl that makes no sense; 0: none was given.
func checkTTL(ttl time.Duration) error {
	if ttl < 0 || ttl > 0 && ttl < time.Millisecond {
		return exit.Misuse(fmt.Errorf("--ttl %v: a lease must last a millisecond or longer", ttl))
	}
	return nil
}

// The flags that name a program of the user's own, by its kind.
const (
	lockFlag   = "lock-cmd"
	jobFlag    = "job-cmd"
	leaderFlag = "leader-cmd"
)

// commandFlag is the flag that names the program of the user's own.
func (f *runFlags) commandFlag() string {
	switch f.Own.Kind {
	case adapter.KindJob:
		return "--" + jobFlag
	case adapter.KindLeader:
		return "--" + leaderFlag
	}
	return "--" + lockFlag
}
