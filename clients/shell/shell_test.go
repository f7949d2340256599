//go:build linux

package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
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
	l, err := made.Open(t.Context(), clients.Config{
		Nodes: []string{"10.0.0.1:1", "10.0.0.2:2"}, TTL: 1500 * time.Millisecond, Client: 3,
		Account: &clients.Account{User: "me", Password: "pass", Database: "db"}, Adapter: &clients.Adapter{Service: "redis", Shared: dir}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	return l
}

// limited is a context that is over after so long.
func limited(t *testing.T, after time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), after)
	t.Cleanup(cancel)
	return ctx
}

// soon is the time limit of a call that ends by itself.
func soon(t *testing.T) context.Context { return limited(t, decided.Limit) }

// leftOpen reports whether an error is not definite, and says why.
func leftOpen(err error, why string) bool {
	return err != nil && !clients.Definite(err) && strings.Contains(err.Error(), why)
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
		g, err := l.Acquire(limited(t, 2*time.Second), key)
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
			limit = limited(t, 500*time.Millisecond)
		}
		g, err := open(t, Commands{Acquire: line, Release: "true"}, dir).Acquire(limit, "k0")
		if !leftOpen(err, want) || g.First == 0 {
			t.Errorf("%s: %+v, %v", line, g, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "child")); waits && err == nil {
			decided.Await(t, "what the command has started is gone", func() bool { return gone(t, dir+"/pid") && gone(t, dir+"/child") })
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
	for _, want := range []string{"--acquire can't be started here (exit status 127: ", "no-such-program"} {
		if told == nil || !strings.Contains(told.Error(), want) {
			t.Errorf("%v, want %s", told, want)
		}
	}
}

// TestEnvironment: what a command knows stands in its environment, and nothing else does.
func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	l := open(t, Commands{Acquire: `env | grep ^LOCKCHAOS_ >"$LOCKCHAOS_DIR/env"; printf 'a\nb\n'`,
		Release: `echo "$LOCKCHAOS_OUTPUT" >"$LOCKCHAOS_DIR/out"`}, dir)
	g, err := l.Acquire(limited(t, time.Hour), "k0")
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
	for name, want := range map[string]string{"KEY": "k0", "CLIENT": "c3", "NODES": "10.0.0.1:1,10.0.0.2:2",
		"SERVICE": "redis", "DIR": dir, "TTL_MS": "1500", "TTL_S": "2",
		"USER": "me", "PASSWORD": "pass", "DATABASE": "db", "HOLD": Hold, "OUTPUT": ""} {
		if value, there := got["LOCKCHAOS_"+name]; !there || value != want {
			t.Errorf("LOCKCHAOS_%s is %q, want %q", name, value, want)
		}
	}
	ms, seconds := got["LOCKCHAOS_TIMEOUT_MS"], got["LOCKCHAOS_TIMEOUT_S"]
	if !strings.HasPrefix(ms, "359") || !strings.HasPrefix(seconds, ms[:4]+".") || len(got["LOCKCHAOS_GRANT"]) < 20 {
		t.Errorf("%v", got)
	}
	other, err := l.Acquire(limited(t, time.Hour), "k1")
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
