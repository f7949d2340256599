//go:build linux

package hosts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"golang.org/x/sys/unix"
)

var checkNames = []string{"namespaces without root", "private data folders", "private network", "traffic between hosts",
	"processes on a host"}

func TestProbe(t *testing.T) {
	start(t, hosts.Sandbox{}, "nothing") // skips where sandboxes are refused
	checks := hosts.Probe(t.Context())
	for i, c := range checks {
		if i >= len(checkNames) || c.Name != checkNames[i] || !c.OK || c.Detail == "" || c.Fix != "" {
			t.Errorf("check %d: %+v", i, c)
		}
	}
	if len(checks) != len(checkNames) {
		t.Errorf("%d checks", len(checks))
	}
}

func TestProbeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	checks := hosts.Probe(ctx)
	if len(checks) != len(checkNames) {
		t.Fatalf("%d checks", len(checks))
	}
	for _, c := range checks {
		if c.OK {
			t.Errorf("%+v", c)
		}
	}
}

// filtered is a program whose system calls are filtered as a container's are:
// no new user namespace. It prints what a sandbox and a probe then say.
func filtered([]string) int {
	if err := forbidUserNamespaces(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_, err := hosts.Sandbox{}.Start(context.Background(), "nothing")
	refusal := &hosts.RefusedError{}
	errors.As(err, &refusal)
	_ = json.NewEncoder(os.Stdout).Encode(struct {
		Text   string
		Op     string
		Causes []hosts.Cause
		EPERM  bool
		Checks []hosts.Check
	}{fmt.Sprint(err), refusal.Op, refusal.Causes, errors.Is(err, syscall.EPERM), hosts.Probe(context.Background())})
	return 0
}

// forbidUserNamespaces filters clone as Docker's default profile does, on every thread.
func forbidUserNamespaces() error {
	// offsets in struct seccomp_data; the low half of arg0 on little-endian machines
	const nr, arg0 = 0, 16
	deny := func(e syscall.Errno) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(e)}
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: nr},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE3, Jf: 1},
		deny(syscall.ENOSYS),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: arg0},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_NEWUSER, Jf: 1},
		deny(syscall.EPERM),
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	const setModeFilter, threadSync = 1, 1
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, threadSync, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return fmt.Errorf("install the filter: %w", errno)
	}
	return nil
}

func TestRefusalSaysWhatToDo(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "seccomp")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got struct {
		Text   string
		Op     string
		Causes []hosts.Cause
		EPERM  bool
		Checks []hosts.Check
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const flag = "--security-opt seccomp=unconfined"
	if got.Op != "make new namespaces" || !got.EPERM || !strings.Contains(got.Text, flag) {
		t.Errorf("error %q, refused %q, EPERM %v", got.Text, got.Op, got.EPERM)
	}
	if len(got.Checks) != len(checkNames) || got.Checks[0].OK || !strings.Contains(got.Checks[0].Fix, flag) {
		t.Errorf("checks %+v", got.Checks)
	}
	for _, c := range got.Checks[1:] {
		if c.OK || !strings.Contains(c.Detail, "not tried") {
			t.Errorf("check %+v", c)
		}
	}
}

// With something mounted over a part of /proc, as in a container, the kernel refuses a new one.
func TestMaskedProcIsRefused(t *testing.T) {
	if !inside(t) {
		return
	}
	if err := unix.Mount("mask", "/proc/driver", "tmpfs", unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	_, err := hosts.Sandbox{}.Start(t.Context(), "nothing")
	var refusal *hosts.RefusedError
	if !errors.As(err, &refusal) || refusal.Op != "mount a new /proc" || !strings.Contains(err.Error(), "systempaths=unconfined") {
		t.Errorf("got %v", err)
	}
}
