package own

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/internal/harness/simulated"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/reports"
)

// meetSimulated starts a Go program once in virtual time.
func (p Program) meetSimulated(ctx context.Context, taken func(name string) bool) (*Lock, error) {
	a, err := Adapter("", p.Service)
	if err != nil {
		return nil, err
	}
	if a.Go, err = filepath.Abs(p.Go); err != nil {
		return nil, exit.Misuse(err)
	}
	a.Dir = ""
	l := p.placeholder(a)
	var programs runtimes.Programs
	program, err := programs.Of(ctx, a.Go)
	if err != nil {
		return nil, exit.Misuse(err)
	}
	defer programs.Close()
	if l.Says, err = simulated.Introduced(ctx, program, external.Kind(a.Service),
		cmp.Or(l.TTL.Std(), trialTTL(a.Service))); err != nil {
		return nil, err
	}
	return l, p.introduced(l, taken)
}

// build compiles a Go program for this machine, and returns its command line.
func (p Program) build(ctx context.Context) (string, error) {
	dir, err := filepath.Abs(p.Go)
	if err != nil {
		return "", err
	}
	out, err := sim.CacheEntry(sim.Adapters, fmt.Sprintf("%s-%.6x", filepath.Base(dir), sha256.Sum256([]byte(dir))))
	if err != nil {
		return "", err
	}
	if _, err := sim.Go(ctx, dir, nil, "build", "-o", out, "."); err != nil {
		return "", fmt.Errorf("build %s: %w", p.Go, err)
	}
	return reports.Shell(out), nil
}
