package kubernetes

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// processesOf are the processes of a container on this node, by the number that its runtime gave it: it is part of the name of their control group. The first of
// them is process 1 of the container's own PID namespace, where it has one.
func processesOf(id string) (pids []int, err error) {
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
		if err != nil || !bytes.Contains(groups, []byte(id)) {
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

// first tells whether a process is number 1 of its PID namespace, as the line NSpid of /proc/PID/status says (proc(5)).
func first(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			f := strings.Fields(numbers)
			return len(f) > 1 && f[len(f)-1] == "1"
		}
	}
	return false
}
