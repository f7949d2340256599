//go:build linux

package procfs

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

// Path is that of a file that /proc has of a process.
func Path(pid int, file string) string { return filepath.Join("/proc", strconv.Itoa(pid), file) }

// Gone reports whether /proc says that a process or a thread has ended.
func Gone(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) }

// Program is the name of the file that a process runs; "": it has ended, or is somebody else's.
func Program(pid int) string {
	path, err := os.Readlink(Path(pid, "exe"))
	if err != nil {
		return ""
	}
	return filepath.Base(path)
}

// Programs lists what the processes run, for people to read.
func Programs(pids []int) string {
	var names []string
	for _, pid := range pids {
		if name := Program(pid); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Status is what is read of /proc/PID/status.
type Status struct {
	// Inner is the process's own number for itself.
	Inner  int
	caught uint64 // a bit for each signal
}

// StatusOf reads the status of a process.
func StatusOf(pid int) (s Status, err error) {
	text, err := os.ReadFile(Path(pid, "status"))
	if err != nil {
		return s, err
	}
	s.Inner = pid
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		switch {
		case len(f) > 1 && f[0] == "NSpid:": // the last one is that of its own namespace
			s.Inner, err = strconv.Atoi(f[len(f)-1])
		case len(f) == 2 && f[0] == "SigCgt:":
			s.caught, err = strconv.ParseUint(f[1], 16, 64)
		}
		if err != nil {
			return s, fmt.Errorf("read the status of process %d: %w", pid, err)
		}
	}
	return s, nil
}

// Catches reports whether the process has a handler of its own for the signal.
func (s Status) Catches(signal unix.Signal) bool { return s.caught&(1<<(signal-1)) != 0 }
