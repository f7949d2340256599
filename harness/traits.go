package harness

import (
	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/nemesis"
)

// Traits are what a service has that some faults need.
func Traits(service string) (has []nemesis.Trait) {
	if k, ok := backends.Lookup(service); ok && k.HasSessions() {
		has = append(has, nemesis.Sessions)
	}
	return has
}
