package runtimes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/harness/simulated"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/docker"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Capabilities are what can be done in a runtime.
type Capabilities struct {
	where Where
	// starts: services are started on this machine, from what is installed here.
	starts bool
	// Faults are the kinds of faults that can be done.
	Faults map[string]bool
}

// Means tries what can be done in the runtime. own: the lock is a program of
// this machine. say is told which faults can't be done, and why.
func (f Where) Means(ctx context.Context, own bool, say func(string)) Capabilities {
	m := Capabilities{where: f, starts: f.Runtime == Local}
	if f.Runtime == Virtual {
		m.Faults = virtualFaults()
		return m
	}
	if f.Runtime == Auto {
		m.starts = own || engineless(ctx)
	}
	m.Faults = f.tried(ctx, m.starts || f.Here(), say)
	return m
}

// engineless reports whether there is no engine of containers.
func engineless(ctx context.Context) bool {
	_, err := docker.Connect(ctx)
	_, absent := errors.AsType[*docker.AbsentError](err)
	return absent
}

// tried are the kinds of faults that can be done. here: servers are not in containers.
func (f Where) tried(ctx context.Context, here bool, say func(string)) map[string]bool {
	tried := nemesis.ProbeNeeds(ctx, ProbeVerb)
	can := map[string]bool{}
	var reasons []string // in the order of the kinds
	without := map[string][]string{}
	for _, k := range nemesis.Kinds() {
		if k.Needs == nemesis.NeedsCluster {
			continue // never drawn: it is no lock that it strikes, but an application's pods
		}
		why, _ := tried(k.Needs)
		if !here && (k.Needs == nemesis.NeedsLocal || k.Needs == nemesis.NeedsLocalFilter) {
			why = "only servers that lockchaos itself has started can be started again, or made to refuse writes (--runtime local)"
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

// virtualFaults are the kinds that exist in virtual time. Which of the others there are is told by
// `lockchaos list faults`.
func virtualFaults() map[string]bool {
	can := map[string]bool{}
	for _, k := range nemesis.Kinds() {
		can[k.Name] = simulated.WhyNotFault(nemesis.Spec{Kind: k.Name}) == ""
	}
	return can
}

// Fitting returns a function that says why a fault is not for this machine and
// runtime, nor for the lock and its service, as fits has it; nil: it is.
func (m Capabilities) Fitting(service string, fits func(scenarios.Fault) error) func(scenarios.Fault) error {
	can := reachOf(clients.Kind{Service: service}, m.where.Runtime == External && m.where.sealed(service), m.where.FailoverCmd != "")
	of, _ := backends.Lookup(service)
	can.shards = of.Shards // it may be a cluster: nobody has asked it yet
	return func(one scenarios.Fault) error {
		if !m.Faults[one.Kind] {
			return errors.New("this machine cannot do it")
		}
		if why := simulated.WhyNotFault(one.Spec()); why != "" && m.where.Runtime == Virtual {
			return errors.New(why)
		}
		if m.where.Runtime == External {
			if why := OutOfReach(one, can); why != "" {
				return errors.New(why)
			}
		}
		turns := one.Kind == nemesis.KindFailover && can.failOver && of.Shards
		if err := fits(one); err != nil && !turns {
			return err
		}
		return m.Startable(scenarios.Scenario{Faults: []scenarios.Fault{one}}, service)
	}
}

// Running returns a function that returns an error if a scenario, of a lock on
// the service, can't be run in the runtime.
func (m Capabilities) Running(service string) func(scenarios.Scenario) error {
	if m.where.Runtime == Virtual {
		return simulated.Check(service)
	}
	return nil
}

// Startable returns nil if the services of a scenario can be started, as its faults need them: in
// containers they are in the images, and elsewhere they run. service is that of its lock.
func (m Capabilities) Startable(s scenarios.Scenario, service string) error {
	if !m.starts {
		return nil
	}
	return possible.Startable(scenarios.Plan{Scenario: s}, service)
}

// EngineChecks say whether containers can be run, and with which images.
// Nothing of it is an obstacle: the local runtime does without.
func EngineChecks(ctx context.Context) []hosts.Check {
	c := hosts.Check{Name: "docker engine"}
	engine, err := docker.Connect(ctx)
	if err != nil {
		c.Detail, c.Fix = err.Error(), "only --runtime docker and compose need one"
		return []hosts.Check{c}
	}
	c.OK, c.Detail = true, "answers, version "+engine.Version
	checks := []hosts.Check{c}
	settings, err := ImageSettings(nil)
	if err != nil {
		return append(checks, hosts.Check{Name: "images", Detail: err.Error()})
	}
	var have, lack []string
	for _, kind := range ImageKinds() {
		image, err := Present(ctx, engine, settings, kind)
		switch {
		case err != nil:
			return append(checks, hosts.Check{Name: "images", Detail: err.Error()})
		case image != "":
			have = append(have, image)
		default:
			lack = append(lack, kind)
		}
	}
	images := hosts.Check{Name: "images", OK: len(lack) == 0, Detail: strings.Join(have, ", ")}
	if !images.OK {
		if len(have) > 0 {
			images.Detail += "; "
		}
		images.Detail += "none of " + strings.Join(lack, ", ")
		images.Fix = "--runtime docker pulls them; without a registry: scripts/images " + strings.Join(lack, " ")
	}
	checks = append(checks, images)
	if err := docker.Able(); err != nil {
		checks = append(checks, hosts.Check{Name: "agent", Detail: err.Error()})
	}
	return checks
}
