//go:build linux

package hotspot

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/internal/procfs"
)

// VM is a running Java virtual machine.
type VM struct {
	// PID is its process, as this process counts; inner is its own number for itself.
	PID, inner int
}

// Find returns the Java virtual machine among the processes. It is an error if there is none, if
// there are several, or if it is not one of HotSpot's kind that can be attached to.
func Find(pids []int) (*VM, error) {
	var found []int
	for _, pid := range pids {
		if is, err := isJava(pid); err != nil {
			return nil, err
		} else if is {
			found = append(found, pid)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no Java virtual machine is among its processes (%s)", procfs.Programs(pids))
	case 1:
		return open(found[0])
	}
	return nil, fmt.Errorf("%d Java virtual machines are among its processes (%s): start the one that has the lock by java itself",
		len(found), procfs.Programs(found))
}

// isJava reports whether a process has the library of a Java virtual machine in its memory.
func isJava(pid int) (bool, error) {
	maps, err := os.ReadFile(procfs.Path(pid, "maps"))
	if procfs.Gone(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for a Java virtual machine: %w", err)
	}
	return bytes.Contains(maps, []byte("/libjvm.so")), nil
}

// open makes sure that a machine can be attached to: that it takes SIGQUIT, and does more at it
// than print its threads, which would go to the standard output of an adapter.
func open(pid int) (*VM, error) {
	wrong := func(err error) (*VM, error) {
		return nil, fmt.Errorf("the Java virtual machine (process %d): %w", pid, err)
	}
	maps, err := os.ReadFile(procfs.Path(pid, "maps"))
	if err != nil {
		return wrong(err)
	}
	if bytes.Contains(maps, []byte("/libj9vm")) {
		return wrong(errors.New("it is OpenJ9, and only those of HotSpot's kind (OpenJDK) are known"))
	}
	status, err := procfs.StatusOf(pid)
	if err != nil {
		return wrong(err)
	}
	if !status.Catches(unix.SIGQUIT) {
		return wrong(errors.New("it does not take SIGQUIT, by which it is attached to (is it started with -Xrs?)"))
	}
	if option, err := forbids(pid); err != nil || option {
		return wrong(errors.Join(err, errors.New("it is started with -XX:+DisableAttachMechanism: leave that out")))
	}
	return &VM{PID: pid, inner: status.Inner}, nil
}

// forbids reports whether a machine was told to let nobody attach, on its command line or by a
// variable of its environment.
func forbids(pid int) (bool, error) {
	for _, file := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile(procfs.Path(pid, file))
		if err != nil {
			return false, err
		}
		if bytes.Contains(text, []byte("+DisableAttachMechanism")) {
			return true, nil
		}
	}
	return false, nil
}
