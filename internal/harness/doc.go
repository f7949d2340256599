// Package harness runs one plan: it starts the services, drives the clients, injects the faults and
// writes the history.
//
// A client is a process of its own, a worker, on a host of its own. The worker plays the
// application: it holds the lock and writes to the store. The harness drives it over its standard
// input and output, one op at a time. It records the invocation, sends a line, receives a line and
// records the completion, all on one monotonic clock.
//
// The harness takes every step, so a fault can be aimed at the step between two ops. The worker is
// stopped there, and the next op is sent to the stopped process, which carries it out when it wakes
// up. So does an application go on with its next line of code after a pause of the world.
//
// One process runs one plan inside one private network (package hosts). So scenarios can run side
// by side, and a crash hurts only one of them.
package harness
