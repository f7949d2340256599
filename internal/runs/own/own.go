// Package own is about locks of the user's own: programs in any language (package adapter). Meet
// starts such a program once, to learn what it declares. The Lock that comes of it takes the place
// of built-in locks in scenarios, and can be examined. A Trial tries the program on its service.
package own

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/clients/shell"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Program is a lock of the user's own, before it has been met.
type Program struct {
	// Command is its command line; "": there is no such lock. Service is the service that it uses.
	Command, Service string
	// Kind is adapter.KindJob of an instance of a scheduler, adapter.KindLeader of a candidate for
	// leadership, "" of a lock. Every is the period of its job; 0: half its lease.
	Kind  string
	Every time.Duration
	// Go is the folder of its Go package, where lockchaos compiles it.
	Go string
	// Shell are the shell commands that it is made of.
	Shell shell.Commands
	// TTL is what it is opened with; 0: its own lease where that can't be set,
	// else that of the scenarios, or the usual one of the service.
	TTL time.Duration
	// Least is the shortest lease that is wanted; 0: any.
	Least time.Duration
}

// Given reports whether there is such a lock.
func (p Program) Given() bool { return p.Command != "" || p.Go != "" || p.Shell.Given() }

// ShellLine is the command line of a lock that is made of shell commands: this program serves it.
func ShellLine(c shell.Commands) string {
	return reports.Shell(append([]string{os.Args[0], shell.Verb}, c.Words()...)...)
}

// Lock is a lock of the user's own, as it has introduced itself.
type Lock struct {
	Name    string
	Adapter scenarios.Adapter
	TTL     scenarios.Duration // 0: the scenario's
	Every   scenarios.Duration // the period of a job; 0: half its lease, or it is a lock
	Says    adapter.Declaration
	// eachCall: each of its calls is a process of its own.
	eachCall bool
	// given: the servers are the user's, and the runtime knows which nodes there are.
	given bool
}

// Meet starts the program once, where the run is to be. taken reports whether a built-in lock has a
// name.
func (p Program) Meet(ctx context.Context, where runtimes.Where, taken func(name string) bool) (*Lock, error) {
	if p.Go != "" && where.Runtime == runtimes.Virtual {
		return p.meetSimulated(ctx, taken)
	}
	if p.Go != "" {
		var err error
		if p.Command, err = p.build(ctx); err != nil {
			return nil, exit.Misuse(err)
		}
	}
	if p.Shell.Given() {
		p.Command = ShellLine(p.Shell)
	}
	a, err := Adapter(p.Command, p.Service)
	if err != nil {
		return nil, err
	}
	l := p.placeholder(a)
	l.given = where.Runtime == runtimes.External
	t := Trial{Adapter: a, TTL: l.TTL.Std(), Kind: p.Kind, Every: l.Every.Std(), Hello: true}
	if where.Runtime == runtimes.External {
		g, err := runtimes.ReadServers(where)
		if err != nil {
			return nil, exit.Misuse(err)
		}
		service, _ := backends.Lookup(a.Service)
		if missing := g.Missing(service); len(missing) > 0 {
			return nil, exit.Misuse(fmt.Errorf("--service %s needs the address of %s: --nodes", a.Service,
				strings.Join(missing, ", ")))
		}
		if err := g.Gather(ctx); err != nil {
			return nil, err
		}
		t.at = g.Of(a.Service)
		if err := g.Reach(ctx); err != nil { // before the program is started
			return nil, err
		}
	}
	if l.Says, err = t.introduced(ctx); err != nil {
		return nil, err
	}
	return l, p.introduced(l, taken)
}

// placeholder is the lock before it has said anything. It notes that the user has named the
// program.
func (p Program) placeholder(a scenarios.Adapter) *Lock {
	service, _ := backends.Lookup(a.Service)
	l := &Lock{Adapter: a, eachCall: p.Shell.Given() && !p.Shell.Holds(),
		TTL:   scenarios.Duration(max(cmp.Or(p.TTL, service.TTL), p.Least)),
		Every: scenarios.Duration(p.Every)}
	if p.Kind == adapter.KindLeader {
		l.Adapter.Kind = scenarios.Leader
	}
	if p.Kind == adapter.KindJob {
		l.TTL, l.Every = possible.JobTimes(a.Service, l.TTL, l.Every)
	}
	runs.Remember(runs.Starts([]scenarios.Plan{{Scenario: scenarios.Scenario{Adapter: l.Adapter}}}, nil))
	return l
}

