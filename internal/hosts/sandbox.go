//go:build linux

package hosts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideID is the user and group that the caller appears as inside: itself, or
// for root a user that the machine knows. PostgreSQL's initdb refuses to run as
// uid 0, and as one that /etc/passwd does not list.
var insideID = sync.OnceValue(func() int {
	const first = 1000 // the first ordinary user of most systems
	for _, id := range []int{os.Geteuid(), first} {
		if _, err := user.LookupId(strconv.Itoa(id)); id != 0 && err == nil {
			return id
		}
	}
	for _, name := range []string{"daemon", "nobody"} { // systems have them from the start
		if u, err := user.Lookup(name); err == nil {
			if id, err := strconv.Atoi(u.Uid); err == nil && id != 0 {
				return id
			}
		}
	}
	return first
})

// capabilities that inner needs in its own user namespace. With a non-zero uid
// they survive exec as ambient capabilities only.
var capabilities = []uintptr{
	unix.CAP_SYS_ADMIN,  // setns, unshare, mount
	unix.CAP_NET_ADMIN,  // links, addresses, packet filter, NFQUEUE
	unix.CAP_NET_RAW,    // raw sockets, SO_MARK
	unix.CAP_SYS_PTRACE, // see /proc/PID/ns, read and write /proc/PID/mem
	unix.CAP_KILL,
	unix.CAP_SYS_CHROOT, // setns into a mount namespace
}

// Inner is the program inside a started sandbox.
type Inner struct {
	cmd      *exec.Cmd
	lifeline *os.File // write end: a byte asks for an interrupt, end of file is our death
	report   *os.File // read end: how the making of the sandbox went
	done     chan struct{}
	err      error // of the end; read after done
}

// Start makes the namespaces and runs this program inside them with the given arguments.
// It returns when inner has been started, so a refusal is known here: it is a
// *RefusedError. When ctx ends, inner is interrupted (SIGINT), and after Grace everything
// inside is killed. Start may be called from any goroutine, any number of times.
func (s Sandbox) Start(ctx context.Context, args ...string) (*Inner, error) {
	lifeRead, lifeWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start a sandbox: make its lifeline: %w", err)
	}
	defer lifeRead.Close()
	reportRead, reportWrite, err := os.Pipe()
	if err != nil {
		lifeWrite.Close()
		return nil, fmt.Errorf("start a sandbox: make its report pipe: %w", err)
	}
	defer reportWrite.Close()

	in := &Inner{lifeline: lifeWrite, report: reportRead, done: make(chan struct{})}
	in.cmd = s.command(ctx, args)
	in.cmd.Cancel = in.Interrupt
	in.cmd.ExtraFiles = append([]*os.File{lifeRead, reportWrite}, s.ExtraFiles...)
	if err := fork(in.cmd.Start); err != nil {
		lifeWrite.Close()
		reportRead.Close()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("start a sandbox: %w", ctx.Err())
		}
		return nil, refused("make new namespaces", err)
	}
	go in.reap()
	reportWrite.Close() // init's copy is now the only one: its death is end of file
	return in, in.started(ctx)
}

// command is init's command line.
func (s Sandbox) command(ctx context.Context, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0] // what ps shows, and what a test binary finds itself by
	cmd.Env = append(slices.DeleteFunc(os.Environ(), isStageVar), s.Env...)
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%s %d", stageVar, stageInit, len(s.ExtraFiles)))
	cmd.Dir = s.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Stdin, s.Stdout, s.Stderr
	cmd.WaitDelay = s.Grace
	if cmd.WaitDelay == 0 {
		cmd.WaitDelay = DefaultGrace
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWNS |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: insideID(), HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: insideID(), HostID: os.Getegid(), Size: 1}},
		AmbientCaps: capabilities,
		// A group of its own: what a terminal sends reaches outer alone, and outer decides.
		Setpgid:   true,
		Pdeathsig: unix.SIGKILL,
	}
	return cmd
}

// initReport is what init tells outer, as one JSON value. An empty Op means that inner runs.
type initReport struct {
	Op    string
	Errno syscall.Errno
	Text  string
}

// started waits for init's report, which comes within milliseconds or not at all.
func (in *Inner) started(ctx context.Context) error {
	defer in.report.Close()
	text, err := io.ReadAll(in.report) // ends at the latest when init is killed, which ctx sees to
	var r initReport
	switch {
	case err != nil:
		err = fmt.Errorf("start a sandbox: read its report: %w", err)
	case len(bytes.TrimSpace(text)) == 0:
		<-in.done
		err = fmt.Errorf("start a sandbox: its init ended before inner was started: %w", errors.Join(ctx.Err(), in.err))
	case json.Unmarshal(text, &r) != nil:
		err = fmt.Errorf("start a sandbox: unexpected report %q", text)
	case r.Op != "" && r.Errno != 0:
		err = refused(r.Op, r.Errno)
	case r.Op != "":
		err = fmt.Errorf("start a sandbox: %s: %s", r.Op, r.Text)
	}
	if err != nil {
		in.Kill()
		<-in.done
	}
	return err
}

// reap notices the end, once.
func (in *Inner) reap() {
	in.err = in.cmd.Wait()
	in.lifeline.Close()
	close(in.done)
}

// Done is closed when everything inside has ended.
func (in *Inner) Done() <-chan struct{} { return in.done }

// Wait waits until everything inside has ended. Its error is nil when inner
// exited with 0; when inner exited otherwise, errors.As finds an
// *exec.ExitError with its status (128 + the signal's number if one killed it).
func (in *Inner) Wait() error {
	<-in.done
	if in.err == nil {
		return nil
	}
	return fmt.Errorf("sandbox %s: %w", strings.Join(in.cmd.Args[1:], " "), in.err)
}

// Interrupt sends inner SIGINT.
func (in *Inner) Interrupt() error { return in.Signal(unix.SIGINT) }

// Signal sends inner a signal that it can catch. It goes over the lifeline: one
// sent to PID 1 could come before anybody handles it, and be lost.
func (in *Inner) Signal(s syscall.Signal) error {
	if _, err := in.lifeline.Write([]byte{byte(s)}); err != nil {
		return os.ErrProcessDone // the pipe is broken or closed: init is gone
	}
	return nil
}

// Kill kills everything inside at once.
func (in *Inner) Kill() {
	_ = in.cmd.Process.Kill() // fails only if it has ended
}
