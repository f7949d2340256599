//go:build linux

package shell

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/internal/decided"
)

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
	if loss := <-l.(clients.Watcher).Lost(); loss.Key != "k0" || loss.Token != g.Token || loss.Token == 0 || !strings.HasSuffix(loss.Why, "has ended: exit status 4: expired") {
		t.Errorf("%+v", loss)
	}
	if err := l.(clients.Holder).Held(soon(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Error(err)
	}
	if err := l.Release(soon(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Error(err)
	}
}

// TestEndsAtOnce: a command that prints a line and ends was granted the key, and has lost it. It is
// so every time.
func TestEndsAtOnce(t *testing.T) {
	l := open(t, Commands{Acquire: "echo mine"}, t.TempDir())
	for range 20 {
		g, err := l.Acquire(soon(t), "k0")
		if err != nil {
			t.Fatal(err)
		}
		if loss := <-l.(clients.Watcher).Lost(); loss.Token != g.Token || !strings.Contains(loss.Why, "exit status 0") {
			t.Errorf("%+v", loss)
		}
	}
}

// TestEnding: how a command that holds ends when it is to give the key back, and what that says.
func TestEnding(t *testing.T) {
	for line, want := range map[string]string{
		`echo mine; exec sleep 1000`:                                                               "",
		`trap 'exit 0' TERM; echo mine; while :; do sleep 0.01; done`:                              "",
		`sleep 1000 & echo $! >"$LOCKCHAOS_DIR/child"; echo mine; wait`:                            "",
		`trap 'exit 5' TERM; echo mine; while :; do sleep 0.01; done`:                              "ended with exit status 5",
		`trap '' TERM; echo $$ >"$LOCKCHAOS_DIR/child"; echo mine; while :; do sleep 0.01; done`:   "and was killed",
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
			limit = limited(t, 300*time.Millisecond)
		}
		if err := l.Release(limit, g); want == "" && err != nil || want != "" && !leftOpen(err, want) {
			t.Errorf("%s: %v", line, err)
		}
		if strings.Contains(line, "/child") {
			decided.Await(t, "what the command has started is gone", func() bool { return gone(t, dir+"/child") })
		}
	}
}

// TestNeverGranted: a command that holds must say so.
func TestNeverGranted(t *testing.T) {
	if _, err := open(t, Commands{Acquire: "true"}, t.TempDir()).Acquire(soon(t), "k0"); !leftOpen(err, "had printed no line") {
		t.Error(err)
	}
	dir := t.TempDir()
	l := open(t, Commands{Acquire: `echo $$ >"$LOCKCHAOS_DIR/pid"; exec sleep 1000`}, dir)
	if _, err := l.Acquire(limited(t, time.Second), "k0"); !leftOpen(err, "and was ended") {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "/pid"); err == nil {
		decided.Await(t, "the command is gone", func() bool { return gone(t, dir+"/pid") })
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
	if _, err := l.Acquire(soon(t), "k0"); !leftOpen(err, `printed "mine" in the place of a number`) {
		t.Error(err)
	}
	decided.Await(t, "the command is gone", func() bool { return gone(t, dir+"/pid") })
}

// TestAdapterKilled: what an adapter has started ends with its client, even if the adapter is
// killed. The lock is then as its holder's death leaves it.
func TestAdapterKilled(t *testing.T) {
	for _, line := range []string{flocked.Acquire, `flock "$LOCKCHAOS_DIR/$LOCKCHAOS_KEY" sh -c 'echo mine; sleep 1000; true'`} {
		dir := t.TempDir()
		t.Setenv(servedVar, `echo $PPID >"$LOCKCHAOS_DIR/adapter"; `+line)
		l, err := external.Open(soon(t), clients.Config{Client: 1, TTL: time.Second,
			Adapter: &clients.Adapter{Command: os.Args[0], Service: "none", Shared: dir}})
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
		decided.Await(t, "the key is free", free)
	}
}
