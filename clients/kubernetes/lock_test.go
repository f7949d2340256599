package kubernetes_test

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/kubernetes"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
)

func TestMain(m *testing.M) { backendstest.Main(m, kubernetes.Lease, kubernetes.BrokenRelease) }

func TestKubernetesConformance(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "kubernetes")
	backendstest.Conform(t, "kubernetes", 2*time.Second, clienttest.Run, kubernetes.Lease)
}

// TestKubernetesControl: who does not look gives another's lease back.
func TestKubernetesControl(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "kubernetes")
	backendstest.Conform(t, "kubernetes", 2*time.Second, func(t *testing.T, kind clients.Kind, s clienttest.Service) {
		clienttest.RunControl(t, kind, s, []string{"a stale grant", clienttest.FrozenHolder}, nil)
	}, kubernetes.BrokenRelease)
}
