package exhaustive

import (
	"reflect"
	"testing"

	"github.com/lockchaos/lockchaos/internal/harness/simulated"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
)

// TestOrders: all orders of the events that change something, with the fault among them, but for
// those that are equal to another schedule; of many events each comes first once.
func TestOrders(t *testing.T) {
	instant := func(events ...int) (all []place) {
		for _, e := range events {
			all = append(all, place{Place: simulated.Place{Place: sim.Place{At: 1, Event: e}}})
		}
		return all
	}
	for _, c := range []struct {
		name          string
		instant       []place
		struck, fixed bool
		want          [][]int
	}{
		{"one event", instant(2, 2), false, false, nil},
		{"a fault before one event", instant(2), true, false, nil},
		{"a fault before or behind an event that causes another", instant(2, 0), true, false, [][]int{{3, 1}}},
		{"two events, and one between them that changes nothing", instant(1, 3), false, false, [][]int{{3, 1}}},
		{"a fault and two events", instant(1, 2), true, false, [][]int{{1, 3, 2}, {2, 1, 3}, {3, 1, 2}, {3, 2, 1}}},
		{"a fault that waits for the request of one of two events", instant(1, 2), true, true, [][]int{{1, 3, 2}}},
		{"many events", instant(1, 2, 3, 4, 5), false, false,
			[][]int{{2, 1, 3, 4, 5}, {3, 1, 2, 4, 5}, {4, 1, 2, 3, 5}, {5, 1, 2, 3, 4}}},
		{"nothing but what is caused", instant(0), true, false, nil},
	} {
		if got := ordersOf(c.instant, c.struck, c.fixed); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestStepBetweenNodes: what passes between two nodes is at a step of the clients, too.
func TestStepBetweenNodes(t *testing.T) {
	p := place{Place: simulated.Place{Place: sim.Place{Host: "etcd-1", Peer: "etcd-2"}},
		Doing: map[string]clientStep{"client-1": {step: stepHolding}, "client-2": {step: stepWaiting}}}
	if got := p.step("etcd-1"); got != stepHolding {
		t.Error(got)
	}
	p.Peer = "client-2"
	if got := p.step("etcd-1"); got != stepWaiting {
		t.Error(got)
	}
}
