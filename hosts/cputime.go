package hosts

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// CPUTime returns what the threads of the processes that live now have had of the processors, in ns of the kernel's scheduler (the first number of
// /proc/PID/task/TID/schedstat, proc(5)). Threads that have ended are not counted, nor processes that are gone.
func CPUTime(pids []int) (total time.Duration, err error) {
	for _, pid := range pids {
		dir := fmt.Sprintf("/proc/%d/task", pid)
		tasks, err := os.ReadDir(dir)
		if vanished(err) {
			continue
		} else if err != nil {
			return 0, fmt.Errorf("read the threads of process %d: %w", pid, err)
		}
		for _, task := range tasks {
			text, err := os.ReadFile(dir + "/" + task.Name() + "/schedstat")
			if vanished(err) {
				continue
			} else if err != nil {
				return 0, fmt.Errorf("read the processor time of a thread (a kernel without CONFIG_SCHED_INFO?): %w", err)
			}
			first, _, _ := strings.Cut(string(text), " ")
			ns, err := strconv.ParseInt(first, 10, 64)
			if err != nil {
				return 0, errors.Join(fmt.Errorf("%s/%s/schedstat: %q", dir, task.Name(), text), err)
			}
			total += time.Duration(ns)
		}
	}
	return total, nil
}
