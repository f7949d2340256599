package history

// PlannedFault is a fault of the scenario as it was planned, whatever became of it. FaultInfo.Plan counts them from 1.
type PlannedFault struct {
	Kind   string `json:"kind"`
	Target string `json:"target,omitempty"`
	When   string `json:"when,omitempty"`
	// Text is the rest of the plan, in the scenario's own words: "for 1.5s, after 200ms, every 800ms..1.2s".
	Text string `json:"text,omitempty"`
}

// ClockReading is what the clocks of one process on a host showed at one instant, less true time: 0 is a clock that is right.
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
