//go:build linux

package clockskew

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// procDir is a process's folder in /proc, held open: when the process is gone,
// it does not become the folder of another with its PID.
type procDir struct {
	fd     int
	prefix string // of each name: for a folder that is not held open
}

func openProc(pid int) (procDir, error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return procDir{fd: fd}, err
}

func (d procDir) close() { unix.Close(d.fd) }

// open opens a file of the folder.
func (d procDir) open(name string, flags int) (*os.File, error) {
	for {
		fd, err := unix.Openat(d.fd, d.prefix+name, flags|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), name), nil
		case !errors.Is(err, unix.EINTR):
			return nil, &os.PathError{Op: "open", Path: "/proc/PID/" + name, Err: err}
		}
	}
}

// read returns what a file of the folder says.
func (d procDir) read(name string) ([]byte, error) {
	f, err := d.open(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// tasks lists the threads.
func (d procDir) tasks() ([]string, error) {
	f, err := d.open("task", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// link returns where a link of the folder leads.
func (d procDir) link(name string) (string, error) {
	b := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(d.fd, d.prefix+name, b)
	if err != nil {
		return "", &os.PathError{Op: "readlink", Path: "/proc/PID/" + name, Err: err}
	}
	return string(b[:n]), nil
}

// mapping is a line of /proc/PID/maps.
type mapping struct {
	from, to, offset uint64
	path             string
}

// mappings returns the target's memory map.
func (d procDir) mappings() (all []mapping, err error) {
	text, err := d.read("maps")
	if err != nil {
		return nil, err
	}
	for l := range strings.Lines(string(text)) {
		var m mapping
		var perm, dev, inode string
		if _, err := fmt.Sscanf(l, "%x-%x %s %x %s %s", &m.from, &m.to, &perm, &m.offset, &dev, &inode); err != nil {
			return nil, fmt.Errorf("maps: %q: %w", l, err)
		}
		// The name is what follows the inode; it may have blanks.
		if f := strings.SplitN(l, " ", 6); len(f) == 6 {
			m.path = strings.TrimSpace(f[5])
		}
		all = append(all, m)
	}
	return all, nil
}

// vdso returns where the vDSO is mapped.
func (d procDir) vdso() (mapping, error) {
	for end := time.Now().Add(stopLimit); ; time.Sleep(time.Millisecond) {
		// Who starts a program gets word from the kernel before the vDSO is
		// mapped. The auxiliary vector is there after it.
		vector, err := d.read("auxv")
		if err != nil {
			return mapping{}, err
		}
		all, err := d.mappings()
		if err != nil {
			return mapping{}, err
		}
		for _, m := range all {
			if m.path == "[vdso]" {
				return m, nil
			}
		}
		if len(bytes.Trim(vector, "\x00")) > 0 || time.Now().After(end) {
			return mapping{}, fmt.Errorf("%w: it has no vDSO (it has exited, or the kernel was started with vdso=0)",
				ErrUnsupported)
		}
	}
}
