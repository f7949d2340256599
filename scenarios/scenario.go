package scenarios

import "time"

// Scenario is one experiment and what it is expected to show.
type Scenario struct {
	// Name is lock/fault/store by custom; unique in its suite.
	Name string `yaml:"name"`
	// About says in a sentence what the scenario is to show.
	About string `yaml:"about,omitempty"`
	// Attack is the name of the exam's attack that the scenario makes; "": it is none.
	Attack string `yaml:"attack,omitempty"`
	// Lock is the name of a lock of the catalogue (`lockchaos list locks`).
	Lock string `yaml:"lock"`
	// Adapter is the program that is the lock, where it is none of the catalogue.
	Adapter Adapter `yaml:"adapter,omitempty"`
	// App is the user's own application, where its containers are the clients.
	App *App `yaml:"app,omitempty"`
	// TTL is the lock's lease or session time.
	TTL Duration `yaml:"ttl"`
	// Clients is how many contend; each is a process on a host of its own.
	Clients int `yaml:"clients"`
	// Twins is how many of the clients, the first ones, have one identity: the same configured
	// name, name of the host and number of the process. 0: none.
	Twins int `yaml:"twins,omitempty"`
	// Keys is how many lock keys there are; each protects a record of its own in the store.
	Keys     int      `yaml:"keys"`
	Store    Store    `yaml:"store"`
	Workload Workload `yaml:"workload"`
	// Duration is how long the workload runs; start, healing and the probe come on top.
	Duration Duration `yaml:"duration"`
	// Quiet is how long before the end of the workload no fault comes any more:
	// all are healed, and the clients go on.
	Quiet  Duration `yaml:"quiet,omitempty"`
	Faults []Fault  `yaml:"faults,omitempty"`
	Needs  Needs    `yaml:"needs"`
	// Enough ends the workload before Duration, once it has shown so many times
	// what it needs and every planned fault has bitten. 0: never.
	Enough int    `yaml:"enough,omitempty"`
	Expect Expect `yaml:"expect"`
}

// Workload is what every client does, again and again.
type Workload struct {
	// Kind is the workload's name: "counter", "payment", "leader", "transfer",
	// "queue", "semaphore", "sets", "transaction", "relay", "stampede", "steps", "job".
	Kind string `yaml:"kind"`
	// Guard is "none" (the application trusts its acquire) or "check" (it asks
	// the lock before each write, or goes by what a renewal answers, and stops
	// on a lost-event), or "told" (it asks nothing, and stops on a lost-event).
	Guard string `yaml:"guard"`
	// Ask: the application asks the lock before each write, if the lock can be
	// asked, and goes on whatever it answers. With guard "check" it asks anyway.
	Ask bool `yaml:"ask,omitempty"`
	// Renew: the application renews its grant before each write, if the lock is
	// one that is renewed so, and goes on whatever it answers.
	Renew bool `yaml:"renew,omitempty"`
	// NeverRelease: where the application would release, its client is killed,
	// and a fresh process takes its place. The grant ends by itself.
	NeverRelease bool `yaml:"never_release,omitempty"`
	// Order is how a transfer takes its two locks: "ordered" (one order for all), "unordered" (as
	// they come), "try" (as they come, but the second is waited for only for TryFor; then both
	// are given up, and tried again after a while). In workload transaction it is what comes
	// first at the end: "commit-first" (right), "release-first" (wrong).
	Order  string   `yaml:"order,omitempty"`
	TryFor Duration `yaml:"try_for,omitempty"`
	// Isolation (transaction) is the isolation level: "read-committed", "repeatable-read",
	// "serializable".
	Isolation string `yaml:"isolation,omitempty"`
	// Readers (counter, queue) is the share of the rounds in which the client
	// is a reader of a reader-writer lock, from 0 to 1: it acquires the key
	// beside other readers, reads, thinks and reads again.
	Readers float64 `yaml:"readers,omitempty"`
	// NextAfter (relay) is how long after a client's grant the next one asks,
	// also while the first still works; not given: when it has released the key.
	NextAfter Range `yaml:"next_after,omitempty"`
	// Every (job) is the period: the job is due whenever the wall clock shows a multiple of it.
	Every Duration `yaml:"every,omitempty"`
	// Think is how long a holder works between read and write; Rest how long it
	// stays away after its release.
	Think Range `yaml:"think"`
	Rest  Range `yaml:"rest"`
	// AcquireTimeout bounds one acquire, OpTimeout every other call.
	AcquireTimeout Duration `yaml:"acquire_timeout"`
	OpTimeout      Duration `yaml:"op_timeout"`
}

