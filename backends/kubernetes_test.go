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
	conform(t, "kubernetes", 2*time.Second, clienttest.Run, kubernetes.Lease, kubernetes.LeaseCAS)
}
