//go:build linux

package hotspot

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
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
		return nil, fmt.Errorf("no Java virtual machine is among its processes (%s)", programs(pids))
	case 1:
		return open(found[0])
	}
	return nil, fmt.Errorf("%d Java virtual machines are among its processes (%s): start the one that has the lock by java itself",
		len(found), programs(found))
}

// isJava reports whether a process has the library of a Java virtual machine in its memory.
func isJava(pid int) (bool, error) {
	maps, err := os.ReadFile(proc(pid, "maps"))
	if gone(err) {
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
	maps, err := os.ReadFile(proc(pid, "maps"))
	if err != nil {
		return wrong(err)
	}
	if bytes.Contains(maps, []byte("/libj9vm")) {
		return wrong(errors.New("it is OpenJ9, and only those of HotSpot's kind (OpenJDK) are known"))
	}
	status, err := os.ReadFile(proc(pid, "status"))
	if err != nil {
		return wrong(err)
	}
	vm, caught := &VM{PID: pid, inner: pid}, uint64(0)
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		switch {
		case len(f) > 1 && f[0] == "NSpid:": // the last one is that of its own namespace
			vm.inner, err = strconv.Atoi(f[len(f)-1])
		case len(f) == 2 && f[0] == "SigCgt:":
			caught, err = strconv.ParseUint(f[1], 16, 64)
		}
		if err != nil {
			return wrong(err)
		}
	}
	if caught&(1<<(unix.SIGQUIT-1)) == 0 {
		return wrong(errors.New("it does not take SIGQUIT, by which it is attached to (is it started with -Xrs?)"))
	}
	if option, err := forbids(pid); err != nil || option {
		return wrong(errors.Join(err, errors.New("it is started with -XX:+DisableAttachMechanism: leave that out")))
	}
	return vm, nil
}

// forbids reports whether a machine was told to let nobody attach, on its command line or by a
// variable of its environment.
func forbids(pid int) (bool, error) {
	for _, file := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile(proc(pid, file))
		if err != nil {
			return false, err
		}
		if bytes.Contains(text, []byte("+DisableAttachMechanism")) {
			return true, nil
		}
	}
	return false, nil
}

// programs names what the processes run.
func programs(pids []int) string {
	var names []string
	for _, pid := range pids {
		path, err := os.Readlink(proc(pid, "exe"))
		if name := filepath.Base(path); err == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func proc(pid int, file string) string { return filepath.Join("/proc", strconv.Itoa(pid), file) }

// gone reports whether /proc says that a process has ended.
func gone(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) }
