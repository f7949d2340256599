package backendstest

import (
	"testing"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/decided"
)

// Requests returns how many requests the service has handled. A node may have no figure just now,
// while a leader is elected: it is asked until it has one.
func Requests(t testing.TB, s *backends.Service) (n int64) {
	t.Helper()
	decided.Await(t, s.Name+" tells how many requests it has handled", func() (told bool) {
		var err error
		if n, err = s.Requests(t.Context()); err != nil {
			t.Log(err)
		}
		return err == nil
	})
	return n
}
