package remote

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
)

// Members of one place have its ports. What several announce beside their own address, as
// localhost, leads to the one that has nothing else, or to the first.
func TestLed(t *testing.T) {
	t.Parallel()
	var joined agent.Joined
	for _, at := range []string{"10.88.0.2", "10.88.0.3", "10.88.0.4"} {
		joined.Nodes = append(joined.Nodes, agent.Attached{Host: &hosts.Host{Addr: netip.MustParseAddr(at)}})
	}
	to := func(at string) netip.AddrPort { return netip.MustParseAddrPort(at) }
	for name, c := range map[string]struct {
		leads [3][]string
		want  map[string]map[uint16]netip.AddrPort
	}{
		"by ports": {[3][]string{{"192.0.2.1:1"}, {"192.0.2.1:2"}, {"192.0.2.1:3"}}, map[string]map[uint16]netip.AddrPort{
			"192.0.2.1": {1: to("10.88.0.2:7"), 2: to("10.88.0.3:7"), 3: to("10.88.0.4:7")}}},
		"also localhost": {[3][]string{{"a.test:1", "localhost:1"}, {"b.test:1", "localhost:1"}, {"c.test:1", "localhost:1"}}, map[string]map[uint16]netip.AddrPort{
			"a.test": {1: to("10.88.0.2:7")}, "b.test": {1: to("10.88.0.3:7")}, "c.test": {1: to("10.88.0.4:7")}, "localhost": {1: to("10.88.0.2:7")}}},
		"its only one": {[3][]string{{"a.test:1", "c.test:1"}, {"b.test:1"}, {"c.test:1"}}, map[string]map[uint16]netip.AddrPort{
			"a.test": {1: to("10.88.0.2:7")}, "b.test": {1: to("10.88.0.3:7")}, "c.test": {1: to("10.88.0.4:7")}}},
		"by no other": {[3][]string{{}, {"b.test:1"}, {}}, map[string]map[uint16]netip.AddrPort{"b.test": {1: to("10.88.0.3:7")}}},
	} {
		var nodes []Node
		for _, leads := range c.leads {
			nodes = append(nodes, Node{Port: 7, Leads: leads})
		}
		if got, err := led(nodes, joined); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
	}
}
