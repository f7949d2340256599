package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// ThreadState is the state letter of one thread, as in proc(5): R running, S sleeping, D in the kernel, T stopped,
// t stopped by a debugger, Z and X dead.
type ThreadState struct {
	PID, TID int
	State    byte
}

func (s ThreadState) dead() bool { return s.State == 'Z' || s.State == 'X' }

// States reads the state of every thread of the processes, in the order of the PIDs. Processes that are gone have none.
func States(pids []int) ([]ThreadState, error) {
	var states []ThreadState
	for _, pid := range pids {
		dir := fmt.Sprintf("/proc/%d/task", pid)
		tasks, err := os.ReadDir(dir)
		if vanished(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("read the threads of process %d: %w", pid, err)
		}
		for _, task := range tasks {
			stat, err := os.ReadFile(dir + "/" + task.Name() + "/stat")
			if vanished(err) {
				continue // the thread ended meanwhile
			} else if err != nil {
				return nil, fmt.Errorf("read the state of a thread: %w", err)
			}
			state, err := stateOf(stat)
			if err != nil {
				return nil, fmt.Errorf("%s/%s/stat: %w", dir, task.Name(), err)
			}
			tid, _ := strconv.Atoi(task.Name()) // the kernel names threads by number only
			states = append(states, ThreadState{pid, tid, state})
		}
	}
	return states, nil
}

// stateOf finds the state letter in a stat line. The name before it, in parentheses, may itself hold spaces and parentheses.
func stateOf(stat []byte) (byte, error) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 || i+2 >= len(stat) {
		return 0, fmt.Errorf("no state in %q", stat)
	}
	return stat[i+2], nil
}

// vanished tells whether /proc says that a process or thread is gone.
func vanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
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
