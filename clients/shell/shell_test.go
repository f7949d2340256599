//go:build linux

package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/internal/decided"
)

// servedVar has the test program be an adapter, with the command that the variable holds.
const servedVar = "LOCKCHAOS_TEST_SERVED"

func TestMain(m *testing.M) {
	if line := os.Getenv(servedVar); line != "" {
		lock, err := Commands{Acquire: line}.Lock(func(err error) { panic(err) })
		if err == nil {
			err = lock.Serve(os.Stdin, os.Stdout)
		}
		if err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// open is a client of the lock, whose folder is dir.
func open(t *testing.T, c Commands, dir string) clients.Lock {
	t.Helper()
	made, err := c.Lock(func(err error) { t.Errorf("it can't go on: %v", err) })
	if err != nil {
		t.Fatal(err)
	}
	l, err := made.Open(t.Context(), clients.Config{Nodes: []string{"10.0.0.1:1", "10.0.0.2:2"}, TTL: int64(1500 * time.Millisecond), Client: 3,
		Account: &clients.Account{User: "me", Password: "pass", Database: "db"}, Adapter: &clients.Adapter{Service: "redis", Shared: dir}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	return l
}

// over is a context that is over after so long.
func over(t *testing.T, after time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), after)
	t.Cleanup(cancel)
	return ctx
}

// soon is the time limit of a call that ends by itself.
func soon(t *testing.T) context.Context { return over(t, decided.Limit) }

func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for limit := time.Now().Add(decided.Limit); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("it never came that %s", what)
		}
	}
}

