package nemesis

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// cluster is three nodes, two clients and a store.
var cluster = Names{Nodes: []string{"n1", "n2", "n3"}, Clients: []string{"client-1", "client-2"}, Store: "store"}

func partitionOf(target Target, peers Peers, way Way, shape string) Spec {
	return Spec{Kind: KindPartition, Aim: Aim{target, Random}, Peers: peers, Way: way, Shape: shape}
}

// A client is cut from those that were named, both ways or one, and from nobody else.
func TestCuts(t *testing.T) {
	client := []string{"client-1"}
	for _, c := range []struct {
		spec    Spec
		victims []string
		want    string
	}{
		{partitionOf(Holder, PeersService, "", ""), client, "client-1>n1 client-1>n2 client-1>n3 n1>client-1 n2>client-1 n3>client-1"},
		{partitionOf(Holder, PeersStore, "", ""), client, "client-1>store store>client-1"},
		{partitionOf(Holder, PeersStore, WayOut, ""), client, "client-1>store"},
		{partitionOf(Holder, "n2", WayIn, ""), client, "n2>client-1"},
		{partitionOf(Holder, "", WayIn, ""), client, "n1>client-1 n2>client-1 n3>client-1 store>client-1"},
		{partitionOf("n2", PeersService, WayOut, ""), []string{"n2"}, "n2>n1 n2>n3"},
		{partitionOf("n2", PeersClients, WayIn, ""), []string{"n2"}, "client-1>n2 client-2>n2"},
		{partitionOf("nodes:2", "", WayIn, ""), []string{"n1", "n2"},
			"client-1>n1 client-1>n2 client-2>n1 client-2>n2 n3>n1 n3>n2 store>n1 store>n2"},
	} {
		cuts, err := c.spec.Cuts(c.victims, cluster, rand.New(rand.NewPCG(1, 2)))
		if err != nil {
			t.Errorf("%+v: %v", c.spec, err)
			continue
		}
		if got := text(cuts); got != c.want {
			t.Errorf("%+v: cuts\n%s, want\n%s", c.spec, got, c.want)
		}
	}
}

func text(cuts []netfault.Cut) string {
	var all []string
	for _, c := range cuts {
		all = append(all, c.From+">"+c.To)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// Every shape cuts something among three nodes and more, and touches nobody but nodes.
func TestShapesOfAService(t *testing.T) {
	for shape := range shapes {
		cuts, err := partitionOf(Service, "", "", shape).Cuts(nil, cluster, rand.New(rand.NewPCG(1, 2)))
		if err != nil || len(cuts) == 0 || strings.Contains(text(cuts), "client") || strings.Contains(text(cuts), "store") {
			t.Errorf("%s: %v, %v", shape, cuts, err)
		}
		if err := Check(partitionOf(Service, "", "", shape), Setting{Nodes: cluster.Nodes}); err != nil {
			t.Errorf("%s: %v", shape, err)
		}
	}
}

func TestCheckRefusesImpossiblePartitions(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{partitionOf(Holder, PeersClients, "", ""), "no link of holder leads there"},
		{partitionOf("n2", PeersStore, "", ""), "no link of n2 leads there"},
		{partitionOf("n2", "n2", "", ""), "there is nobody but n2"},
		{partitionOf("nodes:3", PeersService, "", ""), "there is nobody but"},
		{partitionOf(Holder, "n9", "", ""), `unknown target "n9"`},
		{partitionOf(Holder, "", "up", ""), `unknown way "up"`},
		{partitionOf(Holder, "", "", "halves"), "a shape is for target service"},
		{partitionOf(Service, "", "", ""), "needs a shape: one of bridge, halves, isolate-one"},
		{partitionOf(Service, PeersAll, "", "halves"), "no peers or way beside it"},
		{Spec{Kind: KindPause, Aim: Aim{Holder, Random}, Peers: PeersStore}, "a pause takes no peers"},
		{Spec{Kind: KindPause, Aim: Aim{Service, Random}}, "all nodes are nodes:3"},
	} {
		if err := Check(c.spec, Setting{Nodes: cluster.Nodes}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
	}
	if err := Check(partitionOf(Service, "", "", "bridge"), Setting{Nodes: []string{"redis-1"}}); err == nil ||
		!strings.Contains(err.Error(), "can't be split into bridge") {
		t.Errorf("a bridge of one node: %v", err)
	}
}

// What a fault touches follows from its links: a cut from the store alone
// leaves the lock's word in force.
func TestWhomLinksTouch(t *testing.T) {
	for _, c := range []struct {
		spec        Spec
		lock, store bool
	}{
		{partitionOf(Holder, "", "", ""), true, true},
		{partitionOf(Holder, PeersService, "", ""), true, false},
		{partitionOf(Holder, PeersStore, "", ""), false, true},
		{partitionOf(Holder, "minority", "", ""), true, false},
		{partitionOf("n1", "", "", ""), true, false},
	} {
		if !c.spec.OnLinks() || c.spec.HitsLock() != c.lock || c.spec.HitsStore() != c.store {
			t.Errorf("%+v: lock %v, store %v", c.spec, c.spec.HitsLock(), c.spec.HitsStore())
		}
	}
	if (Spec{Kind: KindPause}).OnLinks() {
		t.Error("a pause is no fault of links")
	}
}

// newNet is a network with a node, a client and a store, on which nothing runs.
func newNet(t *testing.T) (n *Net, node, client, store *hosts.Host) {
	t.Helper()
	_, all := hoststest.Network(t, "n1", "client-1", "store")
	n = NewNet([]Place{{Name: "n1", Host: all[0]}}, []Place{{Name: "client-1", Host: all[1]}}, Place{Name: "store", Host: all[2]})
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n, all[0], all[1], all[2]
}

// A client that is cut from the service reaches the store all the same, and
// everybody when it is healed; the proof counts what was dropped.
func TestPartitionOfAClient(t *testing.T) {
	n, node, client, store := newNet(t)
	reaches := func(to *hosts.Host, limit time.Duration) error {
		l, err := to.Listen(0)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		c, err := client.Dial(ctx, "tcp", netip.MustParseAddrPort(l.Addr().String()))
		if err == nil {
			c.Close()
		}
		return err
	}
	const long, short = 20 * time.Second, 300 * time.Millisecond
	rng := rand.New(rand.NewPCG(1, 2))
	p, err := n.partition("test", partitionOf(Holder, PeersService, "", ""), []string{"client-1"}, rng)
	if err != nil {
		t.Fatal(err)
	}
	if reaches(node, short) == nil {
		t.Error("the node was reached across the cut")
	}
	if err := reaches(store, long); err != nil {
		t.Errorf("the store was cut off too: %v", err)
	}
	effect, err := p.Heal()
	if err != nil || !effect.Bit || effect.Lasted() < short || !strings.Contains(effect.Proof, "client-1 → n1 ") {
		t.Errorf("%+v, %v", effect, err)
	}
	if err := reaches(node, long); err != nil {
		t.Errorf("after the healing: %v", err)
	}
	p, err = n.partition("test", partitionOf(Holder, PeersStore, "", ""), []string{"client-1"}, rng)
	if err != nil {
		t.Fatal(err)
	}
	if effect, err = p.Heal(); err != nil || effect.Bit {
		t.Errorf("a cut that nobody met: %+v, %v", effect, err)
	}
	if again, err := p.Heal(); err != nil || again != effect {
		t.Errorf("healed again: %+v, %v", again, err)
	}
}
