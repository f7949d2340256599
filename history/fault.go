package history

// PlannedFault is a fault of the scenario as it was planned, whatever became of it. FaultInfo.Plan counts them from 1.
type PlannedFault struct {
	Kind   string `json:"kind"`
	Target string `json:"target,omitempty"`
	When   string `json:"when,omitempty"`
	// Text is the rest of the plan, in the scenario's own words: "for 1.5s, after 200ms, every 800ms..1.2s".
	Text string `json:"text,omitempty"`
}
