package probe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/probe"
	"github.com/lockchaos/lockchaos/internal/probe/probetest"
)

// A Redis Cluster shows whether a failover lost what was granted: nothing, if the old master
// could follow the new one at once; perhaps something, if it had to be sent all data, since it
// had taken a write of which the new one had not heard.
func TestFailoverKept(t *testing.T) {
	t.Parallel()
	cluster := probetest.RedisCluster(t, nil, "cache.test", false)
	service, _ := probe.Lookup("redis")
	at := parsed(t, "redis://127.0.0.1:"+cluster.Ports[0], endpoint.Files{})
	told := func(port, section, want string) bool {
		return strings.Contains(cluster.Ask(t, port, "INFO", section), want)
	}
	look := func() probe.Replication {
		t.Helper()
		all, err := service.Replication(t.Context(), at, here)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	masters := map[string]string{} // of replicas
	for _, port := range cluster.Ports {
		if role := strings.Fields(cluster.Ask(t, port, "ROLE")); role[0] == "slave" {
			masters[port] = role[2]
		}
	}
	for replica, master := range masters {
		decided.Await(t, "the replica follows", func() bool { return told(replica, "replication", "master_link_status:up") })
		settled := func(before probe.Replication) (after probe.Aftermath) {
			decided.Await(t, "the old master follows the new one", func() bool {
				after = before.After(look())
				return after == probe.MayHaveLost || after == probe.NothingLost
			})
			return after
		}
		before := look()
		if after := before.After(look()); len(before) != len(cluster.Ports) || after != 0 {
			t.Errorf("%+v; a failover that has not been: %v", before, after)
		}
		cluster.Ask(t, replica, "CLUSTER", "FAILOVER")
		if settled(before) != probe.NothingLost {
			t.Error("a failover that waits for the replica has lost something")
		}
		replica, master = master, replica
		cluster.Ask(t, replica, "CONFIG", "SET", "masterauth", "wrong")
		cluster.Ask(t, master, "CLIENT", "KILL", "TYPE", "replica")
		decided.Await(t, "the replica is cut off", func() bool { return told(master, "replication", "connected_slaves:0") })
		before = look()
		for i := 0; !strings.Contains(cluster.Ask(t, master, "SET", fmt.Sprint("k", i), "v"), "OK"); i++ {
		}
		cluster.Ask(t, replica, "CLUSTER", "FAILOVER", "TAKEOVER")
		cluster.Ask(t, master, "CONFIG", "SET", "masterauth", "")
		if settled(before) != probe.MayHaveLost {
			t.Error("a write was lost, and the servers do not show it")
		}
		return
	}
	t.Fatal("the cluster has no replica")
}
