package docker

import (
	"os"
	"testing"

	"github.com/testcontainers/testcontainers-go"
)

// TestStartIsCheap: package early was initialized before testcontainers-go,
// which found no processes to look at and took a random name.
func TestStartIsCheap(t *testing.T) {
	if len(testcontainers.SessionID()) == 64 { // the sum of what it found; a UUID is shorter
		t.Errorf("testcontainers-go has looked at every process of the machine, in each process of ours: its session is %q", testcontainers.SessionID())
	}
	if set, is := os.LookupEnv("HOST_PROC"); is {
		t.Errorf("children inherit HOST_PROC=%s", set)
	}
}