// Fault is one kind of fault, or a combination of some, and when it comes.
type Fault struct {
	// Kind is the fault's name (`lockchaos list faults`): "pause", "kill",
	// "partition", "expire-session". A combination has none.
	Kind string `yaml:"kind,omitempty"`
	// Target is whom it hits: "holder", "next-waiter" (of those that wait for a key which another
	// holds, the one that asked first), "random-client", "all-clients"; a node of the lock service
	// ("redis-2"), or so many of them, drawn anew each time: "nodes:3", "minority", "majority";
	// "leader" or "primary", whom the service names; or "service", all of them, to be split.
	Target string `yaml:"target,omitempty"`
	// When is the moment aimed at: "acquiring" (an acquire is under way; a holder is then one
	// that is about to be), "after-grant", "between-read-and-write", "while-renewing" (a renewal
	// is under way), "before-write", "before-commit" (workload transaction), "before-release", or
	// "random" (any moment).
	When string `yaml:"when,omitempty"`
	// For is how long it lasts; of a kill, how long the client stays away before a
	// fresh process takes its place (may be 0); of a crash-restart, how long the
	// nodes stay down. A reset, and a cut that is not silent, are over at once.
	For Duration `yaml:"for,omitempty"`
	// After is the quiet time before the first, Every the time from the end of
	// one to the arming of the next.
	After Duration `yaml:"after,omitempty"`
	Every Range    `yaml:"every,omitempty"`
	// At are the times of the run at which it comes, instead: "2s", "2s±200ms", or a list of
	// such. Grant are the numbers of the grants after which it comes, counted over all clients.
	At    Instants `yaml:"at,omitempty"`
	Grant Numbers  `yaml:"grant,omitempty"`

	// Sequence are faults that come one after the other, Together faults that
	// strike the same victims at the same moment, Mix faults of which one is
	// drawn each time, by their Weight (1, where it is not given). What the
	// combination says of target, when and for holds for all its parts.
	Sequence []Fault `yaml:"sequence,omitempty"`
	Together []Fault `yaml:"together,omitempty"`
	Mix      []Fault `yaml:"mix,omitempty"`
	Weight   int     `yaml:"weight,omitempty"`

	// Peers (faults of links) says whom the target's links lead to on which the fault lies:
	// "all" (not given), "service", "store", "clients" (of a node), or nodes as in Target.
	Peers string `yaml:"peers,omitempty"`
	// Way (faults of links) is "both" (not given), "in" (what is sent to the
	// target) or "out" (what it sends).
	Way string `yaml:"way,omitempty"`
	// Shape (partition of the service) says how it is split: "halves",
	// "majority-minority", "majorities-ring", "bridge", "isolate-one", "one-way".
	Shape string `yaml:"shape,omitempty"`

	// Clock (faults of clocks) is "wall" or "mono". By is how far it jumps,
	// Rate how fast it runs (1 is true), Period how often a strobe jumps.
	Clock  string   `yaml:"clock,omitempty"`
	By     Offset   `yaml:"by,omitempty"`
	Rate   float64  `yaml:"rate,omitempty"`
	Period Duration `yaml:"period,omitempty"`

	// Delay (faults of links) is how late packets are, Jitter by how much that varies, Probability
	// that of a packet to be lost, sent twice or not delayed, BytesPerSecond what a link carries,
	// MaxBytes the size of the largest packets that it does.
	Delay          Duration `yaml:"delay,omitempty"`
	Jitter         Duration `yaml:"jitter,omitempty"`
	Probability    float64  `yaml:"probability,omitempty"`
	BytesPerSecond int64    `yaml:"bytes_per_second,omitempty"`
	MaxBytes       int      `yaml:"max_bytes,omitempty"`

	// Request (hold, cut, kill-at-reply) is the client's request that is meant, the next one:
	// "acquire", "renew", "release", "read", "write". Point (cut) is "before-request",
	// "after-request" or "after-reply"; Silent: the connection is not reset but falls silent.
	Request string `yaml:"request,omitempty"`
	// InTurn (hold, cut, kill-at-reply): the first request of one call is
	// meant, then the second of another, and so on, and then the first again.
	InTurn bool   `yaml:"in_turn,omitempty"`
	Point  string `yaml:"point,omitempty"`
	Silent bool   `yaml:"silent,omitempty"`

	// Share (throttle) is the part of the time in which the target runs, in rounds of Period.
	Share float64 `yaml:"share,omitempty"`
	// Data (crash-restart) is what a node knows when it is started again:
	// "kept" (not given) or "lost".
	Data string `yaml:"data,omitempty"`
}

