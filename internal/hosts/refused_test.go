//go:build linux

package hosts

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

func TestDiagnose(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	usual := map[string]string{
		"proc/self/ns/user": "", "proc/sys/user/max_user_namespaces": "96000\n",
		"proc/sys/user/max_net_namespaces": "96000\n", "proc/self/status": "Name:\tx\nSeccomp:\t0\n",
		"proc/self/mountinfo":          "22 1 0:20 / /proc rw - proc proc rw\n23 22 0:21 / /proc/sys/fs/binfmt_misc rw - binfmt_misc x rw\n",
		"proc/self/attr/current":       "unconfined\n",
		"proc/sys/kernel/unprivileged": "1\n",
	}
	for _, c := range []struct {
		name, path, text string
		op               string
		errno            syscall.Errno
		setting, fix     string
	}{
		{"Debian", "proc/sys/kernel/unprivileged_userns_clone", "0\n", "make new namespaces", syscall.EPERM,
			"kernel.unprivileged_userns_clone", "sudo sysctl -w kernel.unprivileged_userns_clone=1"},
		{"Ubuntu", "proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", opMountProc, syscall.EACCES,
			"kernel.apparmor_restrict_unprivileged_userns", "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
		{"none allowed", "proc/sys/user/max_user_namespaces", "0\n", "make new namespaces", syscall.ENOSPC,
			"user.max_user_namespaces", "sudo sysctl -w user.max_user_namespaces=65536"},
		{"no network namespace allowed", "proc/sys/user/max_net_namespaces", "0\n", "make new namespaces", syscall.ENOSPC,
			"user.max_net_namespaces", "sudo sysctl -w user.max_net_namespaces=65536"},
		{"used up", "", "", "make new namespaces", syscall.ENOSPC,
			"user.max_user_namespaces", "sudo sysctl -w user.max_user_namespaces=65536"},
		{"container", "proc/self/status", "Name:\tx\nSeccomp:\t2\n", "make new namespaces", syscall.EPERM,
			"a seccomp filter", "start the container with --security-opt seccomp=unconfined --security-opt systempaths=unconfined"},
		{"masked", "proc/self/mountinfo", "22 1 0:20 / /proc rw - proc proc rw\n23 22 0:21 / /proc/acpi ro - tmpfs t ro\n", opMountProc,
			syscall.EPERM, "a mask over /proc", "start the container with --security-opt systempaths=unconfined"},
		{"profile", "proc/self/attr/current", "docker-default (enforce)\n", opMountProc, syscall.EACCES,
			"the AppArmor profile", "start the container with --security-opt apparmor=unconfined"},
		{"unknown", "", "", "make new namespaces", syscall.EPERM, "no kernel setting explains it", "in a container, start it with"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for path, text := range usual {
				root[path] = file(text)
			}
			if c.path != "" {
				root[c.path] = file(c.text)
			}
			causes := diagnose(root, c.op, c.errno)
			if c.name == "no network namespace allowed" {
				causes = causes[1:] // on ENOSPC the user namespaces are named as well
			}
			if len(causes) != 1 || causes[0].Setting != c.setting || !strings.HasPrefix(causes[0].Fix, c.fix) {
				t.Errorf("got %q", causes)
			}
		})
	}
	delete(usual, "proc/self/ns/user")
	if causes := diagnose(fstest.MapFS{"proc/self/x": file("")}, "make new namespaces",
		syscall.EINVAL); causes[0].Setting != "CONFIG_USER_NS" {
		t.Errorf("a kernel without user namespaces: %q", causes)
	}
}

func TestOnlyRefusalsAreRefused(t *testing.T) {
	var refusal *RefusedError
	if err := refused("make new namespaces", syscall.ENOMEM); errors.As(err, &refusal) || !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("no memory: %v", err)
	}
	err := refused("make new namespaces", syscall.EPERM)
	if !errors.As(err, &refusal) || !errors.Is(err, syscall.EPERM) || len(refusal.Causes) == 0 {
		t.Fatalf("not permitted: %v", err)
	}
	for _, want := range []string{"this machine refuses to make new namespaces", refusal.Causes[0].Setting, refusal.Causes[0].Fix} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %q", want, err)
		}
	}
}
