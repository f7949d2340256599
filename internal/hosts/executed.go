//go:build linux

package hosts

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Find returns a process on the host that somebody else has started, on an
// attached one say: by the number that it has here. It is watched from now on.
// An error that is os.ErrProcessDone says that it has ended.
func (h *Host) Find(pid int) (*Process, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return nil, fmt.Errorf("process %d on host %s: %w", pid, h.Name, os.ErrProcessDone)
	}
	if err != nil {
		return nil, fmt.Errorf("watch process %d on host %s: %w", pid, h.Name, err)
	}
	// The process that has the number now is the one of the descriptor, unless that has ended.
	where, err := inode(fmt.Sprintf("/proc/%d/ns/net", pid))
	name := commandOf(pid)
	if over(fd, err) {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("process %d on host %s: %w", pid, h.Name, os.ErrProcessDone)
	}
	if err == nil && where != h.inode {
		err = fmt.Errorf("it lives in another network")
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("process %d (%s) on host %s: %w", pid, name, h.Name, err)
	}
	p := &Process{host: h, pid: pid, name: name, log: &logEnd{}, done: make(chan struct{})}
	go p.watch(fd)
	return p, nil
}
