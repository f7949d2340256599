package backends_test

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/kubernetes"
)

func TestKubernetesConformance(t *testing.T) {
	t.Parallel()
	needService(t, "kubernetes")
	conform(t, "kubernetes", 2*time.Second, clienttest.Run, kubernetes.Lease)
}

// TestKubernetesControl: who does not look gives another's lease back.
func TestKubernetesControl(t *testing.T) {
	t.Parallel()
	needService(t, "kubernetes")
	conform(t, "kubernetes", 2*time.Second, func(t *testing.T, kind clients.Kind, s clienttest.Service) {
		clienttest.RunControl(t, kind, s, []string{"a stale grant", aFrozenHolder}, nil)
	}, kubernetes.BrokenRelease)
}
