// Package own is about locks of the user's own: programs in any language (package adapter). Meet
// starts such a program once, to learn what it declares. The Lock that comes of it takes the place
// of built-in locks in scenarios, and can be examined. A Trial tries the program on its service.
package own

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/runtimes"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Program is a lock of the user's own, before it has been met.
type Program struct {
	// Command is its command line; "": there is no such lock. Service is the service that it uses.
	Command, Service string
	// TTL is what it is opened with; 0: that of the scenarios, or the usual one of the service.
	TTL time.Duration
}

// Lock is a lock of the user's own, as it has introduced itself.
type Lock struct {
	Name    string
	Adapter scenarios.Adapter
	TTL     scenarios.Duration // 0: the scenario's
	Says    adapter.Declaration
}

// UsualTTL is the TTL with which a lock on the service is tried; 0: the scenario's own.
func UsualTTL(service string) scenarios.Duration {
	k, _ := backends.Lookup(service)
	return scenarios.Duration(k.TTL)
}

// Meet starts the program once, where the run is to be. taken reports whether a built-in lock has a
// name.
func (p Program) Meet(ctx context.Context, where runtimes.Where, taken func(name string) bool) (*Lock, error) {
	a, err := Adapter(p.Command, p.Service)
	if err != nil {
		return nil, err
	}
	l := &Lock{Adapter: a, TTL: scenarios.Duration(p.TTL)}
	if l.TTL == 0 {
		l.TTL = UsualTTL(a.Service)
	}
	t := Trial{Adapter: a, TTL: l.TTL.Std(), Hello: true}
	if t.TTL == 0 {
		t.TTL = time.Second
	}
	if where.Runtime == runtimes.External {
		g, err := runtimes.ReadServers(where.Nodes)
		if err != nil {
			return nil, exit.Misuse(err)
		}
		service, _ := backends.Lookup(a.Service)
		if missing := g.Missing(service); len(missing) > 0 {
			return nil, exit.Misuse(fmt.Errorf("--service %s needs the address of %s: --nodes", a.Service, strings.Join(missing, ", ")))
		}
		t.at = g.Of(a.Service)
	}
	if l.Says, err = t.introduced(ctx); err != nil {
		return nil, err
	}
	if l.Name = slug(l.Says.Name); taken(l.Name) {
		l.Name = "my-" + l.Name
	}
	return l, nil
}

// Kind is the lock as the harness knows it, with what it has declared.
func (l *Lock) Kind() clients.Kind {
	return external.Declared(scenarios.ServiceNamed(l.Adapter.Service), l.Says)
}

// ExamTTL is the lease of a lock of which nothing else is known.
const ExamTTL = scenarios.Duration(500 * time.Millisecond)

// Examinee is the lock as the table of attacks sees it.
func (l *Lock) Examinee() scenarios.Examinee {
	base := scenarios.Scenario{Lock: l.Name, Adapter: l.Adapter, TTL: l.TTL, Store: scenarios.Store{Kind: "unfenced"}}
	if base.TTL == 0 {
		base.TTL = ExamTTL
	}
	e := harness.Examinee(l.Kind(), base)
	for op, ability := range map[string]scenarios.Ability{adapter.OpRenew: scenarios.CanRenew, adapter.OpHeld: scenarios.CanBeAsked} {
		if l.Says.Does(op) && !slices.Contains(e.Abilities, ability) {
			e.Abilities = append(e.Abilities, ability)
		}
	}
	return e
}

// String says in words what the lock declares.
func (l *Lock) String() string {
	d := l.Says
	parts := []string{d.Name, "validity no claim", "token " + d.Token}
	if d.Validity != "" {
		parts[1] = "validity " + d.Validity
	}
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
	for _, claim := range []struct {
		made bool
		text string
	}{{d.Fair, "fair"}, {d.ReadWrite, "readers and writers"}, {d.Sessions, "tells its sessions"}, {d.NoExpiry, "never expires"},
		{d.Permits > 1, fmt.Sprintf("%d permits", d.Permits)}} {
		if claim.made {
			parts = append(parts, claim.text)
		}
	}
	return l.Name + ": " + strings.Join(parts, " · ")
}

var (
	wordless = regexp.MustCompile(`[^a-z0-9]+`)
	versions = regexp.MustCompile(`\s+v?[0-9][0-9A-Za-z.+~-]*\s*$`)
)

// slug makes a scenario's word of what an adapter calls its lock: "redis-py Lock 4.3.4" is
// redis-py-lock.
func slug(name string) string {
	word := strings.Trim(wordless.ReplaceAllString(strings.ToLower(versions.ReplaceAllString(name, "")), "-"), "-")
	if word == "" {
		return "my-lock"
	}
	return word
}
