//go:build linux

package clockskew

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Target is one process whose clocks can be changed. Its methods may be called
// from any goroutine; of one process there should be one Target in use, since
// two that Set at once overwrite each other.
type Target struct {
	pid    int
	name   string
	dir    procDir
	pidfd  int
	mem    *os.File
	image  []byte // of the vDSO, pristine
	layout layout
	base   uint64 // of the vDSO in the target
	timens map[bool]int64

	mu   sync.Mutex
	stop Stop
}

// pristine returns the vDSO of this process, which is as the kernel made it,
// and where things are in it.
var pristine = sync.OnceValues(func() (struct {
	image  []byte
	layout layout
}, error) {
	var p struct {
		image  []byte
		layout layout
	}
	own := procDir{fd: unix.AT_FDCWD, prefix: "/proc/self/"}
	m, err := own.vdso()
	if err != nil {
		return p, fmt.Errorf("this program's own vDSO: %w", err)
	}
	mem, err := own.open("mem", unix.O_RDONLY)
	if err != nil {
		return p, err
	}
	defer mem.Close()
	p.image = make([]byte, m.to-m.from)
	if _, err := mem.ReadAt(p.image, int64(m.from)); err != nil {
		return p, fmt.Errorf("read this program's own vDSO: %w", err)
	}
	if p.layout, err = layoutOf(p.image); err != nil {
		return p, err
	}
	if found, err := inspect(p.image, p.image, p.layout); err != nil || found.written {
		return p, fmt.Errorf("the clocks of this program are skewed themselves (%v): start it from a process that is not", err)
	}
	return p, nil
})

// Open prepares to change the clocks of a process; it changes nothing yet. What an
// earlier Target or another program of ours has installed is found and can be set, healed
// and restored. Close the Target when done: that leaves the process's clocks as they are.
func Open(pid int) (*Target, error) {
	if arch != "" {
		return nil, fmt.Errorf("clockskew: %w", errArch)
	}
	if pid == os.Getpid() {
		return nil, errors.New("clockskew: this is the program itself: it cannot stop itself and go on")
	}
	p, err := pristine()
	if err != nil {
		return nil, fmt.Errorf("clockskew: %w", err)
	}
	t := &Target{pid: pid, name: fmt.Sprintf("process %d", pid), image: p.image, layout: p.layout, dir: procDir{fd: -1},
		pidfd: -1}
	if err := t.open(); err != nil {
		err = t.failed("open", err) // it reads the process's folder
		t.Close()
		return nil, err
	}
	return t, nil
}

// errArch is what every attempt gets on another processor: "not supported on arm64".
var errArch = fmt.Errorf("%w on %s", ErrUnsupported, arch)

func (t *Target) open() (err error) {
	if t.dir, err = openProc(t.pid); err != nil {
		return err
	}
	if t.pidfd, err = unix.PidfdOpen(t.pid, 0); err != nil {
		return fmt.Errorf("pidfd_open: %w", err)
	}
	// If the folder still tells something, both are of the same process.
	comm, err := t.dir.read("comm")
	if err != nil {
		return err
	}
	t.name = fmt.Sprintf("process %d (%s)", t.pid, strings.TrimSpace(string(comm)))
	if t.mem, err = t.dir.open("mem", unix.O_RDWR); err != nil {
		return t.refused(err)
	}
	m, err := t.dir.vdso()
	if err != nil {
		return err
	}
	t.base = m.from
	if m.to-m.from != uint64(len(t.image)) {
		return fmt.Errorf("%w: its vDSO has %d bytes, this program's %d: a program of another ABI (32 bits?)",
			ErrUnsupported, m.to-m.from, len(t.image))
	}
	if t.timens, err = timeNamespace(t.dir); err != nil {
		return err
	}
	_, err = t.state()
	return err
}

// Close lets go of the process, whose clocks stay as they are.
func (t *Target) Close() {
	if t.mem != nil {
		t.mem.Close()
	}
	if t.pidfd >= 0 {
		unix.Close(t.pidfd)
	}
	if t.dir.fd >= 0 {
		t.dir.close()
	}
}

// PID returns the target's process id.
func (t *Target) PID() int { return t.pid }

// Installed reports whether the process's clocks lead to our code.
func (t *Target) Installed() (bool, error) {
	s, err := t.state()
	return s.installed, t.failed("look at the clocks of", err)
}

// state looks at the target's vDSO.
func (t *Target) state() (state, error) {
	img, err := t.readAt(t.base, len(t.image))
	if err != nil {
		return state{}, err
	}
	return inspect(img, t.image, t.layout)
}

// at is the address of an offset in our code.
func (t *Target) at(offset uint64) uint64 { return t.base + t.layout.room + offset }

func (t *Target) readAt(addr uint64, n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := t.mem.ReadAt(b, int64(addr))
	return b, err
}

func (t *Target) writeAt(addr uint64, b []byte) error {
	_, err := t.mem.WriteAt(b, int64(addr))
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.EFAULT) {
		return fmt.Errorf("write to its memory: %w; this kernel may forbid it: start it with proc_mem.force_override=always", err)
	}
	return err
}

func (t *Target) readWord(addr uint64) (uint64, error) {
	b, err := t.readAt(addr, 8)
	return binary.LittleEndian.Uint64(b), err
}

func (t *Target) writeWord(addr, v uint64) error {
	return t.writeAt(addr, binary.LittleEndian.AppendUint64(nil, v))
}

// failed says what failed on which process. /proc and pidfds tell in many ways
// that a process is gone.
func (t *Target) failed(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, unix.ESRCH),
		errors.Is(err, unix.ENOENT), t.exiting():
		return fmt.Errorf("clockskew: %s %s: it %w (%v)", doing, t.name, ErrGone, err)
	}
	return fmt.Errorf("clockskew: %s %s: %w", doing, t.name, err)
}

// exiting reports whether the process has given its memory back: it exits, waits for its parent, or
// is gone. /proc shows that before its state does, and its files then belong to root.
func (t *Target) exiting() bool {
	if t.dir.fd < 0 {
		return false
	}
	statm, err := t.dir.read("statm")
	return errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT) || strings.HasPrefix(string(statm), "0 ")
}

// refused says why the kernel does not let us at the memory of the target, and what to do.
func (t *Target) refused(err error) error {
	if !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) {
		return err
	}
	status, readErr := t.dir.read("status")
	if readErr != nil {
		return err
	}
	var real, effective int
	for l := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(l, "Uid:"); ok {
			_, readErr = fmt.Sscan(rest, &real, &effective)
		}
	}
	if own := os.Geteuid(); readErr == nil && (effective != own || real != own) {
		return fmt.Errorf("%w: it belongs to uid %d, this program to %d: run both as one user, or this one with CAP_SYS_PTRACE", err, effective, own)
	}
	scope, readErr := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if s := strings.TrimSpace(string(scope)); readErr == nil && s != "0" {
		return fmt.Errorf("%w: kernel.yama.ptrace_scope is %s, so that only its parents may do that (1) or only CAP_SYS_PTRACE (2): sysctl -w kernel.yama.ptrace_scope=0", err, s)
	}
	return fmt.Errorf("%w: it has more rights than this program or is marked undumpable (it changed its user, or lies in another user namespace): "+
		"run this program with CAP_SYS_PTRACE", err)
}
