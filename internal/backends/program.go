package backends

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
)

// Program is what a node needs to be installed: a program of this machine, or
// an image. Nodes of one program may run it in different ways.
type Program struct {
	// Name is also that of the image in --image: "redis".
	Name string
	// Image is the project's own image, in a version that is current as this is written.
	Image string
	// Fix says how it comes onto this machine; "": it is part of lockchaos.
	Fix string

	// found looks for it on this machine, and says which it is; nil: it is part of lockchaos.
	found func(ctx context.Context) (string, error)
	// requests asks a server of it how many requests it has handled since it started.
	requests func(ctx context.Context, addr string) (int64, error)
	// speech is how a server of it is recognised.
	speech speech
}

// obstacle: the program is broken, and would be started for almost every
// scenario. standsIn: it is missing, and an imitation takes its place.
type (
	obstacle struct{ error }
	standsIn struct{ error }
)

// Check reports whether the program can run on this machine, and which it is. Where one is
// missing, its locks can't be tested; a broken Redis is an obstacle to almost every scenario.
func (p *Program) Check(ctx context.Context) (c hosts.Check, inTheWay bool) {
	c = hosts.Check{Name: p.Name, Fix: p.Fix, OK: true, Detail: "part of lockchaos"}
	if p.found == nil {
		return c, false
	}
	said, err := p.found(ctx)
	if c.Detail = said; err != nil {
		c.OK, c.Detail = false, err.Error()
	}
	_, inTheWay = errors.AsType[obstacle](err)
	return c, inTheWay
}

// Programs are those of all services, each once, in the order of Kinds.
func Programs() (all []*Program) {
	for _, k := range Kinds() {
		for _, n := range k.Nodes {
			if !slices.Contains(all, n.Program) {
				all = append(all, n.Program)
			}
		}
	}
	return all
}

// versionLimit bounds how long a program may take to tell its version: a large
// one takes seconds to be read on a busy machine.
const versionLimit = 30 * time.Second

// says returns the first line that a program prints.
func says(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = time.Second // a child that it leaves behind may keep its output open for ever
	text, err := cmd.CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return "", fmt.Errorf("%s does not start: %w: %s", program, err, line)
	}
	return line, nil
}

// onPath finds a program on PATH, or among those that only root has there.
func onPath(name, install string) (string, error) {
	for _, at := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(at); err == nil {
			return path, nil
		}
	}
	return "", &Lack{name + " was not found on this machine", install}
}
