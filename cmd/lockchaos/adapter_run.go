package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/redact"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/runtimes"
	"github.com/lockchaos/lockchaos/scenarios"
)

// usualTTL is the TTL with which an adapter is tried; 0: the scenario's own.
func usualTTL(service string) scenarios.Duration {
	k, _ := backends.Lookup(service)
	return scenarios.Duration(k.TTL)
}

// adapt puts the lock of --lock-cmd in the place of those that the scenarios name. Say is told what is left out, and why.
func (f runFlags) adapt(ctx context.Context, c runs.Choice, say func(string)) (runs.Choice, error) {
	own, err := f.meet(ctx, say)
	if err != nil {
		return runs.Choice{}, err
	}
	c, err = own.replacing(c, say)
	if f.inherent {
		for i := range c.Scenarios {
			s := &c.Scenarios[i]
			s.Expect = harness.Nature(own.kind()).Inherent(s.Store, s.Faults)
		}
	}
	return c, err
}

// ownLock is a lock of the user's own, as it has introduced itself.
type ownLock struct {
	name    string
	adapter scenarios.Adapter
	ttl     scenarios.Duration // 0: the scenario's
	says    adapter.Declaration
}

// kind is the lock as the harness knows it, with what it has declared.
func (l *ownLock) kind() clients.Kind {
	return external.Declared(scenarios.ServiceNamed(l.adapter.Service), l.says)
}

// meet starts the lock of --lock-cmd once, where the run is to be, and tells what it declares.
func (f runFlags) meet(ctx context.Context, say func(string)) (*ownLock, error) {
	a, err := newAdapter(f.lockCmd, f.service)
	if err != nil {
		return nil, err
	}
	own := &ownLock{adapter: a, ttl: scenarios.Duration(f.ttl)}
	if own.ttl == 0 {
		own.ttl = usualTTL(a.Service)
	}
	hello := own.ttl
	if hello == 0 {
		hello = scenarios.Duration(time.Second)
	}
	t := trial{Adapter: a, TTL: hello.Std(), Hello: true}
	if f.Runtime == runtimes.External {
		g, err := runtimes.ReadServers(f.Nodes)
		if err != nil {
			return nil, exit.Misuse(err)
		}
		service, _ := backends.Lookup(a.Service)
		if missing := g.Missing(service); len(missing) > 0 {
			return nil, exit.Misuse(fmt.Errorf("--service %s needs the address of %s: --nodes", a.Service, join(missing)))
		}
		t.at = g.Of(a.Service)
	}
	if own.says, err = introduced(ctx, t); err != nil {
		return nil, err
	}
	own.name = slug(own.says.Name)
	if _, taken := kindsByName()[own.name]; taken {
		own.name = "my-" + own.name
	}
	say(fmt.Sprintf("%s: %s", own.name, declared(own.says)))
	return own, nil
}

// replacing puts the lock in the place of those that the scenarios name.
func (l *ownLock) replacing(c runs.Choice, say func(string)) (runs.Choice, error) {
	kinds := kindsByName()
	out := runs.Choice{Name: c.Name + " with " + l.name, About: c.About}
	for _, s := range substitutes(c.Scenarios, l.adapter.Service, kinds) {
		why := unfit(s, kinds[s.Lock], l.says, l.adapter.Service)
		if why == "" {
			why = l.spared(s.Attack)
		}
		if why != "" {
			say("left out: " + s.Name + ": " + why)
			continue
		}
		s.Name, s.Lock, s.Adapter = l.name+"/"+rest(s), l.name, l.adapter
		s.Expect = scenarios.Expect{} // what theory says of the other lock says nothing of this one
		if l.ttl > 0 {
			s = s.Stretched(l.ttl)
		}
		out.Scenarios = append(out.Scenarios, s)
	}
	if len(out.Scenarios) == 0 {
		return runs.Choice{}, exit.Misuse(fmt.Errorf("nothing is left to run: none of the scenarios of %q suits %s", c.Name, l.says.Name))
	}
	return out, nil
}

