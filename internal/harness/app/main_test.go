package app

import (
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
)

// TestMain runs everything in a private network; the verbs are what the tests start as processes.
func TestMain(m *testing.M) {
	hoststest.Main(m, map[string]func([]string) int{"app": appVerb, "hook": hookVerb})
}
