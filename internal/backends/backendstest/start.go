package backendstest

import (
	"context"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// Main runs the tests of a package inside a sandbox in which services can be started. The clients
// that they kill are children of the test binary: kinds are the locks that those open.
func Main(m *testing.M, kinds ...clients.Kind) {
	// nodes that tests stop are no news, and would bury what a failing test says
	logging.Disable()
	// the user's; a test that wants another Redis sets it, and can't run beside others
	os.Unsetenv(backends.RedisVar)
	clienttest.Child(kinds...)
	hoststest.Main(m, map[string]func([]string) int{"node": backends.NodeMain})
}

// Start starts a service on a network of its own.
func Start(t testing.TB, name string) *backends.Service {
	t.Helper()
	return StartSpec(t, backends.Spec{Service: name})
}

// StartSpec starts a service as it is wanted.
func StartSpec(t testing.TB, spec backends.Spec) *backends.Service {
	t.Helper()
	n, _ := hoststest.Network(t)
	spec.Logs = t.TempDir()
	s, err := backends.Start(Limit(t), n, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Limit is how long a test waits for what must come.
func Limit(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), decided.Limit)
	t.Cleanup(cancel)
	return ctx
}

// Shortly is how long a test waits for what must not come.
func Shortly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// Need skips a test where a program is missing that the service needs.
func Need(t testing.TB, name string) {
	t.Helper()
	if slices.Contains([]string{"consul", "s3", "kubernetes"}, name) {
		needed.Later(t, name+" is built from source")
	}
	k, _ := backends.Lookup(name)
	needed.Be(t, k.Startable(false))
}

// NeedRedis skips a test that needs the real server, where there is none.
func NeedRedis(t testing.TB) { t.Helper(); needed.Program(t, "redis-server") }

// LocalAddr is the address from which this process reaches another.
func LocalAddr(t *testing.T, to string) string {
	conn, err := net.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.LocalAddr().String()
}

// Leads checks that the service names its leader.
func Leads(t testing.TB, s *backends.Service, want string) {
	t.Helper()
	if got, err := s.Leader(Limit(t)); err != nil || got != want {
		t.Errorf("the leader is %q, not %q: %v", got, want, err)
	}
}