// Label names the fault in a few words joined by dashes, for headings.
func (f *Fault) Label() string {
	if len(f.Parts()) > 0 {
		return f.combined()
	}
	label := f.Kind + "-" + f.Target
	for _, part := range []string{f.Clock, f.Request, f.Point, f.Peers, f.Way, f.Shape, f.Data} {
		if part != "" {
			label += "-" + part
		}
	}
	return label
}

// momentary reports whether the fault is over as soon as it has struck, however
// long its consequences last.
func (f *Fault) momentary() bool {
	return f.Spec().Momentary()
}

// Needs is what a run must have done before its pass means anything; less is
// inconclusive. What a scenario does not name is 20 grants, 5 contended hand-overs and,
// if faults are planned, 1 bite: a fault that took effect on what it was aimed at.
type Needs struct {
	Grants    int `yaml:"grants"`
	Handovers int `yaml:"handovers"`
	Bites     int `yaml:"bites,omitempty"`
}

// usualNeeds are those of a scenario that names none.
var usualNeeds = Needs{Grants: 20, Handovers: 5}

// complete sees to it that a planned fault has to strike: a run whose faults
// never met a holder shows nothing about them.
func (n *Needs) complete(faults []Fault) {
	n.Bites = max(n.Bites, min(len(faults), 1))
}

// Expect is what theory says: an outcome for each property, and the severity of the
// whole. Properties that are not named are expected to pass, or not to be judged.
type Expect struct {
	Properties map[string]string `yaml:"properties,omitempty"`
	// Kinds names, of a property that is expected to be violated, the kinds of which one violation
	// at least must be; not given: any.
	Kinds map[string][]string `yaml:"kinds,omitempty"`
	// Severity is "none", "untested", "contained" or "corrupting"; empty: any.
	Severity string `yaml:"severity,omitempty"`
	// Why gives the reason in a sentence or two, for the report.
	Why string `yaml:"why,omitempty"`
	// Inherent: what is allowed here is what no lease prevents, and is told as
	// such (run --inherent).
	Inherent bool `yaml:"inherent,omitempty"`
	// Relied are properties that the faults break through what the lock relies on: a
	// clock, the memory of its service. Violated, they are no defect of the lock (exam).
	Relied []string `yaml:"relied,omitempty"`
}

// Suite is a list of scenarios under one name.
type Suite struct {
	Name      string     `yaml:"suite"`
	About     string     `yaml:"about,omitempty"`
	Scenarios []Scenario `yaml:"scenarios"`
	// Places tells where each scenario, by its name, is written.
	Places map[string]Place `yaml:"-"`
}

// Place is a line of a file; of one of lockchaos's own sources, if it is Builtin.
type Place struct {
	File    string
	Line    int
	Builtin bool
}

// Duration is a time.Duration that reads and writes as "500ms".
type Duration time.Duration

// Std returns the value as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes the duration as Go does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Offset is a duration that may be negative: "1h", "-30s".
type Offset time.Duration

// Std returns the value as the standard library's type.
func (o Offset) Std() time.Duration { return time.Duration(o) }

// MarshalText writes the offset as Go does.
func (o Offset) MarshalText() ([]byte, error) { return []byte(time.Duration(o).String()), nil }

// Range is a duration drawn evenly from [Min, Max]; it reads and writes as
// "20ms..40ms", or as one duration.
type Range struct{ Min, Max Duration }

func (r Range) String() string {
	if r.Min == r.Max {
		return r.Min.String()
	}
	return r.Min.String() + ".." + r.Max.String()
}

// MarshalText writes the range as it is read.
func (r Range) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
