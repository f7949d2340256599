//go:build linux

package hotspot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/internal/procfs"
)

// answerLimit bounds the length of what a machine answers (bytes).
const answerLimit = 1 << 20

// tmp is the path of a file in the machine's /tmp, which may be another one than ours.
func (vm *VM) tmp(name string) string { return procfs.Path(vm.PID, "root/tmp/"+name) }

// attach opens connections to the machine, one for each command that is to come.
//
// Machines name their sockets by the numbers that they have for themselves, and sandboxes that
// share a /tmp count alike. So one at a time attaches, and makes sure whose socket it got. The
// socket would stay in /tmp if the machine is killed, so it is taken away again, unless it was
// there before: the machine opens another one for the next who comes.
func (vm *VM) attach(ctx context.Context, commands int) (_ []net.Conn, err error) {
	turn, err := vm.turn(ctx)
	if err != nil {
		return nil, vm.unattached(err)
	}
	defer turn.Close()
	socket := vm.tmp(".java_pid" + strconv.Itoa(vm.inner))
	if _, err := os.Stat(socket); errors.Is(err, os.ErrNotExist) {
		if err := vm.listen(ctx, socket); err != nil {
			return nil, vm.unattached(err)
		}
		defer os.Remove(socket)
	} else if err != nil {
		return nil, vm.unattached(err)
	}
	var all []net.Conn
	for range commands {
		conn, err := vm.dial(ctx, socket)
		if err != nil {
			closeAll(all)
			return nil, vm.unattached(err)
		}
		all = append(all, conn)
	}
	return all, nil
}

func (vm *VM) unattached(err error) error { return fmt.Errorf("attach to process %d: %w", vm.PID, err) }

func closeAll(conns []net.Conn) {
	for _, c := range conns {
		_ = c.Close() // nothing was asked on it
	}
}

// turn waits until nobody else of lockchaos attaches to a machine with this /tmp.
func (vm *VM) turn(ctx context.Context) (*os.File, error) {
	folder, err := os.Open(vm.tmp(""))
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return folder, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(err, folder.Close())
		}
		if err := pause(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("another one attaches: %w", err), folder.Close())
		}
	}
}

// listen has the machine open its socket.
func (vm *VM) listen(ctx context.Context, socket string) error {
	file := vm.tmp(".attach_pid" + strconv.Itoa(vm.inner))
	wish, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(file)
	if err := errors.Join(wish.Close(), unix.Kill(vm.PID, unix.SIGQUIT)); err != nil {
		return err
	}
	for {
		if _, err := os.Stat(socket); err == nil {
			return nil
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("it opens no socket: %w", err)
		}
	}
}

// pause is the time between two looks.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(2 * time.Millisecond):
		return nil
	}
}

// dial connects to a socket, if it is the machine's own.
func (vm *VM) dial(ctx context.Context, socket string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err == nil {
		var cred *unix.Ucred
		err = errors.Join(raw.Control(func(fd uintptr) {
			cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		}), err)
		if err == nil && int(cred.Pid) != vm.PID {
			err = fmt.Errorf("the socket %s is that of another process (%d)", socket, cred.Pid)
		}
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// jcmd has the machine carry out a diagnostic command, as the program of that name does, and
// returns what it answers. The connection is closed.
func jcmd(ctx context.Context, conn net.Conn, command string) (string, error) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	// The protocol's version, the operation, and its three arguments.
	if _, err := conn.Write([]byte("1\x00jcmd\x00" + command + "\x00\x00\x00")); err != nil {
		return "", fmt.Errorf("%s: %w", command, err)
	}
	answer, err := io.ReadAll(io.LimitReader(conn, answerLimit))
	if err != nil {
		return "", fmt.Errorf("%s: %w", command, errors.Join(err, ctx.Err()))
	}
	code, text, _ := strings.Cut(string(answer), "\n")
	if code != "0" {
		return "", fmt.Errorf("%s: the Java virtual machine answers %q", command, strings.TrimSpace(string(answer)))
	}
	return strings.TrimSpace(text), nil
}
