//go:build !linux && !wasip1

package locktest

// serve is never called: there are no clients of Run here.
func serve(Scenario, Open) {}
