package runtimes

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/hosts/remote"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// The servers behind sentinels are found by one of these. Given one by one they would have no
// relays where the sentinels announce them.
func TestSentinelsAreGivenByOne(t *testing.T) {
	const one = "redis+sentinel://127.0.0.1:1/mymaster"
	for _, node := range []string{"sentinel-1", "sentinel-2"} {
		if _, err := ReadServers(Where{Nodes: []string{node + "=" + one}}); err == nil || !strings.Contains(err.Error(), "redis-failover") {
			t.Errorf("%s: %v", node, err)
		}
	}
	service, _ := backends.Lookup("redis-failover")
	g, err := ReadServers(Where{Nodes: []string{"redis-failover=" + one}})
	if err != nil || len(g.Missing(service)) > 0 {
		t.Errorf("%v, %v", g, err)
	}
}

// A Redis of its own has the name of one that sentinels name, and clients find it without these.
func TestServerBesideSentinels(t *testing.T) {
	g, err := ReadServers(Where{Nodes: []string{"redis=127.0.0.1:5", "redis-failover=redis+sentinel://127.0.0.1:2/mymaster"}})
	if err != nil {
		t.Fatal(err)
	}
	service, _ := backends.Lookup("redis-failover")
	named := remote.Node{Name: "redis-1", Shown: "redis://127.0.0.1:6", Address: "redis://127.0.0.1:6"}
	watching := g.nodes[service.Entry().Name]
	g.clusters = []gathered{{service, []remote.Node{named, watching}}}
	for _, c := range []struct {
		n      remote.Node
		behind bool
	}{{g.Of("redis")[0], false}, {named, true}, {watching, false}} {
		if g.behind(c.n) != c.behind {
			t.Errorf("%+v is behind others: %v", c.n, !c.behind)
		}
	}
}

// One server that is a whole service is one node, under a name, an address of its certificate or
// none: where there are several relays, connections of all clients go to one, and a fault at
// another would strike nobody.
func TestOneServerIsOneNode(t *testing.T) {
	locks := func(s *scenarios.Scenario) (clients.Kind, error) {
		return clients.Kind{Name: s.Lock, Service: "etcd"}, nil
	}
	at := func(node string) scenarios.Plan {
		return scenarios.Plan{Scenario: scenarios.Scenario{Lock: "a", Faults: []scenarios.Fault{
			{Kind: nemesis.KindPartition, Target: node, Peers: "clients", When: "random"}}}}
	}
	for _, address := range []string{"127.0.0.1:1", "https://127.0.0.1:1", "https://etcd.test:1"} {
		g, err := ReadServers(Where{Nodes: []string{"etcd=" + address}})
		if err != nil {
			t.Fatal(err)
		}
		g.Locks, g.asked = locks, true
		service, _ := backends.Lookup("etcd")
		if nodes := g.Of("etcd"); len(nodes) != 1 || nodes[0].Name != "etcd-1" || len(g.list()) != 1 || len(g.Missing(service)) > 0 {
			t.Errorf("%s: %+v, %+v", address, nodes, g.list())
		}
		for node, there := range map[string]bool{"etcd-1": true, "etcd-2": false, "minority": false} {
			if refused := Beyond(at(node), g.reach(at(node))); (len(refused) == 0) != there {
				t.Errorf("%s: a fault at %s: %v", address, node, refused)
			}
		}
	}
	for _, nodes := range [][]string{{"etcd-1=https://127.0.0.1:1", "etcd-2=https://127.0.0.1:1"}, {"redis-2=127.0.0.1:1", "redis-5=127.0.0.1:1"}} {
		if _, err := ReadServers(Where{Nodes: nodes}); err == nil || !strings.Contains(err.Error(), "are one server") {
			t.Errorf("%v: %v", nodes, err)
		}
	}
}
