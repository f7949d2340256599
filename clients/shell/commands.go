// Package shell has a lock that is made of shell commands: scripts, flock(1), etcdctl, redis-cli.
//
// One command acquires. Its exit status is 0 when the key is granted, 1 when another client holds
// it, and anything else when the outcome is unknown. With a command that releases, a grant lasts
// until that command has run. Without one it lasts for as long as the acquiring command runs: that
// command prints a line when the key is granted, and is ended when the key is to be given back.
// What a command must know stands in its environment (environment.go).
//
// Lock is served as an adapter (package adapted). So every command that takes an adapter takes such
// a lock.
package shell

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/adapter"
)

// Verb is what a program runs as to be such a lock, with the commands as flags.
const Verb = "lock-exec"

// The flags for the commands, and for what they promise.
const (
	AcquireFlag = "acquire"
	ReleaseFlag = "release"
	RenewFlag   = "renew"
	HeldFlag    = "held"
	DeclareFlag = "declare"
)

// Commands are the commands of a lock, each for a shell.
type Commands struct {
	// Acquire takes a key. Without Release it runs for as long as the key is held.
	Acquire, Release string
	// Renew starts a lease anew, and Held asks whether the key is still held; "": the lock can't.
	Renew, Held string
	// Declare is what the lock promises, in the words of an adapter's hello, as a JSON object; "":
	// what follows from the commands.
	Declare string
}

// flagged is a command, with the flag that gives it.
type flagged struct {
	flag  string
	value *string
}

func (c *Commands) all() []flagged {
	return []flagged{{AcquireFlag, &c.Acquire}, {ReleaseFlag, &c.Release}, {RenewFlag, &c.Renew}, {HeldFlag, &c.Held}}
}

// Given reports whether there is such a lock, or a part of one.
func (c Commands) Given() bool { return c != Commands{} }

// Holds reports whether a grant lasts for as long as the acquiring command runs.
func (c Commands) Holds() bool { return c.Release == "" }

// Words are those of a command line that give the same commands.
func (c Commands) Words() (words []string) {
	for _, one := range append(c.all(), flagged{DeclareFlag, &c.Declare}) {
		if *one.value != "" {
			words = append(words, "--"+one.flag, *one.value)
		}
	}
	return words
}

// Change passes each command through a function, whose errors are told with the flag.
func (c *Commands) Change(change func(string) (string, error)) error {
	for _, one := range c.all() {
		text, err := change(*one.value)
		if err != nil {
			return fmt.Errorf("--%s: %w", one.flag, err)
		}
		*one.value = text
	}
	return nil
}

// Check says what is wrong with the commands, and what to do.
func (c Commands) Check() error {
	switch {
	case strings.TrimSpace(c.Acquire) == "":
		return errors.New("--acquire is missing: the command that takes the key $LOCKCHAOS_KEY, " +
			"with exit status 0 when it is granted and 1 when another holds it")
	case c.Holds() && c.Renew != "":
		return errors.New("--renew is for a grant that lasts until --release: " +
			"without --release a grant lasts for as long as the command of --acquire runs")
	}
	for _, one := range c.all() {
		if _, err := exec.Command("/bin/sh", "-n", "-c", *one.value).Output(); err != nil {
			said := ""
			if ended, ok := errors.AsType[*exec.ExitError](err); ok {
				said = string(ended.Stderr)
			}
			return fmt.Errorf("--%s is no command that /bin/sh understands: %s", one.flag, cmp.Or(strings.TrimSpace(said), err.Error()))
		}
	}
	_, err := c.Says()
	return err
}

// Says is what the lock declares.
func (c Commands) Says() (adapter.Declaration, error) {
	members := map[string]any{"name": "shell commands", "validity": "from_invocation", "confirms": c.operations()}
	if c.Holds() {
		members = map[string]any{"name": "shell command", "validity": "session", "confirms": []string{}}
	}
	if c.Declare != "" {
		if err := json.Unmarshal([]byte(c.Declare), &members); err != nil {
			return adapter.Declaration{}, fmt.Errorf("--declare is no JSON object: %w; write the members of a hello "+
				`(docs/protocol.md), such as {"name":"my-lock 1.2","no_expiry":true}`, err)
		}
	}
	members["id"], members["ok"] = 1, true
	line, err := json.Marshal(members)
	if err != nil {
		return adapter.Declaration{}, err
	}
	var x adapter.Exchange
	if _, err := x.Begin(&adapter.Request{Op: adapter.OpHello}); err != nil {
		return adapter.Declaration{}, err
	}
	reply, _, err := x.Take(line)
	if err != nil { // as of an event, which has no name
		return adapter.Declaration{}, fmt.Errorf("--declare makes a hello (docs/protocol.md) that %w", err)
	}
	says := *reply.Declaration
	return says, c.fits(&says)
}

// operations are the ops beside acquire for which there are commands.
func (c Commands) operations() (ops []string) {
	for _, one := range c.all()[1:] {
		if *one.value != "" {
			ops = append(ops, one.flag)
		}
	}
	return ops
}

// fits refuses what commands can't promise, and completes what the lock can do.
func (c Commands) fits(says *adapter.Declaration) error {
	ops := c.operations()
	if c.Holds() && c.Held == "" {
		ops = append(ops, adapter.OpHeld) // it is held while the command runs
	}
	for _, op := range slices.Concat(says.Confirms, says.Can) {
		if !slices.Contains(ops, op) {
			return fmt.Errorf("--declare promises %q, and there is no command for it: give --%s", op, op)
		}
	}
	for _, claim := range []struct {
		made bool
		name string
	}{{says.Validity == "library", `"validity":"library"`}, {says.Sessions, `"sessions"`}, {says.ReadWrite, `"read_write"`},
		{says.PerAcquire > 0, `"permits_per_acquire"`}, {says.MultiKey > 1, `"multi_key"`}, {says.Reentrant, `"reentrant"`}} {
		if claim.made {
			return fmt.Errorf("--declare has %s, for which commands have no words: write an adapter (docs/protocol.md)", claim.name)
		}
	}
	for _, op := range ops {
		if op != adapter.OpRelease && !slices.Contains(says.Confirms, op) {
			says.Can = append(says.Can, op)
		}
	}
	return nil
}
