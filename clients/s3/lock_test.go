package s3_test

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/s3"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
)

func TestMain(m *testing.M) { backendstest.Main(m, s3.Object, s3.Lease, s3.BrokenDelete) }

func TestS3Conformance(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "s3")
	backendstest.Conform(t, "s3", time.Second, clienttest.Run, s3.Lease)
}

// TestS3Controls: an object stays for ever where its owner can't delete it; an
// owner who does not look deletes another's.
func TestS3Controls(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "s3")
	for _, c := range []struct {
		kind   clients.Kind
		caught []string
	}{
		{s3.Object, []string{clienttest.KilledHolder, clienttest.FrozenHolder, "a frozen service", "close gives"}},
		{s3.BrokenDelete, []string{"a stale grant", clienttest.FrozenHolder}},
	} {
		backendstest.Conform(t, "s3", time.Second, func(t *testing.T, kind clients.Kind, s clienttest.Service) {
			clienttest.RunControl(t, kind, s, c.caught, nil)
		}, c.kind)
	}
}
