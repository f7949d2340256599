// Package harness runs one plan: it starts the services, drives the clients, injects the faults and writes the history.
//
// A client is a process of its own, a worker, on a host of its own. The worker plays the application: it holds the lock and
// writes to the store. The harness drives it over its standard input and output, one op at a time: it records the invocation, sends a
// line, receives a line and records the completion, all on one monotonic clock. Since the harness takes every step, a fault can
// be aimed at the step between two ops: the worker is stopped there, the next op is sent to the stopped process, and
// carried out when it wakes up, just as an application goes on with its next line of code after a pause of the world.
//
// One process runs one plan inside one private network (package hosts), so scenarios can run side by side and a crash hurts
// one of them.
package harness
