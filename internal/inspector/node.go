//go:build linux

package inspector

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/internal/procfs"
)

// Node is a running program on Node.
type Node struct {
	// PID is its process, as this process counts; inner is its own number for itself.
	PID, inner int
}

// programs are the names of Node's executable.
var programs = []string{"node", "nodejs"}

// Find returns the program on Node among the processes. It is an error if there is none, if there
// are several, or if it does not take the signal that opens its inspector.
func Find(pids []int) (*Node, error) {
	var found []int
	for _, pid := range pids {
		if slices.Contains(programs, procfs.Program(pid)) {
			found = append(found, pid)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("Node is not among its processes (%s)", procfs.Programs(pids))
	case 1:
		return inspectable(found[0])
	}
	return nil, fmt.Errorf("%d processes of it are Node: start the one that has the lock by node itself", len(found))
}

func inspectable(pid int) (*Node, error) {
	wrong := func(err error) (*Node, error) { return nil, fmt.Errorf("Node (process %d): %w", pid, err) }
	status, err := procfs.StatusOf(pid)
	if err != nil {
		return wrong(err)
	}
	if !status.Catches(unix.SIGUSR1) {
		return wrong(errors.New("it does not take SIGUSR1, which opens its inspector (is it started with --disable-sigusr1?)"))
	}
	return &Node{PID: pid, inner: status.Inner}, nil
}

// wake has the program open its inspector. If it has, nothing happens.
func (n *Node) wake() error { return unix.Kill(n.PID, unix.SIGUSR1) }
