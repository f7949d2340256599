//go:build linux

package hosts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// ErrOutside: the call is for the inner program of a sandbox only, so that the
// user's own network is never touched.
var ErrOutside = errors.New("not inside a sandbox (start one with hosts.Sandbox)")

// ErrClosed: the host or network has been closed.
var ErrClosed = errors.New("closed")

// RefusedError says that this machine refuses the namespaces of a sandbox, and what to do about it.
type RefusedError struct {
	Op     string  // what was refused: "make new namespaces", "mount a new /proc"
	Err    error   // the kernel's answer
	Causes []Cause // the settings that explain it, the likeliest first; never empty
}

// Cause is a setting that explains a refusal.
type Cause struct {
	Setting string // "kernel.unprivileged_userns_clone"
	Value   string // its value on this machine; empty where it has none
	Fix     string // the command or container flag that changes it
}

// Error names the refusal, its causes and their fixes in one line.
func (e *RefusedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "this machine refuses to %s: %v", e.Op, e.Err)
	for _, c := range e.Causes {
		b.WriteString("; " + c.Setting)
		if c.Value != "" {
			b.WriteString(" is " + c.Value)
		}
		b.WriteString(": " + c.Fix)
	}
	return b.String()
}

// Unwrap returns the kernel's answer.
func (e *RefusedError) Unwrap() error { return e.Err }

// opMountProc is the step at which containers that mask /proc refuse.
const opMountProc = "mount a new /proc"

// The flags that let a container make sandboxes; tried with Docker's default profiles.
const (
	seccompFlag     = "--security-opt seccomp=unconfined"
	systempathsFlag = "--security-opt systempaths=unconfined"
	apparmorFlag    = "--security-opt apparmor=unconfined"
)

// refused turns a kernel's answer into a RefusedError where it is one, else it
// only says what failed.
func refused(op string, err error) error {
	switch errno, _ := errors.AsType[syscall.Errno](err); errno {
	case syscall.EPERM, syscall.EACCES, syscall.ENOSPC, syscall.EUSERS, syscall.EINVAL, syscall.ENOSYS, syscall.EROFS:
		return &RefusedError{Op: op, Err: err, Causes: diagnose(os.DirFS("/"), op, errno)}
	}
	return fmt.Errorf("start a sandbox: %s: %w", op, err)
}

// diagnose looks for the settings that explain a refusal, below the given root directory.
func diagnose(root fs.FS, op string, errno syscall.Errno) []Cause {
	var causes []Cause
	if _, err := fs.Stat(root, "proc/self/ns/user"); errors.Is(err, fs.ErrNotExist) {
		causes = append(causes, Cause{Setting: "CONFIG_USER_NS", Value: "off",
			Fix: "run a kernel built with user namespaces"})
	}
	causes = append(causes, limits(root, errno)...)
	if value(root, "kernel/unprivileged_userns_clone") == "0" {
		causes = append(causes, Cause{"kernel.unprivileged_userns_clone", "0",
			"sudo sysctl -w kernel.unprivileged_userns_clone=1"})
	}
	if value(root, "kernel/apparmor_restrict_unprivileged_userns") == "1" {
		causes = append(causes, Cause{"kernel.apparmor_restrict_unprivileged_userns", "1",
			"sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"})
	}
	if errno == syscall.ENOSPC {
		return orUnknown(causes, op)
	}
	if op == opMountProc {
		if n := masks(root); n > 0 {
			causes = append(causes, Cause{"a mask over /proc", fmt.Sprintf("present (%d mounts)", n),
				"start the container with " + systempathsFlag})
		}
		if p := read(root, "proc/self/attr/current"); p != "" && !strings.HasPrefix(p, "unconfined") {
			causes = append(causes, Cause{"the AppArmor profile", p, "start the container with " + apparmorFlag})
		}
	}
	if filtered(root) {
		causes = append(causes, Cause{"a seccomp filter", "active",
			"start the container with " + seccompFlag + " " + systempathsFlag})
	}
	return orUnknown(causes, op)
}

// limits finds the numbers of namespaces that a user may have, where they are exhausted.
func limits(root fs.FS, errno syscall.Errno) []Cause {
	var causes []Cause
	for _, kind := range []string{"user", "net", "pid", "mnt", "ipc", "uts"} {
		max := value(root, "user/max_"+kind+"_namespaces")
		// Any of them may be the one that is used up; a zero is certain.
		if max == "0" || errno == syscall.ENOSPC && max != "" && kind == "user" {
			name := "user.max_" + kind + "_namespaces"
			causes = append(causes, Cause{name, max, "sudo sysctl -w " + name + "=65536"})
		}
	}
	return causes
}

// orUnknown says what to try where no setting explains the refusal.
func orUnknown(causes []Cause, op string) []Cause {
	if len(causes) > 0 {
		return causes
	}
	return []Cause{{Setting: "no kernel setting explains it",
		Fix: "in a container, start it with " + seccompFlag + " " +
			systempathsFlag + "; in a chroot, leave it: the kernel makes no user namespace there"}}
}

// masks counts the mounts over parts of /proc: with one of them in sight, the
// kernel refuses a new /proc.
func masks(root fs.FS) (n int) {
	for line := range strings.Lines(read(root, "proc/self/mountinfo")) {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], "/proc/") && f[4] != dataMountpoints[0] {
			n++
		}
	}
	return n
}

func filtered(root fs.FS) bool {
	for line := range strings.Lines(read(root, "proc/self/status")) {
		if strings.Join(strings.Fields(line), "") == "Seccomp:2" {
			return true
		}
	}
	return false
}

func value(root fs.FS, sysctl string) string { return read(root, "proc/sys/"+sysctl) }

// read returns a file's text; one that is missing or unreadable proves nothing and counts as empty.
func read(root fs.FS, path string) string {
	text, _ := fs.ReadFile(root, path)
	return strings.TrimSpace(string(text))
}
