package nemesis

import (
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// KindRate is the fault that leaves links little bandwidth.
const KindRate = "rate"

var rate = condition{
	given:      func(s Spec) bool { return s.BytesPerSecond > 0 },
	wants:      "bytes_per_second: how much each link carries, headers included",
	conditions: func(s Spec) netfault.Conditions { return netfault.Conditions{Rate: s.BytesPerSecond} },
	bit:        func(n netfault.Stats) bool { return n.Delayed > 0 },
	words: history.FaultWords{Did: "on a slow link", Bar: "slowed", Links: "get only so much bandwidth",
		Over: "has all its bandwidth again"},
}.kind(KindRate, "bounds how many bytes a second the links between a client or nodes and their peers carry",
	"bytes_per_second")
