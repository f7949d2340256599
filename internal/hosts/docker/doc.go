// Package docker runs nodes in containers, and the inner program beside them,
// so that faults reach a container as they reach a host of our own.
//
// # How
//
//	outer        the command that the user started; speaks to the engine and needs nothing else, no root
//	├ network    one bridge a scenario, with its own range of addresses: containers in the lower half, hosts in the upper
//	├ nodes      a container each, from an image of the service, with a fixed address
//	└ agent      a container of ours: the same program once more, as the inner one
//
// The agent's image holds nothing but this very program, which must be linked statically; it
// is imported into the engine when it is not there. The agent shares the machine's network
// and processes, and has five capabilities more than containers have. In it runs what runs
// in a sandbox else: it joins the bridge (hosts.Join), plugs a host into it for each client
// and for the store, and attaches to the nodes (hosts.Attach) by the process numbers that
// outer tells it. The folder of the run is mounted at the path that it has outside.
//
// A project of docker-compose is the same but for the containers, which are
// found by their labels and are neither started nor stopped (FindProject).
//
// # What is guaranteed
//
//   - Outer ends: the agent's standard input ends, it heals, kills the nodes that it was told
//     to own, and goes; the engine removes the containers. That holds for SIGKILL too. The
//     network stays, and what was between its making and the agent's start: labels say whose
//     it was, and Clean, which every run begins with, removes it when that process is no more.
//   - What belongs to a living run is never removed, another user's or another
//     namespace's included.
//   - No port is published.
//   - Errors name the node and show the end of its log.
//
// The engine must be one of this machine: the agent reaches nodes through the
// kernel that they share.
package docker
