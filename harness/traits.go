package harness

import (
	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/nemesis"
)

// traits are what a service has that some faults need.
func traits(service string) (has []nemesis.Trait) {
	k, ok := backends.Lookup(service)
	if ok && k.HasSessions() {
		has = append(has, nemesis.Sessions)
	}
	switch k.Leads() {
	case string(nemesis.Leader):
		has = append(has, nemesis.HasLeader)
	case string(nemesis.Primary):
		has = append(has, nemesis.HasPrimary)
	}
	return has
}
