package nemesis

import (
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// KindLoss is the fault that loses packets.
const KindLoss = "loss"

var loss = condition{
	given:      func(s Spec) bool { return s.Probability > 0 },
	wants:      "probability: that of a packet to be lost, up to 1",
	conditions: func(s Spec) netfault.Conditions { return netfault.Conditions{Loss: s.Probability} },
	bit:        func(n netfault.Stats) bool { return n.Dropped > 0 },
	words: history.FaultWords{Did: "on a lossy link", Bar: "lossy", Links: "are lost now and then",
		Over: "loses no packets any more"},
	draws: []Draw{{Weight: 2, of: func(d Dice) Part {
		p := d.onHolder()
		p.Probability = 0.5
		return p
	}}},
	endsSessions: true,
}.kind(KindLoss, "loses packets between a client or nodes and their peers, each with the same probability",
	"probability")