// gone reports whether the process whose number a file holds has ended.
func gone(t *testing.T, file string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// folders is a lock on folders: who makes one has the key.
var folders = Commands{Acquire: `mkdir "$LOCKCHAOS_DIR/$LOCKCHAOS_KEY" 2>/dev/null && echo "of $LOCKCHAOS_GRANT"`,
	Release: `test "$LOCKCHAOS_OUTPUT" = "of $LOCKCHAOS_GRANT" && rmdir "$LOCKCHAOS_DIR/$LOCKCHAOS_KEY" 2>/dev/null`,
	Renew:   `test -d "$LOCKCHAOS_DIR/$LOCKCHAOS_KEY"`, Held: `test -d "$LOCKCHAOS_DIR/$LOCKCHAOS_KEY"`}

// busy holds that a key is refused. Commands that the machine lets run too late leave that open.
func busy(t *testing.T, l clients.Lock, key string) {
	t.Helper()
	decided.Run(t, func() {
		g, err := l.Acquire(over(t, 2*time.Second), key)
		if err != nil && !clients.Definite(err) {
			decided.Lacks("an answer in time: %v", err)
		}
		if !errors.Is(err, clients.ErrBusy) || g.First != 0 {
			t.Errorf("of another's key: %+v, %v", g, err)
		}
	})
}

// TestReleased: exit statuses of commands become what a lock answers.
func TestReleased(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, folders, dir), open(t, folders, dir)
	g, err := a.Acquire(soon(t), "k0")
	if err != nil || g.Attempt == 0 || g.First != g.Attempt {
		t.Fatalf("%+v, %v", g, err)
	}
	busy(t, b, "k0")
	if err := a.(clients.Holder).Held(soon(t), g); err != nil {
		t.Error(err)
	}
	if again, err := a.(clients.Renewer).Renew(soon(t), g); err != nil || again.Attempt <= g.Attempt {
		t.Errorf("%+v, %v", again, err)
	}
	granted := make(chan error)
	go func() { _, err := b.Acquire(soon(t), "k0"); granted <- err }()
	if err := a.Release(soon(t), g); err != nil {
		t.Error(err)
	}
	if err := <-granted; err != nil {
		t.Errorf("who waited for the key: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "k0")); err != nil {
		t.Fatal(err)
	}
	if err := a.Release(soon(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("a second release: %v", err)
	}
	if err := a.(clients.Holder).Held(soon(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("held: %v", err)
	}
}

// TestUnknown: what is neither yes nor no is open, and says why.
func TestUnknown(t *testing.T) {
	for line, want := range map[string]string{
		"echo it broke >&2; exit 3": "ended with exit status 3: it broke",
		"exit 255":                  "ended with exit status 255",
		"kill -TERM $$":             "ended with signal: terminated",
		"echo $$ >$LOCKCHAOS_DIR/pid; sleep 1000 & echo $! >$LOCKCHAOS_DIR/child; wait": "had not ended in its time, and was killed",
	} {
		dir, limit := t.TempDir(), soon(t)
		waits := strings.Contains(line, "wait")
		if waits {
			limit = over(t, 500*time.Millisecond)
		}
		g, err := open(t, Commands{Acquire: line, Release: "true"}, dir).Acquire(limit, "k0")
		if err == nil || clients.Definite(err) || !strings.Contains(err.Error(), want) || g.First == 0 {
			t.Errorf("%s: %+v, %v", line, g, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "child")); waits && err == nil {
			await(t, "what the command has started is gone", func() bool { return gone(t, dir+"/pid") && gone(t, dir+"/child") })
		}
	}
}

// TestNoProgram: a program that is missing is no answer of the lock.
func TestNoProgram(t *testing.T) {
	var told error
	made, err := Commands{Acquire: "no-such-program acquire", Release: "true"}.Lock(func(err error) { told = err })
	if err != nil {
		t.Fatal(err)
	}
	l, err := made.Open(t.Context(), clients.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Acquire(soon(t), "k0"); err == nil || clients.Definite(err) {
		t.Error(err)
	}
	if told == nil || !strings.Contains(told.Error(), "--acquire can't be started here (exit status 127: ") || !strings.Contains(told.Error(), "no-such-program") {
		t.Error(told)
	}
}

// TestEnvironment: what a command knows stands in its environment, and nothing else does.
func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	l := open(t, Commands{Acquire: `env | grep ^LOCKCHAOS_ >"$LOCKCHAOS_DIR/env"; printf 'a\nb\n'`, Release: `echo "$LOCKCHAOS_OUTPUT" >"$LOCKCHAOS_DIR/out"`}, dir)
	g, err := l.Acquire(over(t, time.Hour), "k0")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		got[name] = value
	}
	for name, want := range map[string]string{"KEY": "k0", "CLIENT": "c3", "NODES": "10.0.0.1:1,10.0.0.2:2", "SERVICE": "redis", "DIR": dir, "TTL_MS": "1500", "TTL_S": "2",
		"USER": "me", "PASSWORD": "pass", "DATABASE": "db", "HOLD": Hold, "OUTPUT": ""} {
		if value, there := got["LOCKCHAOS_"+name]; !there || value != want {
			t.Errorf("LOCKCHAOS_%s is %q, want %q", name, value, want)
		}
	}
	if !strings.HasPrefix(got["LOCKCHAOS_TIMEOUT_MS"], "3599") || !strings.HasPrefix(got["LOCKCHAOS_TIMEOUT_S"], "3599.") || len(got["LOCKCHAOS_GRANT"]) < 20 {
		t.Errorf("%v", got)
	}
	other, err := l.Acquire(over(t, time.Hour), "k1")
	if err != nil || other.Secret.(grant).value == g.Secret.(grant).value {
		t.Errorf("two grants have one value: %v", err)
	}
	if err := l.Release(soon(t), g); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "out")); string(text) != "a\nb\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// flocked is flock(1), which runs a command while it holds.
var flocked = Commands{Acquire: `flock -w "$LOCKCHAOS_TIMEOUT_S" "$LOCKCHAOS_DIR/$LOCKCHAOS_KEY" sh -c "$LOCKCHAOS_HOLD"`}

// TestHeld: a key is held for as long as the command runs.
func TestHeld(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, flocked, dir), open(t, flocked, dir)
	g, err := a.Acquire(soon(t), "k0")
	if err != nil || g.Attempt != 0 || g.First == 0 {
		t.Fatalf("%+v, %v", g, err)
	}
	other, err := a.Acquire(soon(t), "k1") // beside it
	if err != nil {
		t.Fatal(err)
	}
	busy(t, b, "k0")
	if err := errors.Join(a.(clients.Holder).Held(soon(t), g), a.Release(soon(t), g)); err != nil {
		t.Error(err)
	}
	if err := a.Release(soon(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("a second release: %v", err)
	}
	if _, err := b.Acquire(soon(t), "k0"); err != nil {
		t.Error(err)
	}
	if err := errors.Join(a.(clients.Holder).Held(soon(t), other), a.Close(soon(t))); err != nil {
		t.Error(err)
	}
	if _, err := b.Acquire(soon(t), "k1"); err != nil {
		t.Errorf("after the close: %v", err)
	}
	select {
	case loss := <-a.(clients.Watcher).Lost():
		t.Errorf("what was given back is told as lost: %+v", loss)
	default:
	}
}

// TestCommandEnds: a command that ends by itself has lost the key.
func TestCommandEnds(t *testing.T) {
	dir := t.TempDir()
	l := open(t, Commands{Acquire: `echo mine; until [ -e "$LOCKCHAOS_DIR/end" ]; do sleep 0.01; done; echo expired >&2; exit 4`}, dir)
	g, err := l.Acquire(soon(t), "k0")
	if err == nil {
		err = l.(clients.Holder).Held(soon(t), g)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "end"), nil, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if loss := <-l.(clients.Watcher).Lost(); loss.Key != "k0" || !strings.HasSuffix(loss.Why, "has ended: exit status 4: expired") {
		t.Errorf("%+v", loss)
	}
	if err := l.(clients.Holder).Held(soon(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Error(err)
	}
	if err := l.Release(soon(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Error(err)
	}
}

// TestEnding: how a command that holds ends when it is to give the key back, and what that says.
func TestEnding(t *testing.T) {
	for line, want := range map[string]string{
		`echo mine; exec sleep 1000`:                                                               "",
		`trap 'exit 0' TERM; echo mine; while :; do sleep 0.01; done`:                              "",
		`sleep 1000 & echo $! >"$LOCKCHAOS_DIR/child"; echo mine; wait`:                            "",
		`trap 'echo no server >&2; exit 5' TERM; echo mine; while :; do sleep 0.01; done`:          "ended with exit status 5: no server",
		`trap '' TERM; echo $$ >"$LOCKCHAOS_DIR/child"; echo mine; while :; do sleep 0.01; done`:   "did not end when it was to give the key back, and was killed",
		`sh -c "$LOCKCHAOS_HOLD" && sleep 1000 & echo $! >"$LOCKCHAOS_DIR/child"; echo held; wait`: "",
	} {
		dir := t.TempDir()
		l := open(t, Commands{Acquire: line}, dir)
		g, err := l.Acquire(soon(t), "k0")
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		limit := soon(t)
		if strings.Contains(want, "killed") {
			limit = over(t, 300*time.Millisecond)
		}
		if err := l.Release(limit, g); want == "" && err != nil || want != "" && (err == nil || clients.Definite(err) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", line, err)
		}
		if strings.Contains(line, "/child") {
			await(t, "what the command has started is gone", func() bool { return gone(t, dir+"/child") })
		}
	}
}

// TestNeverGranted: a command that holds must say so.
func TestNeverGranted(t *testing.T) {
	if _, err := open(t, Commands{Acquire: "true"}, t.TempDir()).Acquire(soon(t), "k0"); err == nil || clients.Definite(err) || !strings.Contains(err.Error(), "had printed no line") {
		t.Error(err)
	}
	dir := t.TempDir()
	l := open(t, Commands{Acquire: `echo $$ >"$LOCKCHAOS_DIR/pid"; exec sleep 1000`}, dir)
	if _, err := l.Acquire(over(t, time.Second), "k0"); err == nil || clients.Definite(err) || !strings.Contains(err.Error(), "and was ended") {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "/pid"); err == nil {
		await(t, "the command is gone", func() bool { return gone(t, dir+"/pid") })
	}
}

// TestTokens: the first line is the token, if one is declared.
func TestTokens(t *testing.T) {
	l := open(t, Commands{Acquire: `echo 34; exec sleep 1000`, Declare: `{"token":"fencing"}`}, t.TempDir())
	if g, err := l.Acquire(soon(t), "k0"); err != nil || g.Token != 34 {
		t.Errorf("%+v, %v", g, err)
	}
	dir := t.TempDir()
	l = open(t, Commands{Acquire: `echo $$ >"$LOCKCHAOS_DIR/pid"; echo mine; exec sleep 1000`, Declare: `{"token":"fencing"}`}, dir)
	if _, err := l.Acquire(soon(t), "k0"); err == nil || clients.Definite(err) || !strings.Contains(err.Error(), `printed "mine" in the place of a number`) {
		t.Error(err)
	}
	await(t, "the command is gone", func() bool { return gone(t, dir+"/pid") })
}

// TestAdapterKilled: what an adapter has started ends with its client, even if the adapter is killed. The lock is then as its holder's death leaves it.
func TestAdapterKilled(t *testing.T) {
	for _, line := range []string{flocked.Acquire, `flock "$LOCKCHAOS_DIR/$LOCKCHAOS_KEY" sh -c 'echo mine; sleep 1000; true'`} {
		dir := t.TempDir()
		t.Setenv(servedVar, `echo $PPID >"$LOCKCHAOS_DIR/adapter"; `+line)
		l, err := external.Open(soon(t), clients.Config{Client: 1, TTL: int64(time.Second), Adapter: &clients.Adapter{Command: os.Args[0], Service: "none", Shared: dir}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Acquire(soon(t), "k0"); err != nil {
			t.Fatal(err)
		}
		free := func() bool { return exec.Command("flock", "-n", filepath.Join(dir, "k0"), "true").Run() == nil }
		if free() {
			t.Error("the key is not taken")
		}
		text, err := os.ReadFile(filepath.Join(dir, "adapter"))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err == nil {
			err = unix.Kill(pid, unix.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(soon(t)); err == nil || !strings.Contains(err.Error(), "signal: killed") {
			t.Errorf("the adapter was killed, and its client says %v", err)
		}
		await(t, "the key is free", free)
	}
}

// TestCheck: wrong commands say what to do.
func TestCheck(t *testing.T) {
	for want, c := range map[string]Commands{
		"--acquire is missing":                                                 {Release: "true"},
		"--renew is for a grant that lasts until --release":                    {Acquire: "true", Renew: "true"},
		"--release is no command that /bin/sh understands":                     {Acquire: "true", Release: "echo 'x"},
		"--declare is no JSON object":                                          {Acquire: "true", Declare: "fair"},
		`has the unknown member "fiar"`:                                        {Acquire: "true", Declare: `{"fiar":true}`},
		`"validity" is "for ever"`:                                             {Acquire: "true", Declare: `{"validity":"for ever"}`},
		`--declare promises "held", and there is no command for it: give`:      {Acquire: "true", Release: "true", Declare: `{"confirms":["held"]}`},
		`--declare has "validity":"library", for which commands have no words`: {Acquire: "true", Declare: `{"validity":"library"}`},
		`--declare has "multi_key"`:                                            {Acquire: "true", Declare: `{"multi_key":2}`},
		`has the unknown member "confirms"`:                                    {Acquire: "true", Declare: `{"event":"lost","key":"k"}`},
	} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
	for _, c := range []Commands{folders, flocked} {
		if err := c.Check(); err != nil {
			t.Error(err)
		}
	}
}

// TestSays: what the commands promise, by themselves and as they are told to.
func TestSays(t *testing.T) {
	for _, c := range []struct {
		commands              Commands
		validity              string
		confirms, can         []string
		name                  string
		lease                 time.Duration
		permits               int
		withoutExpiry, tokens bool
	}{
		{commands: folders, validity: "from_invocation", confirms: []string{"release", "renew", "held"}, name: "shell commands", permits: 1},
		{commands: flocked, validity: "session", can: []string{"held"}, name: "shell command", permits: 1},
		{commands: Commands{Acquire: "true", Release: "true", Held: "true", Declare: `{"name":"mine 1","confirms":[],"lease_ms":1700,"no_expiry":true,"token":"fencing","permits":2}`},
			validity: "from_invocation", can: []string{"held"}, name: "mine 1", lease: 1700 * time.Millisecond, permits: 2, withoutExpiry: true, tokens: true},
	} {
		says, err := c.commands.Says()
		if err != nil || says.Validity != c.validity || !slices.Equal(says.Confirms, c.confirms) || !slices.Equal(says.Can, c.can) || says.Name != c.name || says.Lease != c.lease ||
			says.Permits != c.permits || says.NoExpiry != c.withoutExpiry || (says.Token == "fencing") != c.tokens {
			t.Errorf("%+v: %+v, %v", c.commands, says, err)
		}
	}
}

// TestChange: each command is changed, and the words of a command line are those that gave it.
func TestChange(t *testing.T) {
	c := Commands{Acquire: "a", Held: "h", Declare: "{}"}
	if err := c.Change(func(line string) (string, error) { return strings.ToUpper(line), nil }); err != nil || !slices.Equal(c.Words(), []string{"--acquire", "A", "--held", "H", "--declare", "{}"}) {
		t.Errorf("%q, %v", c.Words(), err)
	}
	if err := c.Change(func(string) (string, error) { return "", errors.New("a password") }); err == nil || err.Error() != "--acquire: a password" {
		t.Error(err)
	}
}