// spared says why the attack makes no sense against the lock; "" if it does, or if there is none.
func (l *ownLock) spared(attack string) string {
	if attack == "" {
		return ""
	}
	table, err := scenarios.Attacks()
	if err == nil {
		err = table.Applies(attack, l.examinee())
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// introduced starts the adapter once, on its real service, to learn what it declares.
func introduced(ctx context.Context, t trial) (adapter.Declaration, error) {
	var out, log bytes.Buffer
	if err := t.outside(ctx, &out, &log); err != nil {
		return adapter.Declaration{}, fmt.Errorf("try the adapter: %w\n%s", err, harmless.Text(strings.TrimSpace(log.String())))
	}
	var i introduction
	if err := json.Unmarshal(out.Bytes(), &i); err != nil {
		return adapter.Declaration{}, fmt.Errorf("try the adapter: %w", err)
	}
	if i.Error != "" {
		return adapter.Declaration{}, errors.New(harmless.Text(i.Error))
	}
	i.Says.LostGrace, i.Says.Abandons, i.Says.Name = i.Grace, i.Abandons, redact.Text(i.Says.Name)
	return i.Says, nil
}

// declared says in words what an adapter declares.
func declared(d adapter.Declaration) string {
	validity := d.Validity
	if validity == "" {
		validity = "no claim"
	}
	parts := []string{d.Name, "validity " + validity, "token " + d.Token}
	if len(d.Confirms) > 0 {
		parts = append(parts, "confirmed by "+strings.Join(d.Confirms, ", "))
	}
	if d.LostGrace > 0 {
		how := ""
		if d.Notices == "alone" {
			how = ", cut off or not"
		}
		parts = append(parts, fmt.Sprintf("notices a loss within %v%s", d.LostGrace, how))
	}
	if d.Tolerates != "" {
		parts = append(parts, "tolerates a faulty "+d.Tolerates)
	}
	if d.Abandons > 0 {
		parts = append(parts, fmt.Sprintf("leaves nothing behind after %v", d.Abandons))
	}
	if d.Fair {
		parts = append(parts, "fair")
	}
	if d.ReadWrite {
		parts = append(parts, "readers and writers")
	}
	if d.Sessions {
		parts = append(parts, "tells its sessions")
	}
	if d.NoExpiry {
		parts = append(parts, "never expires")
	}
	if d.Permits > 1 {
		parts = append(parts, fmt.Sprintf("%d permits", d.Permits))
	}
	return strings.Join(parts, " · ")
}

func kindsByName() map[string]clients.Kind {
	kinds := map[string]clients.Kind{}
	for _, k := range locks() {
		kinds[k.Name] = k
	}
	return kinds
}

// rest is what a scenario is called beside its lock: "pause-holder/unfenced".
func rest(s scenarios.Scenario) string { return strings.TrimPrefix(s.Name, s.Lock+"/") }

// substitutes are the scenarios in which the lock is to take another's place: of those that differ only in their lock one, of the lock's own service if
// there is one.
func substitutes(all []scenarios.Scenario, service string, kinds map[string]clients.Kind) (out []scenarios.Scenario) {
	for _, s := range all {
		i := slices.IndexFunc(out, func(o scenarios.Scenario) bool { return rest(o) == rest(s) })
		switch {
		case i < 0:
			out = append(out, s)
		case kinds[s.Lock].Service == service && kinds[out[i].Lock].Service != service:
			out[i] = s
		}
	}
	return out
}

// unfit says why an adapter can't take the place of the scenario's lock; "" if it can.
func unfit(s scenarios.Scenario, kind clients.Kind, says adapter.Declaration, service string) string {
	switch {
	case s.External():
		return "its lock is an adapter already"
	case kind.Writes != "" || s.Store.Guarded():
		return "it shows what to do without a lock"
	case s.Store.AcceptsEqual() || s.Store.Fenced() && s.Store.Kind != "fenced":
		return "its store is broken on purpose"
	case s.Store.Fenced() && says.Token != "fencing":
		return "the lock declares no fencing token, so a fenced store would refuse its writes"
	case s.Workload.Kind == "queue":
		return "it is about a queue"
	case (s.Workload.Kind == "semaphore") != (says.Permits > 1):
		return fmt.Sprintf("workload %s is for another number of permits than %d", s.Workload.Kind, says.Permits)
	case s.Workload.Readers > 0 && !says.ReadWrite:
		return "it has readers, and the lock does not declare read_write"
	case s.Workload.Guard == "check" && !says.Does(adapter.OpHeld) && !external.Claims(says).Tells():
		return "the application asks the lock before it writes, and this one can't be asked, nor does it tell of a loss"
	}
	own := external.Declared(scenarios.ServiceNamed(service), says)
	for _, fault := range s.Faults {
		for _, single := range fault.Singles() {
			if err := harness.CheckFault(own, single); err != nil {
				return err.Error()
			}
		}
	}
	return ""
}

var (
	wordless = regexp.MustCompile(`[^a-z0-9]+`)
	versions = regexp.MustCompile(`\s+v?[0-9][0-9A-Za-z.+~-]*\s*$`)
)

// slug makes a scenario's word of what an adapter calls its lock: "redis-py Lock 4.3.4" is redis-py-lock.
func slug(name string) string {
	word := strings.Trim(wordless.ReplaceAllString(strings.ToLower(versions.ReplaceAllString(name, "")), "-"), "-")
	if word == "" {
		return "my-lock"
	}
	return word
}

func join(words []string) string { return strings.Join(words, ", ") }
