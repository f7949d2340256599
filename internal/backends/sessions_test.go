package backends_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/backends"
)

// Where clients have no sessions, none can be ended, and that is said.
func TestServicesWithoutSessions(t *testing.T) {
	for _, k := range backends.Kinds() {
		if want := k.Name == "etcd" || k.Name == "zookeeper" || k.Name == "postgres" || k.Name == "consul" ||
			k.Name == "mariadb" || k.Name == "mariadb-galera"; k.HasSessions() != want {
			t.Errorf("%s has sessions: %v", k.Name, !want)
		}
	}
	s := &backends.Service{Name: "redis"}
	if _, err := s.Expire(t.Context(), backends.Client{}); err == nil || !strings.Contains(err.Error(), "no sessions") {
		t.Errorf("redis: %v", err)
	}
	s = &backends.Service{Name: "etcd"}
	if _, err := s.Expire(t.Context(), backends.Client{}); !errors.Is(err, backends.ErrUntold) {
		t.Errorf("a client that told of no session: %v", err)
	}
}
