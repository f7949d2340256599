// Package early makes the start of every process of lockchaos cheap. It has no
// dependencies, and hosts/docker alone imports it.
//
// testcontainers-go looks at every process of the machine when it is initialized, to
// give the processes of one `go test` one name. That costs each process that has it
// compiled in 10 to 60 ms of a processor, and lockchaos starts a process for each
// client and each node. lockchaos has no use for that name. The library reads processes
// where the variable HOST_PROC says; where it finds none, it takes a random name.
//
// Go initializes packages in the order of their import paths as soon as what they import
// is ready (The Go Programming Language Specification, "Program initialization"). So this
// package comes before testcontainers-go, and hosts/docker, which imports that, after it.
package early

import "os"

// variable says where to find processes. Restore takes it away again.
const variable = "HOST_PROC"

// nowhere is a folder that does not exist.
const nowhere = "/proc/self/nowhere"

var given, isGiven = os.LookupEnv(variable)

func init() {
	os.Setenv(variable, nowhere) // fails only for names that are none
}

// Restore gives the environment back what it had, so that no child inherits
// what this package has set.
func Restore() {
	if !isGiven {
		os.Unsetenv(variable)
		return
	}
	os.Setenv(variable, given) // as above
}
