//go:build linux

package hosts_test

import (
	"os"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
)

// A process that works has more of the processors, and one that is gone has none.
func TestCPUTime(t *testing.T) {
	own := []int{os.Getpid()}
	before, err := hosts.CPUTime(own)
	if err != nil || before <= 0 {
		t.Fatal(before, err)
	}
	limit := time.Now().Add(limit)
	for {
		now, err := hosts.CPUTime(own)
		if err != nil {
			t.Fatal(err)
		}
		if now > before+time.Millisecond {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("%v after minutes of work, %v before", now, before)
		}
	}
	if gone, err := hosts.CPUTime([]int{1 << 30}); gone != 0 || err != nil {
		t.Errorf("a process that is not there had %v, %v", gone, err)
	}
}
