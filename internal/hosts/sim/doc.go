// Package sim runs Go programs in virtual time: unmodified lock libraries, against a Redis that
// needs no goroutine, on a network that exists in memory. The same seed gives the same run, host
// call by host call.
//
// A program is compiled to wasip1 ([Build]) and run by wazero. Its only way out is the host
// functions of this package (wasi.go): it reads a virtual clock, draws from a seeded stream, and
// dials hosts of the [World]. There is no file, no network and no clock of the machine.
//
// # Virtual time
//
// A World is a discrete-event simulation. Time stands still while a program computes, moves by a
// small cost at each host call, and jumps to the next event when nobody can run. One coroutine runs
// at a time. So all host calls of all programs, all segments on the wire and all faults stand in
// one order, which only the seed decides.
//
// # What is not simulated
//
// Programs run on one thread, with 32-bit pointers. So races between threads, cgo and assembly are
// not seen. TCP keeps its order, repeats what is lost, and has a sender wait whose bytes are not
// taken; there are no half-closed connections. The Redis is miniredis: its verdict is about the
// client library.
//
// # Bounds
//
// Programs, and the scripts they send, are not trusted. They get nothing of the
// machine, and what they take of it is bounded (bounds.go, redis_bounds.go, package
// script). A bound ends the run with a sentence, at the same call each time.
package sim
