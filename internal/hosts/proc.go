//go:build linux

package hosts

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/internal/procfs"
)

func (s ThreadState) dead() bool { return s.State == 'Z' || s.State == 'X' }

// States reads the state of every thread of the processes, in the order of the
// PIDs. Processes that are gone have none.
func States(pids []int) ([]ThreadState, error) {
	var states []ThreadState
	err := eachThread(pids, "stat", func(pid, tid int, text []byte) error {
		state, err := stateOf(text)
		states = append(states, ThreadState{pid, tid, state})
		return err
	})
	return states, err
}

// CPUTime returns what the threads of the processes that live now have had of the processors,
// in ns of the kernel's scheduler (the first number of /proc/PID/task/TID/schedstat,
// proc(5)). Threads that have ended are not counted, nor processes that are gone.
func CPUTime(pids []int) (total time.Duration, err error) {
	err = eachThread(pids, "schedstat", func(_, _ int, text []byte) error {
		first, _, _ := bytes.Cut(text, []byte(" "))
		ns, err := strconv.ParseInt(string(first), 10, 64)
		total += time.Duration(ns)
		return err
	})
	return total, err
}

// eachThread reads a file that /proc has of every thread of the processes.
// Those that end meanwhile are left out.
func eachThread(pids []int, file string, read func(pid, tid int, text []byte) error) error {
	for _, pid := range pids {
		dir := fmt.Sprintf("/proc/%d/task", pid)
		tasks, err := os.ReadDir(dir)
		if procfs.Gone(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("read the threads of process %d: %w", pid, err)
		}
		for _, task := range tasks {
			path := dir + "/" + task.Name() + "/" + file
			text, err := os.ReadFile(path)
			if procfs.Gone(err) {
				continue
			}
			tid, _ := strconv.Atoi(task.Name()) // the kernel names threads by number only
			if err == nil {
				err = read(pid, tid, text)
			}
			if err != nil {
				return fmt.Errorf("read %s of a thread, %s: %w", file, path, err)
			}
		}
	}
	return nil
}

// stateOf finds the state letter in a stat line. The name before it, in
// parentheses, may itself hold spaces and parentheses.
func stateOf(stat []byte) (byte, error) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 || i+2 >= len(stat) {
		return 0, fmt.Errorf("no state in %q", stat)
	}
	return stat[i+2], nil
}

// parentOf is the number of a process's parent; 0 if the process is gone.
func parentOf(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if procfs.Gone(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the parent of process %d: %w", pid, err)
	}
	var state string
	var parent int
	if _, err := fmt.Sscan(string(text[bytes.LastIndexByte(text, ')')+1:]), &state, &parent); err != nil {
		return 0, fmt.Errorf("find the parent of process %d in %q: %w", pid, text, err)
	}
	return parent, nil
}

// processes lists the processes of the sandbox that are to be kept, in rising order.
func processes(keep func(pid int) bool) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && keep(pid) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// group lists the processes of a process group, zombies included.
func group(pgid int) ([]int, error) {
	return processes(func(pid int) bool {
		g, err := unix.Getpgid(pid)
		return err == nil && g == pgid
	})
}
