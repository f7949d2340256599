package story

import (
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// Every fault is told in a sentence, whomever it strikes; one of a kind that
// the reports do not know, too.
func TestFaultsAreToldInWords(t *testing.T) {
	client2, node := []int32{2}, true
	for _, c := range []struct {
		fault          history.FaultSpan
		begins, finish string
	}{
		{history.FaultSpan{FaultInfo: history.FaultInfo{Kind: "pause", Clients: client2, Injected: true}},
			"client 2 is frozen, as by a stop-the-world collection.", "client 2 wakes up after 1 s"},
		{history.FaultSpan{FaultInfo: history.FaultInfo{Kind: "pause", Target: "nodes:3", Service: node,
			Injected: true}}, "3 of the nodes are frozen, as a suspended machine is.", ""},
		{history.FaultSpan{FaultInfo: history.FaultInfo{Kind: "kill", Clients: client2, Injected: true}},
			"client 2 is killed.", "client 2 goes on after 1 s"},
		{history.FaultSpan{FaultInfo: history.FaultInfo{Kind: "pause", Target: "all-clients", Clients: []int32{1, 2, 4},
			Hosts: []string{"client-1", "client-2", "client-4"}, Injected: true}},
			"client 1, client 2 and client 4 are frozen, as by a stop-the-world collection.",
			"client 1, client 2 and client 4 wake up after 1 s"},
		{history.FaultSpan{FaultInfo: history.FaultInfo{Kind: "pause", Target: "minority",
			Hosts: []string{"redis-2", "redis-4"}, Service: node, Injected: true}},
			"redis-2 and redis-4 are frozen, as a suspended machine is.", ""},
		{history.FaultSpan{FaultInfo: history.FaultInfo{Kind: "partition", Target: "service",
			Hosts: []string{"etcd-1", "etcd-2"}, Service: node, Injected: true}},
			"Packets between the lock service and its peers are dropped.", ""},
		{history.FaultSpan{FaultInfo: history.FaultInfo{Kind: "partition", Target: "holder", Store: true, Injected: true}, Victim: 2},
			"Packets between client 2 and the store are dropped.", "client 2 is reached again after 1 s"},
		{history.FaultSpan{FaultInfo: history.FaultInfo{Kind: "partition", Target: "holder", Clients: client2, Injected: true}, Victim: 2},
			"Packets between client 2 and the lock service are dropped.", ""},
		{history.FaultSpan{FaultInfo: history.FaultInfo{Kind: "delay", Target: "minority", Service: node, Injected: true}},
			"Packets between a minority of the nodes and its peers are delayed.",
			"a minority of the nodes is reached at once again after 1 s"},
		{history.FaultSpan{FaultInfo: history.FaultInfo{Kind: "clock-jump", Target: "majority", Service: node,
			Injected: true, Clocks: []history.ClockReading{{Host: "redis-1"}, {Host: "redis-3"}}}},
			"redis-1 and redis-3 read a clock that jumps.", ""},
		{history.FaultSpan{FaultInfo: history.FaultInfo{Kind: "stall", Clients: client2}},
			"client 2 is stalled by the machine itself; nobody injected this.", "client 2 goes on after 1 s"},
		{history.FaultSpan{FaultInfo: history.FaultInfo{Kind: "disk-slow", Target: "etcd-1", Service: node, Injected: true,
			Touch: &history.Touch{Words: history.FaultWords{Nodes: "waits for its disk", Over: "writes again"}}}},
			"etcd-1 waits for its disk.", "etcd-1 writes again after 1 s"},
		{history.FaultSpan{FaultInfo: history.FaultInfo{Kind: "disk-full", Target: "etcd-1", Service: node,
			Injected: true}}, "disk-full strikes etcd-1.", "etcd-1 goes on after 1 s"},
	} {
		c.fault.To = 1e9
		if got := begins(&c.fault).String(); got != c.begins {
			t.Errorf("%s: %q, want %q", c.fault.Kind, got, c.begins)
		}
		if got := ends(&c.fault).String(); c.finish != "" && got != c.finish {
			t.Errorf("%s: %q, want %q", c.fault.Kind, got, c.finish)
		}
	}
}
