//go:build !linux

package locktest

import "testing"

// Run skips the test: faults need Linux.
func Run(t *testing.T, _ Scenario, _ Open) {
	t.Helper()
	t.Skip("locktest: not run: faults are injected into processes and networks of Linux; run the test there, in a container or a virtual machine, say")
}

// RunAll skips the test: faults need Linux.
func RunAll(t *testing.T, s Scenario, open Open) {
	t.Helper()
	Run(t, s, open)
}

// Exam skips the test: faults need Linux.
func Exam(t *testing.T, e Examination, open Open) {
	t.Helper()
	Run(t, Scenario{Service: e.Service}, open)
}

// Client tells whether this process is a client of a run.
func Client() bool { return false }
