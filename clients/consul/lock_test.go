package consul_test

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/consul"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
)

func TestMain(m *testing.M) {
	backendstest.Main(m, consul.Session, consul.Semaphore, consul.BrokenDeaf)
}

func TestConsulConformance(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "consul")
	backendstest.Conform(t, "consul", 2*time.Second, clienttest.Run, consul.Session, consul.Semaphore)
	backendstest.Conform(t, "consul", 2*time.Second, func(t *testing.T, kind clients.Kind, s clienttest.Service) {
		clienttest.RunControl(t, kind, s, []string{"a holder that hears nothing"}, []string{clienttest.FrozenHolder})
	}, consul.BrokenDeaf)
}
