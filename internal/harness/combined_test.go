package harness

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// grants are the numbers of the grants of a history, in the order in which they were told.
func grants(h *history.History) (all []int64) {
	for i := range h.Events {
		if e := &h.Events[i]; e.Type == history.OK && e.Kind == history.Acquire {
			all = append(all, e.Op)
		}
	}
	return all
}

// Three faults strike the holder of a certain grant together, each with its
// proof; next to them, one fault after the other strikes who waits.
func TestFaultsStrikeTogetherAndInSequence(t *testing.T) {
	const ms = scenarios.Duration(time.Millisecond)
	p := faulty("redis-setnx", scenarios.Fault{Target: "holder", When: "before-write", Grant: scenarios.Numbers{8},
		Together: []scenarios.Fault{
			{Kind: nemesis.KindPause, For: 400 * ms}, {Kind: nemesis.KindClockJump, Clock: "wall",
				By: scenarios.Offset(time.Hour), For: 100 * ms},
			{Kind: nemesis.KindPartition, Peers: "service", For: 300 * ms}}})
	p.Scenario.Faults = append(p.Scenario.Faults, scenarios.Fault{Target: "next-waiter", When: "before-release",
		At:       scenarios.Instants{{At: 800 * ms, Jitter: 100 * ms}},
		Sequence: []scenarios.Fault{{Kind: nemesis.KindPause, For: 100 * ms}, {Kind: nemesis.KindKill, After: 50 * ms}}})
	p.Scenario.Quiet = 200 * ms
	decided.Run(t, func() {
		h := carried(t, redis.Setnx, p)
		struck := map[string]*history.FaultInfo{}
		for _, f := range ends(h) {
			what := f.Kind + " " + f.Target
			if !f.Bit {
				amiss(t, h, "it did not bite: %+v", f)
			}
			if struck[what] != nil || len(f.Clients) != 1 || !slices.Equal(f.Hosts, []string{host(f.Clients[0])}) {
				t.Errorf("%+v", f)
			}
			struck[what] = f
		}
		if len(struck) != 5 {
			decided.Lacks("five strikes, of which three together: it has %d", len(struck))
		}
		eighth := grants(h)[7]
		pause := struck["pause holder"]
		for _, kind := range []string{"pause", "clock-jump", "partition"} {
			if f := struck[kind+" holder"]; f.Holding != eighth || f.Clients[0] != pause.Clients[0] || f.From > pause.From {
				t.Errorf("%+v together with %+v, at grant %d", f, pause, eighth)
			}
		}
		if jump := struck["clock-jump holder"]; jump.To < pause.To {
			t.Errorf("the clocks of a stopped process were healed: %+v, %+v", jump, pause)
		}
		first, second := struck["pause next-waiter"], struck["kill next-waiter"]
		if !first.Waiting || !second.Waiting || second.From < first.To+int64(50*ms) || first.From < int64(700*ms) {
			t.Errorf("in sequence: %+v, %+v", first, second)
		}
		inOrder(t, h)
	})
}

func host(client int32) string { return "client-" + string('0'+rune(client)) }

// All clients are killed at once, and all come back.
func TestAllClientsAreKilled(t *testing.T) {
	p := faulty("redis-setnx", scenarios.Fault{Kind: nemesis.KindKill, Target: "all-clients", When: "random",
		At: scenarios.Instants{{At: scenarios.Duration(100 * time.Millisecond)}}})
	p.Scenario.Duration = scenarios.Duration(1500 * time.Millisecond)
	decided.Run(t, func() {
		h := carried(t, redis.Setnx, p)
		all := ends(h)
		if len(all) == 0 {
			decided.Lacks("a kill")
		}
		if len(all) != 1 || !all[0].Bit || !slices.Equal(all[0].Clients, []int32{1, 2, 3}) ||
			strings.Count(all[0].Evidence, "signal: killed") != 3 {
			t.Fatalf("%+v", all)
		}
		afterlife(t, h, 3)
	})
}