// introduced takes over what the lock has said: what it is called, and its lease if that can't be
// set.
func (p Program) introduced(l *Lock, taken func(name string) bool) error {
	ttl, err := l.Says.TTL(p.TTL)
	if err != nil {
		return exit.Misuse(err)
	}
	if l.Says.Lease != 0 {
		l.TTL = scenarios.Duration(ttl)
		if p.Kind == adapter.KindJob && p.Every == 0 {
			l.Every = l.TTL / 2
		}
	}
	l.call(taken)
	return nil
}

// call gives the lock a name that no built-in lock has.
func (l *Lock) call(taken func(name string) bool) {
	if l.Name = slug(l.Says.Name); taken(l.Name) {
		l.Name = "my-" + l.Name
	}
}

// Kind is the lock as the harness knows it, with what it has declared.
func (l *Lock) Kind() clients.Kind {
	k := external.Declared(scenarios.ServiceNamed(l.Adapter.Service), l.Says)
	k.EachCall = l.eachCall
	return k
}

// Examinee is the lock as the table of attacks sees it.
func (l *Lock) Examinee() scenarios.Examinee {
	base := scenarios.Scenario{Lock: l.Name, Adapter: l.Adapter,
		TTL:   cmp.Or(l.TTL, scenarios.Duration(backends.UsualTTL(l.Adapter.Service))),
		Store: scenarios.Store{Kind: "unfenced"}}
	e := possible.Examinee(l.Kind(), base)
	e.Fixed, e.Every = l.Says.Lease != 0, l.Every
	for op, ability := range map[string]scenarios.Ability{adapter.OpRenew: scenarios.CanRenew,
		adapter.OpHeld: scenarios.CanBeAsked} {
		if l.Says.Does(op) && !slices.Contains(e.Abilities, ability) {
			e.Abilities = append(e.Abilities, ability)
		}
	}
	return e
}

// String says in words what the lock declares.
func (l *Lock) String() string {
	d := l.Says
	if d.Job != "" {
		return fmt.Sprintf("%s: %s · %s", l.Name, d.Name, l.jobClaims())
	}
	parts := []string{d.Name, "validity " + cmp.Or(d.Validity, "no claim"), "token " + d.Token}
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
	if d.Lease > 0 {
		parts = append(parts, fmt.Sprintf("a lease of %v, which can't be set", d.Lease))
	}
	for _, claim := range []struct {
		made bool
		text string
	}{{d.Fair, "fair"}, {d.ReadWrite, "readers and writers"}, {d.Sessions, "tells its sessions"},
		{d.NoExpiry, "never expires"},
		{d.Permits > 1, fmt.Sprintf("%d permits", d.Permits)},
		{d.MultiKey > 1, fmt.Sprintf("%d keys in one acquire", d.MultiKey)}} {
		if claim.made {
			parts = append(parts, claim.text)
		}
	}
	return l.Name + ": " + strings.Join(parts, " · ")
}

// jobClaims says in words what a scheduler declares.
func (l *Lock) jobClaims() string {
	d := l.Says
	parts := []string{d.Job, "misfire " + cmp.Or(d.Misfire, "no claim")}
	for _, claim := range []struct {
		made bool
		text string
	}{{d.Overlap, "executions may overlap"}, {d.Stops > 0, fmt.Sprintf("stops within %v after a loss", d.Stops)},
		{d.Handover > 0, fmt.Sprintf("hands over within %v", d.Handover)},
		{d.Lease > 0, fmt.Sprintf("a lease of %v, which can't be set", d.Lease)}} {
		if claim.made {
			parts = append(parts, claim.text)
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("a period of %v", l.Every)), " · ")
}

var (
	wordless = lazyregexp.New(`[^a-z0-9]+`)
	versions = lazyregexp.New(`\s+v?[0-9][0-9A-Za-z.+~-]*\s*$`)
)

// slug makes a scenario's word of what an adapter calls its lock: "redis-py Lock 4.3.4" is
// redis-py-lock.
func slug(name string) string {
	word := strings.Trim(wordless().ReplaceAllString(strings.ToLower(versions().ReplaceAllString(name, "")), "-"), "-")
	if word == "" {
		return "my-lock"
	}
	return word
}

