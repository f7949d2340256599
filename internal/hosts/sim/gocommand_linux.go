package sim

import (
	"context"
	"os/exec"
	"syscall"
	"time"
)

// supervised runs the go command with a folder for temporary files of its own. At SIGTERM it
// kills what it has started, removes the folder and ends. The compilers are in its process group.
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

// goCommand is the go command. Killed, it would leave its temporary folder and
// its compilers behind. So a shell is between: it is told to end when the
// context does, and when this process dies, however that happens.
func goCommand(ctx context.Context, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", supervised, "go"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = lastBreath
	return cmd
}
