// Package crash makes a crash of Go's runtime end the program with a status that is no result.
//
// A panic on any goroutine, a runtime that gets no memory or no thread: Go ends with
// status 2, and of lockchaos that means "inconclusive". With the traceback level
// "crash" Go ends itself by SIGABRT instead, and the handler here makes Status of that.
// Where there is no handler for the processor, the signal stands (a shell says 134).
package crash

import "runtime/debug"

// Status is the exit status after a crash: the harness failed.
const Status = 3

// Importing the package is enough. It is initialised early, so that few crashes come before.
func init() {
	debug.SetTraceback("crash")
	handle()
}
