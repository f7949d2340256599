package kubernetes

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// processesOf are the processes of a container on this node, by the number that its runtime gave
// it. The first of them is process 1 of the container's own PID namespace, where it has one.
func processesOf(id string) ([]int, error) { return processesIn(id) }

// processesIn are the processes of this node whose control groups have one of
// these in their names, as those of containers and pods have.
func processesIn(names ...string) (pids []int, err error) {
	if slices.Contains(names, "") { // which is a part of every name
		return nil, errors.New("a container or a pod has no number")
	}
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		if err != nil || !slices.ContainsFunc(names,
			func(name string) bool { return bytes.Contains(groups, []byte(name)) }) {
			continue // it has ended, or is another's
		}
		if first(pid) {
			pids = append([]int{pid}, pids...)
		} else {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// newcomer is a process of a container that was not among those before, and was
// started from outside of it: by an exec. 0: there is none yet. What a runtime
// starts is for a moment the runtime itself.
func newcomer(id string, before []int) (int, error) {
	now, err := processesOf(id)
	if err != nil {
		return 0, err
	}
	for _, pid := range now {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || slices.Contains(before, pid) || len(line) == 0 || ofRuntime(line) {
			continue
		}
		if parent, err := strconv.Atoi(statusLine(pid, "PPid")); err == nil && !slices.Contains(now, parent) {
			return pid, nil
		}
	}
	return 0, nil
}

// ofRuntime reports whether a command line is one of a container's runtime.
func ofRuntime(line []byte) bool {
	program, _, _ := bytes.Cut(line, []byte{0})
	name := program[bytes.LastIndexByte(program, '/')+1:]
	return slices.Contains([]string{"runc", "crun", "exe", "youki"}, string(name)) ||
		bytes.HasPrefix(name, []byte("runc:"))
}

// first reports whether a process is number 1 of its PID namespace (proc(5)).
func first(pid int) bool {
	f := strings.Fields(statusLine(pid, "NSpid"))
	return len(f) > 1 && f[len(f)-1] == "1"
}

// statusLine is a line of /proc/PID/status, without its name; "": there is none.
func statusLine(pid int, name string) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
