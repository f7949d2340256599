package history

// PlannedFault is a fault of the scenario as it was planned, whatever became of
// it. FaultInfo.Plan counts them from 1.
type PlannedFault struct {
	Kind   string `json:"kind"`
	Target string `json:"target,omitempty"`
	When   string `json:"when,omitempty"`
	// Text is the rest of the plan, in the scenario's own words: "for 1.5s,
	// after 200ms, every 800ms..1.2s".
	Text string `json:"text,omitempty"`
	// Doc is the section of docs/faults.md that tells of it; see Section.
	Doc string `json:"doc,omitempty"`
}

// ClockReading is what the clocks of one process on a host showed at one
// instant, less true time: 0 is a clock that is right.
type ClockReading struct {
	// At is when, ns since Header.Origin.
	At   int64  `json:"at"`
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Wall and Mono are how far the wall clock and the monotonic clock were ahead, ns.
	Wall int64 `json:"wall_ns"`
	Mono int64 `json:"mono_ns"`
	// Step is "before", "begin", "end", "healed", or "" between beginning and end.
	Step string `json:"step,omitempty"`
}

// Touch says what a fault does to those whom it strikes. A judge and a report
// go by that, and know no fault by its name.
type Touch struct {
	// Stops is what stands still while the fault lasts: one of Stops….
	Stops string `json:"stops,omitempty"`
	// Ends is what the fault ends for good: one of Ends….
	Ends string `json:"ends,omitempty"`
	// Severs: no packet passes where the fault lies. Other faults of links let
	// some pass, or all in the end.
	Severs bool `json:"severs,omitempty"`
	// Clock is the clock that the fault makes wrong: "wall" or "mono".
	Clock string `json:"clock,omitempty"`
	// Strobes: that clock jumps to and fro.
	Strobes bool `json:"strobes,omitempty"`
	// Sudden: it is over as soon as it has struck, whatever follows from it,
	// and how long it took is of no interest.
	Sudden bool       `json:"sudden,omitempty"`
	Words  FaultWords `json:"words"`
}

// EndsClient reports whether the fault ends the processes of clients.
func (t Touch) EndsClient() bool { return t.Ends == EndsProcess || t.Ends == EndsClosed }

// LostLeader is that the nodes of a service were without a leader, and nobody had disturbed them.
var LostLeader = Touch{Stops: StopsProcesses, Words: FaultWords{Did: "had no leader",
	Plight: "had lost its leader", Doc: KindMachineStall}}

// FaultWords are how a report and a judge speak of a fault.
type FaultWords struct {
	// Did completes "was …". Bar is the same for a narrow place; empty: Did itself is short.
	Did string `json:"did,omitempty"`
	Bar string `json:"bar,omitempty"`
	// Client and Nodes complete "client 2 …" and "redis-2 …"; of a fault of
	// links, Links completes "Packets between … and …" instead.
	Client string `json:"client,omitempty"`
	Nodes  string `json:"nodes,omitempty"`
	Links  string `json:"links,omitempty"`
	// Over completes "client 2 …" when the fault is over; empty: goes on.
	Over string `json:"over,omitempty"`
	// Plight completes "client 2 … for 0.5 s".
	Plight string `json:"plight,omitempty"`
	// Doc is the section of docs/faults.md that tells of it.
	Doc string `json:"doc,omitempty"`
}

// What a fault stops.
const (
	StopsProcesses   = "processes"   // every thread
	StopsShare       = "share"       // every thread, for a part of the time
	StopsApplication = "application" // what the lock renews by itself is renewed
	// those that the lock makes by itself, while the application goes on
	StopsRenewals = "renewals"
)

// What a fault ends.
const (
	EndsProcess    = "process" // of a client
	EndsClosed     = "closed"  // the process of a client, once that has given up its lock and its session
	EndsConnection = "connection"
	EndsSession    = "session"
	EndsServer     = "server"  // to be started again
	EndsPrimary    = "primary" // whose place a replica takes
)
