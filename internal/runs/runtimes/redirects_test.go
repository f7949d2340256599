package runtimes

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/hosts/remote"
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
