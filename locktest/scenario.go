package locktest

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Scenario says what a test is to run. The zero value of each field but Service is of use.
type Scenario struct {
	// Service is the lock service that is started, by its name in `lockchaos list services`
	// ("redis", "etcd"), or "none" for a lock that needs no server.
	Service string
	// Fault is one of Faults; "" is "none".
	Fault string
	// TTL is the lock's lease or session time; 0: 500 ms, or the shortest that is usual with the
	// service, such as 2 s with etcd. Faults last as many leases as they must.
	TTL time.Duration
	// Store is "fenced" (it refuses a token older than one that it has seen) or "unfenced"; "": fenced if the lock claims fencing tokens.
	Store string
	// Clients is how many contend; 0: 4.
	Clients int
	// Duration is how long the workload lasts; 0: long enough for what the fault needs. Start, healing and probe come on top.
	Duration time.Duration
	// Seed is that of every random draw; 0: $LOCKCHAOS_SEED, or else a new one, which a failure tells.
	Seed uint64
	// Claims is what may be concluded from the lock's answers, and nothing else is held against it. A lock that is a clients.Declarer says it itself. Permits 0 here
	// is 1: an exclusive lock.
	Claims clients.Claims
	// Inherent allows what theory says that no lock of this kind prevents under this fault: a holder that is late, and the harm that it does to a
	// store without a fence. Whatever else is violated is a defect of the lock, and fails.
	Inherent bool
	// Expect says of some properties how they are to come out; then the others must pass, or not be judged. For a lock that is broken on purpose.
	Expect scenarios.Expect
	// Custom is a scenario of your own, in the place of all of the above but Service, Seed, Claims and Inherent. It needs no name and no lock.
	Custom *scenarios.Scenario
}

// Nodes is what a client of the lock is opened with.
type Nodes struct {
	// Addrs are the addresses of the service's nodes, host:port.
	Addrs []string
	// TTL is the lease or session time that the scenario is made for.
	TTL time.Duration
	// Client is the client's number, from 1.
	Client int
	// Seed is for whatever the lock draws at random, so that a plan repeats; never for the value that recognises a grant, which must be random beyond it.
	Seed uint64
	// Config is the same and more, as the locks of package clients take it.
	Config clients.Config
}

// Open opens one client of the lock under test. It is called in the client's process.
type Open func(Nodes) (clients.Lock, error)

// leaseTTL is the TTL where the service has no usual one.
const leaseTTL = 500 * time.Millisecond

func (s Scenario) ttl() time.Duration {
	k, _ := backends.Lookup(s.Service)
	return cmp.Or(s.TTL, k.TTL, leaseTTL)
}

// claims are those of the scenario, completed.
func (s Scenario) claims() clients.Claims {
	c := s.Claims
	if c.Permits == 0 {
		c.Permits = 1
	}
	if c.Token == "" {
		c.Token = "none"
	}
	return c
}

// kind is the lock as the harness knows it.
func (s Scenario) kind(lock string) clients.Kind {
	return clients.Kind{Name: lock, Service: scenarios.ServiceNamed(s.Service), Claims: s.claims()}
}

// full is the whole scenario of a test of that name.
func (s Scenario) full(test string) (scenarios.Scenario, error) {
	lock := lockName(test)
	if s.Custom != nil {
		out := *s.Custom
		out.Lock = lock
		if out.Name == "" {
			out.Name = lock + "/custom"
		}
		return out, nil
	}
	f, err := faultNamed(s.Fault)
	if err != nil {
		return scenarios.Scenario{}, err
	}
	ttl := scenarios.Duration(s.ttl())
	out := scenarios.Scenario{Name: lock + "/" + f.name + "/" + s.store(), Lock: lock, About: f.about, TTL: ttl, Clients: 4, Keys: 1,
		Store: scenarios.Store{Kind: s.store()}, Duration: scenarios.Duration(s.Duration), Needs: scenarios.Needs{Grants: 20, Handovers: 5},
		Workload: scenarios.Workload{Kind: "counter", Guard: "none", Think: ms(5, 20), Rest: ms(5, 30), AcquireTimeout: max(8*second, 4*ttl), OpTimeout: 8 * second},
		Expect:   s.Expect}
	if s.Clients > 0 {
		out.Clients = s.Clients
	}
	if f.check {
		out.Workload.Guard = "check"
	}
	length := 4 * second
	if f.make != nil {
		fault := f.make(ttl)
		out.Faults, out.Needs.Bites = []scenarios.Fault{fault}, f.bites
		out.Workload.OpTimeout = max(out.Workload.OpTimeout, 2*fault.For)
		// A fault more than must strike can.
		length = max(length, second+fault.After+scenarios.Duration(f.bites+1)*(max(fault.For, ttl)+fault.Every.Max)+ttl)
	}
	if out.Duration == 0 {
		out.Duration = length
	}
	return out, nil
}

func (s Scenario) store() string {
	switch {
	case s.Store != "":
		return s.Store
	case s.Claims.Token == "fencing":
		return "fenced"
	}
	return "unfenced"
}

const second = scenarios.Duration(time.Second)

// ms is a range of milliseconds.
func ms(least, most int) scenarios.Range {
	return scenarios.Range{Min: scenarios.Duration(least) * scenarios.Duration(time.Millisecond), Max: scenarios.Duration(most) * scenarios.Duration(time.Millisecond)}
}

var wordless = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// lockName is what the lock of a test is called: TestMyLock/deep is MyLock-deep.
func lockName(test string) string {
	name := strings.Trim(wordless.ReplaceAllString(strings.TrimPrefix(test, "Test"), "-"), "-_")
	if name == "" {
		return "lock"
	}
	return name
}

// smoke tells whether the scenario is run with -short, too.
func (s Scenario) smoke() bool {
	f, err := faultNamed(s.Fault)
	return s.Custom == nil && (err != nil || f.smoke)
}

func faultNamed(name string) (fault, error) {
	if name == "" {
		name = noFault
	}
	i := slices.IndexFunc(faults, func(f fault) bool { return f.name == name })
	if i < 0 {
		return fault{}, fmt.Errorf("there is no fault %q: one of %s; or say what you want with Scenario.Custom", name, strings.Join(Faults(), ", "))
	}
	return faults[i], nil
}
