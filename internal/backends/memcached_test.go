package backends_test

import (
	"testing"

	"github.com/lockchaos/lockchaos/internal/backends"
)

func TestMemcachedKeepsNothing(t *testing.T) {
	k, _ := backends.Lookup("memcached")
	if _, err := k.Task("memcached-1", backends.Place{Listen: "10.0.0.1", Data: "/tmp",
		Peers: map[string]string{"memcached-1": "10.0.0.1"}, Durable: true}); err == nil {
		t.Error("it is to keep on disk what it answers for, and can't")
	}
}
