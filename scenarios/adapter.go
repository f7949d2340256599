package scenarios

import (
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// Adapter is a lock that is a program of the user's own, which speaks the protocol of
// docs/protocol.md. The scenario's Lock is then only what it is called. What it claims
// it says itself when it starts, so whether it suits a fenced store is known only then.
type Adapter struct {
	// Command is its command line, for a shell. Every client starts one.
	Command string `yaml:"command,omitempty"`
	// Kind is "leader" of a candidate for leadership, whose terms come by themselves; not given: it
	// is a lock or, with workload job, an instance of a scheduler.
	Kind string `yaml:"kind,omitempty"`
	// Go is the folder of the adapter's Go package, for the simulation, which
	// compiles it; Command is then empty.
	Go string `yaml:"go,omitempty"`
	// Dir is the folder that it starts in; not given: that in which lockchaos runs.
	Dir string `yaml:"dir,omitempty"`
	// Service is the lock service whose nodes it is given (`lockchaos list services`), or "none".
	Service string `yaml:"service"`
	// Memory is how much memory each client's adapter may use, with all that it starts, such as
	// "3GB"; not given: 1 GB, or what $LOCKCHAOS_ADAPTER_MEMORY says.
	Memory string `yaml:"memory,omitempty"`
}

// memoryForm is the form of a size of memory.
var memoryForm = lazyregexp.New(`^[1-9][0-9]{0,8} ?([mM]|[gG])[bB]$`)

// Leader is the kind of an adapter that is a candidate for leadership.
const Leader = "leader"

// NoService is the service of a lock that needs none.
const NoService = "none"

// ServiceNamed is the service that a word of a user's means; "": none.
func ServiceNamed(word string) string {
	if word == NoService {
		return ""
	}
	return word
}

// External reports whether the scenario's lock is an adapter.
func (s *Scenario) External() bool { return s.Adapter != Adapter{} }

// lock checks what the scenario's lock is. at and lockAt are as in scenario.
func (v *validator) lock(at, lockAt string, s *Scenario) {
	if !s.External() {
		v.oneOf(lockAt, "lock", s.Lock, v.catalogue.Locks)
		return
	}
	switch {
	case s.Adapter.Go != "" && s.Adapter.Command != "":
		v.fail(at+".adapter.go", "an adapter has a command, or a Go package that the simulation compiles: not both")
	case s.Adapter.Go == "" && strings.TrimSpace(s.Adapter.Command) == "":
		v.fail(at+".adapter.command", "an adapter needs a command: the command line that starts it")
	}
	if s.Adapter.Kind != "" {
		v.oneOf(at+".adapter.kind", "kind of adapter", s.Adapter.Kind, []string{Leader})
	}
	if m := s.Adapter.Memory; m != "" && !memoryForm().MatchString(m) {
		v.fail(at+".adapter.memory", "%q: give a size such as 512MB or 4GB", m)
	}
	v.leader(at, s)
	v.oneOf(at+".adapter.service", "service", s.Adapter.Service, append(slices.Clone(v.catalogue.Services), NoService))
	if !nameForm().MatchString(s.Lock) || strings.Contains(s.Lock, "/") {
		v.fail(lockAt, "%q: what an adapter's lock is called is a word of letters, digits, - and _", s.Lock)
	}
	if slices.Contains(v.catalogue.Locks, s.Lock) {
		v.fail(lockAt, "%s comes with lockchaos: call the adapter's lock something else", s.Lock)
	}
}

// leader refuses a workload that asks a candidate for what it can't be asked.
func (v *validator) leader(at string, s *Scenario) {
	switch w := s.Workload; {
	case s.Adapter.Kind != Leader:
	case w.Kind != counter && w.Kind != queue && w.Kind != leading:
		v.fail(at+".workload.kind", "a leader's workload is %s, %s or %s, not %s: it is not asked for keys", counter, queue, leading, w.Kind)
	case s.Keys != 1 || w.Readers != 0:
		v.fail(at+".keys", "a leader has one key, the election, and no readers")
	}
}

// service is that of the scenario's lock; known is false where there is no such lock.
func (v *validator) service(s *Scenario) (name string, known bool) {
	if s.Own() {
		return "", true
	}
	if s.External() {
		return s.Adapter.Service, s.Adapter.Service == NoService ||
			slices.Contains(v.catalogue.Services, s.Adapter.Service)
	}
	return v.catalogue.LockService[s.Lock], slices.Contains(v.catalogue.Locks, s.Lock)
}
