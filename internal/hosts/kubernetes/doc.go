// Package kubernetes runs nodes in pods, and the inner program beside them, so
// that faults reach a pod as they reach a host of our own.
//
// # How
//
//	outer        the command that the user started; speaks to the API server and needs nothing else
//	├ nodes      a pod each, from an image of the service; it begins to serve when it is told the addresses of all
//	├ seats      a pod each for every client and for the store, which holds an address and does nothing
//	└ agent      a privileged pod: the same program once more, as the inner one
//
// All pods of a scenario are on one node of the cluster, scenarios are spread
// over its nodes. So all processes of a scenario have one kernel and one clock,
// and what was stamped there needs no clock error; it also means that the links
// between nodes of the cluster are none that faults strike.
//
// The agent sees the processes of its node, and has five capabilities more than
// containers have. In it runs what runs in a sandbox else: its clients and its store
// live in the networks of the seats (hosts.NewSeats), and it attaches to the nodes
// (hosts.Attach) by the process numbers that it finds by the names of their containers.
// Nothing is asked of the cluster's network but that pods of one node reach each other.
//
// Pods are bare ones. A controller would start what a fault has killed,
// elsewhere and with another address.
//
// The pods of an application of the user's own (Members) are found, not made. They
// may be on several nodes: then each of those has an agent. The inner program is in
// one, and the others are its helpers. Each node stamps logs by its own clock, and
// the clocks are compared (package monotime/offset). When a controller replaces a
// pod, the new one is another client in its place (places): both may run for a while.
//
// # What is guaranteed
//
//   - Outer ends, or is heard no more for Silence: the agent heals, kills what
//     is its own, and goes. Faults need no API server to end.
//   - Outer ends before the agent has heard of it: the agent goes, when it has waited for a while.
//   - The agent is killed: its container is started again, and heals what it was told of.
//   - The agent's pod is ended, but not by force: it heals within its grace.
//   - What was left is removed by Clean: the pods of scenarios whose agent has ended.
//   - No port is published. All pods but the agent's keep the restricted Pod Security Standard.
package kubernetes
