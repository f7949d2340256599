package docker

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The labels of what we make. labelOwner says which process it belongs to, labelScenario which
// of its scenarios; labelAgent marks an agent's container, and its image, which has no owner.
const (
	labelOwner    = "lockchaos.owner"
	labelScenario = "lockchaos.scenario"
	labelNode     = "lockchaos.node"
	labelAgent    = "lockchaos.agent"
)

// owner names a process beyond its life: by the boot of the machine, the PID namespace in which its
// number means something, that number, and the time of its start, since numbers are given again.
type owner struct {
	boot, space string
	pid         int
	start       string // clock ticks since the boot
}

// self is this process.
func self() (owner, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return owner{}, fmt.Errorf("read which boot this is: %w", err)
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return owner{}, fmt.Errorf("read which PID namespace this is: %w", err)
	}
	o := owner{boot: strings.TrimSpace(string(boot)), space: space, pid: os.Getpid()}
	o.start, err = startOf(o.pid)
	return o, err
}

func (o owner) String() string { return fmt.Sprintf("%s %s %d %s", o.boot, o.space, o.pid, o.start) }

// parseOwner reads a label; what is none of ours, or of another version, has no
// owner that can be judged.
func parseOwner(label string) (owner, bool) {
	f := strings.Fields(label)
	if len(f) != 4 {
		return owner{}, false
	}
	pid, err := strconv.Atoi(f[2])
	return owner{f[0], f[1], pid, f[3]}, err == nil
}

// life is what can be said of an owner.
type life int

const (
	unknown life = iota // it lives in another PID namespace, or the label can't be read
	living
	dead
)

// alive reports whether the owner still lives, as seen by the process me.
func (o owner) alive(me owner) life {
	switch {
	case o.boot != me.boot:
		return dead
	case o.space != me.space:
		return unknown
	}
	start, err := startOf(o.pid)
	switch {
	case err == nil && start == o.start:
		return living
	case err == nil || os.IsNotExist(err):
		return dead
	}
	return unknown
}

// startOf is when a process began: the 22nd field of its stat line, whose
// second one, in parentheses, may hold spaces.
func startOf(pid int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	const afterName, start = 3, 22
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(f) <= start-afterName {
		return "", fmt.Errorf("process %d: unexpected stat line %q", pid, text)
	}
	return string(f[start-afterName]), nil
}
