// Package scenarios says what a run is to do: the Scenario that a person writes in YAML, and the
// Plan that one seed makes of it.
//
// A Scenario is lock × workload × store × faults, with what is expected of every property. It is
// data only. The command knows which locks and services exist, and hands in the names for checking.
//
// Randomness ends at the Plan. One seed gives every client and every fault a stream of its own,
// named after it. So adding a draw to one leaves the others as they were. A real run repeats its
// plan, not its schedule: two runs of one plan differ in what the machine, the network and the
// service do between the planned steps.
package scenarios
