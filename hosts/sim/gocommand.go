package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// wasip1 is the environment of the go command that compiles for the simulation.
var wasip1 = []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0"}

// supervised runs the go command with a folder for temporary files of its own. At SIGTERM it kills what
// it has started, removes the folder and ends. The compilers are in its process group.
const supervised = `work=$(mktemp -d -t lockchaos-build-XXXXXXXX) || exit 1
clean() {
	tries=0
	until rm -rf "$work" 2>/dev/null || [ "$tries" -gt 50 ]; do tries=$((tries + 1)); sleep 0.1; done
}
end() {
	trap '' TERM
	kill -KILL $go 2>/dev/null
	clean
	kill -KILL 0
}
trap end TERM
TMPDIR=$work GOTMPDIR=$work go "$@" &
go=$!
wait $go
status=$?
clean
exit $status`

// lastBreath is how long the end of an interrupted build may take.
const lastBreath = 20 * time.Second

// Go runs the go command in a folder, with more variables of the environment, and returns what it said.
//
// Killed, the go command would leave its temporary folder and its compilers behind. So a shell is
// between: it is told to end when the context does, and when this process dies, however that happens.
func Go(ctx context.Context, dir string, env []string, args ...string) (said string, err error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", supervised, "go"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.WaitDelay = lastBreath
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
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

// noRoom says that temporary files can't be made: the go command says so among much else, and may say
// that the user's program is wrong.
func noRoom() error {
	f, err := os.CreateTemp("", "lockchaos-room-")
	if err != nil {
		return fmt.Errorf("temporary files can't be made: %w; choose another folder by TMPDIR", err)
	}
	_, err = f.Write(make([]byte, 1<<20))
	if err = errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Errorf("there is no room for temporary files: %w; make room, or choose another folder by TMPDIR", err)
	}
	return nil
}
