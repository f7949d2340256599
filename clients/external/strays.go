//go:build linux

package external

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/internal/procfs"
)

// proc is a line of the table of processes.
type proc struct {
	pid, parent, group int
	name               string
}

// adoptOrphans makes this process the parent of whatever an adapter leaves
// behind: a program that daemonises stays in sight.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	return nil
}

// strays tells, as the end of a sentence, which descendants of this process are
// in another process group; "" if there are none.
func strays() (string, error) {
	all, err := descendants(os.Getpid())
	if err != nil {
		return "", err
	}
	for _, p := range all {
		if own := unix.Getpgrp(); p.group != own {
			return fmt.Sprintf("process %d (%s) has left the client's process group: a fault that stops the client would not stop it. "+
				"Do not call setsid or setpgid, and start no daemon", p.pid, p.name), nil
		}
	}
	return "", nil
}

// Signal sends a signal to a process that runs, and to all that came of it.
func Signal(pid int, s unix.Signal) {
	family, _ := descendants(pid) // without the table of processes, to the process alone
	for _, p := range append(family, proc{pid: pid}) {
		_ = unix.Kill(p.pid, s) // it may be gone by now
	}
}

// descendants are the living processes that come of pid, itself left out.
func descendants(pid int) ([]proc, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	family := []int{pid}
	var out []proc
	for i := 0; i < len(family); i++ {
		for _, p := range all {
			if p.parent == family[i] && !slices.Contains(family, p.pid) {
				family = append(family, p.pid)
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// processes reads the table of processes that are not yet dead.
func processes() ([]proc, error) {
	folders, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	var out []proc
	for _, f := range folders {
		pid, err := strconv.Atoi(f.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + f.Name() + "/stat")
		if procfs.Gone(err) {
			continue // it has just ended
		}
		if err != nil {
			return nil, fmt.Errorf("look at process %d: %w", pid, err)
		}
		if p, alive := parseStat(pid, string(text)); alive {
			out = append(out, p)
		}
	}
	return out, nil
}

// parseStat reads /proc/PID/stat: "PID (name) state parent group …". The name
// may hold anything, parentheses included.
func parseStat(pid int, text string) (p proc, alive bool) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return proc{}, false
	}
	rest := strings.Fields(text[end+1:])
	if len(rest) < 3 {
		return proc{}, false
	}
	parent, err1 := strconv.Atoi(rest[1])
	group, err2 := strconv.Atoi(rest[2])
	dead := rest[0] == "Z" || rest[0] == "X"
	return proc{pid, parent, group, text[open+1 : end]}, err1 == nil && err2 == nil && !dead
}
