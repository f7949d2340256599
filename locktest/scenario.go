package locktest

import (
	"regexp"
	"strings"
	"time"

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
	// Store is "fenced" (it refuses a token older than one that it has seen) or
	// "unfenced"; "": fenced if the lock claims fencing tokens.
	Store string
	// Clients is how many contend; 0: 4.
	Clients int
	// Duration is how long the workload lasts; 0: long enough for what the
	// fault needs. Start, healing and probe come on top.
	Duration time.Duration
	// Seed is that of every random draw; 0: $LOCKCHAOS_SEED, or else a new one,
	// which a failure tells.
	Seed uint64
	// Seeds is how many seeds Simulate runs, each a subtest: Seed, and those
	// after it; 0: one. With -short it is one.
	Seeds int
	// Claims is what may be concluded from the lock's answers, and nothing else is held against it.
	// A lock that is a clients.Declarer says it itself. Permits 0 here is 1: an exclusive lock.
	Claims clients.Claims
	// Inherent allows what theory says that no lock of this kind prevents under this
	// fault: a holder that is late, and the harm that it does to a store without a
	// fence. Whatever else is violated is a defect of the lock, and fails.
	Inherent bool
	// Expect says of some properties how they are to come out; then the others
	// must pass, or not be judged. For a lock that is broken on purpose.
	Expect scenarios.Expect
	// Custom is a scenario of your own, in the place of all of the above but
	// Service, Seed, Claims and Inherent. It needs no name and no lock.
	Custom *scenarios.Scenario
}

// Nodes is what a client of the lock is opened with.
type Nodes struct {
	// Addrs are the addresses of the service's nodes, host:port.
	Addrs []string
	// Account is one with a password at the service, for libraries that insist
	// on one; nil: the service has none, or is somebody else's.
	Account *clients.Account
	// TTL is the lease or session time that the scenario is made for.
	TTL time.Duration
	// Client is the client's number, from 1.
	Client int
	// Seed is for whatever the lock draws at random, so that a plan repeats; never
	// for the value that recognises a grant, which must be random beyond it.
	Seed uint64
	// Config is the same and more, as the locks of package clients take it.
	Config clients.Config
}

// Open opens one client of the lock under test. It is called in the client's process.
type Open func(Nodes) (clients.Lock, error)

// Examination says which lock is examined, and how thoroughly. The zero value
// of each field but Service and Claims is of use.
type Examination struct {
	// Service, TTL and Seed are as those of a Scenario.
	Service string
	TTL     time.Duration
	Seed    uint64
	// Claims is what the lock promises. The attacks follow from it, so it must
	// be given here, also of a lock that is a clients.Declarer.
	Claims clients.Claims
	// Every is the period of the job, of a scheduler; 0: half its lease, which is 1 s at the least.
	Every time.Duration
	// KeepsAlive: the lock renews a grant by itself for as long as its holder lives.
	KeepsAlive bool
	// Short: only the most telling attacks are made, as with -short. Attacks,
	// where there are any, names those that are made.
	Short   bool
	Attacks []string
	// Simulated: the attacks are made in virtual time, as by Simulate; those
	// that do not exist there are logged with the reason.
	Simulated bool
}

// scenario is that of one attack.
func (e Examination) scenario(attack *scenarios.Scenario) Scenario {
	return Scenario{Service: e.Service, Seed: e.Seed, Claims: e.Claims, TTL: e.TTL, Custom: attack}
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
