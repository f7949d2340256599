package hoststest

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// burnFor is how long a process burns that nobody ends.
const burnFor = 30 * time.Second

// Burn is a verb that keeps the first processor of the machine busy. Several of
// them starve each other.
func Burn([]string) int {
	runtime.LockOSThread()
	err := toFirst()
	if err != nil {
		fmt.Fprintln(os.Stderr, "burn:", err)
		return 1
	}
	for end := time.Now().Add(burnFor); time.Now().Before(end); {
	}
	return 0
}

// toFirst keeps the calling thread on the first processor that it may use.
func toFirst() error {
	var may, first unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return err
	}
	for i := 0; first.Count() == 0; i++ {
		if may.IsSet(i) {
			first.Set(i)
		}
	}
	return unix.SchedSetaffinity(0, &first)
}