// Replace puts the lock in the place of those that the scenarios name. say is
// told what is left out, and why.
func (l *Lock) Replace(c runs.Choice, tool *runs.Tool, say func(string)) (runs.Choice, error) {
	out := runs.Choice{Name: c.Name + " with " + l.Name, About: c.About}
	for _, s := range l.Substitutes(c.Scenarios, tool) {
		if why := l.Unfit(s, tool); why != "" {
			say("left out: " + s.Name + ": " + why)
			continue
		}
		s.Name, s.Lock, s.Adapter = l.Name+"/"+rest(s), l.Name, l.Adapter
		s.Expect = scenarios.Expect{} // what theory says of the other lock says nothing of this one
		// a defect that nobody knows may take longer than what theory expects
		s.Enough = 0
		if l.TTL > 0 {
			s = s.Stretched(l.TTL)
		}
		out.Scenarios = append(out.Scenarios, s)
	}
	if len(out.Scenarios) == 0 {
		return runs.Choice{}, exit.Misuse(fmt.Errorf("nothing is left to run: none of the scenarios of %q suits %s",
			c.Name, l.Says.Name))
	}
	return out, nil
}

// rest is what a scenario is called beside its lock: "pause-holder/unfenced".
func rest(s scenarios.Scenario) string { return strings.TrimPrefix(s.Name, s.Lock+"/") }

// Substitutes are the scenarios in which the lock is to take another's place: of those that differ
// only in their lock one, of the lock's own service if there is one.
func (l *Lock) Substitutes(all []scenarios.Scenario, tool *runs.Tool) (out []scenarios.Scenario) {
	same := func(s scenarios.Scenario) bool {
		k, _ := tool.Lock(s.Lock)
		return k.Service == l.Adapter.Service
	}
	for _, s := range all {
		i := slices.IndexFunc(out, func(o scenarios.Scenario) bool { return rest(o) == rest(s) })
		switch {
		case i < 0:
			out = append(out, s)
		case same(s) && !same(out[i]):
			out[i] = s
		}
	}
	return out
}

// Unfit says why the lock can't take the place of the scenario's lock; "" if it can.
func (l *Lock) Unfit(s scenarios.Scenario, tool *runs.Tool) string {
	kind, _ := tool.Lock(s.Lock)
	why := l.unfitStore(s, kind)
	if why == "" {
		why = l.unfitWorkload(s.Workload)
	}
	own, check := l.Kind(), possible.CheckFault
	if l.given {
		check = possible.CheckSomewhere
	}
	for _, fault := range s.Faults {
		for _, single := range fault.Singles() {
			if err := check(own, single); err != nil && why == "" {
				why = err.Error()
			}
		}
	}
	if why == "" {
		why = l.spared(s.Attack)
	}
	return why
}

// unfitStore says why the lock does not go with the scenario's store, or with what its lock shows.
func (l *Lock) unfitStore(s scenarios.Scenario, kind clients.Kind) string {
	switch {
	case (l.Says.Job != "") != (kind.Claims.Job != ""):
		return map[bool]string{true: "its lock is no scheduler, and this is one",
			false: "its lock is a scheduler, and this is none"}[l.Says.Job != ""]
	case s.External():
		return "its lock is an adapter already"
	case kind.Writes != "" || s.Store.Guarded():
		return "it shows what to do without a lock"
	case s.Store.Broken():
		return "its store is broken on purpose"
	case s.Store.Fenced() && l.Says.Token != "fencing":
		return "the lock declares no fencing token, so a fenced store would refuse its writes"
	}
	return ""
}

// unfitWorkload says why the lock does not go with the workload.
func (l *Lock) unfitWorkload(w scenarios.Workload) string {
	switch {
	case w.Kind == "queue":
		return "it is about a queue"
	case (w.Kind == "semaphore") != (l.Says.Permits > 1):
		return fmt.Sprintf("workload %s is for another number of permits than %d", w.Kind, l.Says.Permits)
	case w.Kind == "sets" && l.Says.MultiKey <= 1:
		return "it asks for several keys at once, and the lock does not declare multi_key"
	case w.Readers > 0 && !l.Says.ReadWrite:
		return "it has readers, and the lock does not declare read_write"
	case w.Guard == "check" && !l.Says.Does(adapter.OpHeld) && !external.Claims(l.Says).Tells():
		return "the application asks the lock before it writes, and this one can't be asked, nor does it tell of a loss"
	}
	return ""
}

// spared says why the attack makes no sense against the lock; "" if it does, or if there is none.
func (l *Lock) spared(attack string) string {
	if attack == "" {
		return ""
	}
	table, err := scenarios.Attacks()
	if err == nil {
		err = table.Applies(attack, l.Examinee())
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
