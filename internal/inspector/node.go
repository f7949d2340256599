//go:build linux

package inspector

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
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
	var names []string
	for _, pid := range pids {
		path, err := os.Readlink(proc(pid, "exe"))
		if err != nil {
			continue // it has ended
		}
		name := filepath.Base(path)
		if slices.Contains(programs, name) {
			found = append(found, pid)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("Node is not among its processes (%s)", strings.Join(names, ", "))
	case 1:
		return known(found[0])
	}
	return nil, fmt.Errorf("%d processes of it are Node: start the one that has the lock by node itself", len(found))
}

func known(pid int) (*Node, error) {
	wrong := func(err error) (*Node, error) { return nil, fmt.Errorf("Node (process %d): %w", pid, err) }
	status, err := os.ReadFile(proc(pid, "status"))
	if err != nil {
		return wrong(err)
	}
	n, caught := &Node{PID: pid, inner: pid}, uint64(0)
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		switch {
		case len(f) > 1 && f[0] == "NSpid:": // the last one is that of its own namespace
			n.inner, err = strconv.Atoi(f[len(f)-1])
		case len(f) == 2 && f[0] == "SigCgt:":
			caught, err = strconv.ParseUint(f[1], 16, 64)
		}
		if err != nil {
			return wrong(err)
		}
	}
	if caught&(1<<(unix.SIGUSR1-1)) == 0 {
		return wrong(errors.New("it does not take SIGUSR1, which opens its inspector (is it started with --disable-sigusr1?)"))
	}
	return n, nil
}

// wake has the program open its inspector. If it has, nothing happens.
func (n *Node) wake() error { return unix.Kill(n.PID, unix.SIGUSR1) }

func proc(pid int, file string) string { return filepath.Join("/proc", strconv.Itoa(pid), file) }
