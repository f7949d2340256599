package backends_test

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/zookeeper"
)

func TestZooKeeperConformance(t *testing.T) {
	needZooKeeper(t)
	s := start(t, "zookeeper")
	stop, resume := freeze(s)
	for _, kind := range []clients.Kind{zookeeper.Recipe, zookeeper.Gozk} {
		t.Run(kind.Name, func(t *testing.T) {
			clienttest.Run(t, kind, clienttest.Service{Nodes: s.Addrs(), TTL: time.Second, Stop: stop, Continue: resume})
		})
	}
}
