package runtimes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/hosts/docker"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Faults are the kinds of faults that this machine can do in the runtime. own: the lock is a program
// of this machine. say is told what can't be done, and why.
func (f Where) Faults(ctx context.Context, own bool, say func(string)) map[string]bool {
	here := f.Here()
	if f.Runtime == Auto && own {
		here = true
	} else if f.Runtime == Auto {
		_, err := docker.Connect(ctx)
		var absent *docker.AbsentError
		here = errors.As(err, &absent)
	}
	tried := nemesis.Tried(ctx, ProbeVerb)
	can := map[string]bool{}
	var reasons []string // in the order of the kinds
	without := map[string][]string{}
	for _, k := range nemesis.Kinds() {
		why, _ := tried(k.Needs)
		if !here && (k.Needs == nemesis.NeedsLocal || k.Needs == nemesis.NeedsLocalFilter) {
			why = "only servers that lockchaos itself has started can be started again (--runtime local)"
		}
		can[k.Name] = why == ""
		if why == "" {
			continue
		}
		if without[why] == nil {
			reasons = append(reasons, why)
		}
		without[why] = append(without[why], k.Name)
	}
	for _, why := range reasons {
		say(fmt.Sprintf("without %s: %s", strings.Join(without[why], ", "), why))
	}
	return can
}

// Fitting returns a function that says why a fault is not for this machine and runtime, nor for the
// lock, as fits has it; nil: it is. can are the kinds that the machine can do.
func (f Where) Fitting(can map[string]bool, fits func(scenarios.Fault) error) func(scenarios.Fault) error {
	return func(one scenarios.Fault) error {
		if !can[one.Kind] {
			return errors.New("this machine cannot do it")
		}
		if why := OutOfReach(one); why != "" && f.Runtime == External {
			return errors.New(why)
		}
		return fits(one)
	}
}

// Missing returns a function that says why a service can't be started here; "": it can. In
// containers its programs are in the images, elsewhere it runs.
func (f Where) Missing(ctx context.Context) func(service string) string {
	missing := map[string]string{}
	if f.Runtime == Local || f.Runtime == Auto {
		for _, k := range backends.Kinds() {
			missing[k.Name] = k.Missing(ctx)
		}
	}
	return func(service string) string { return missing[service] }
}
