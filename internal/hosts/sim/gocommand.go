package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// wasip1 is the environment of the go command that compiles for the simulation.
var wasip1 = []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0"}

// Go runs the go command in a folder, with more variables of the environment,
// and returns what it said.
//
// It ends when the context does. On Linux it also ends when this process dies,
// and leaves nothing behind.
func Go(ctx context.Context, dir string, env []string, args ...string) (said string, err error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", err
	}
	cmd := goCommand(ctx, args)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// On one thread: the death of the thread that forked would end it (goCommand).
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Run()
	said = strings.TrimSpace(stdout.String())
	if ctx.Err() != nil {
		return said, fmt.Errorf("interrupted: %w", ctx.Err())
	}
	if complaint := strings.TrimSpace(stderr.String() + stdout.String()); err != nil && complaint != "" {
		err = fmt.Errorf("%w:\n%s", err, complaint)
	}
	if err != nil {
		err = errors.Join(err, noRoom())
	}
	return said, err
}

// noRoom says that temporary files can't be made: the go command says so among
// much else, and may say that the user's program is wrong.
func noRoom() error {
	f, err := os.CreateTemp("", "lockchaos-room-")
	if err != nil {
		return fmt.Errorf("temporary files can't be made: %w; choose another folder by TMPDIR", err)
	}
	_, err = f.Write(make([]byte, 1<<20))
	if err = errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Errorf("there is no room for temporary files: %w; make room, or choose another folder by TMPDIR",
			err)
	}
	return nil
}
