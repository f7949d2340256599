package worker

import (
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
)

// TestMain runs everything in a private network.
func TestMain(m *testing.M) { hoststest.Main(m, nil) }
