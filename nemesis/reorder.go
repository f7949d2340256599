package nemesis

import (
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// KindReorder is the fault that lets packets overtake others.
const KindReorder = "reorder"

var reorder = condition{
	given:      func(s Spec) bool { return s.Probability > 0 && s.Probability < 1 && s.Delay > 0 },
	wants:      "delay, and the probability, below 1, of a packet not to be delayed, so that it overtakes those that are",
	conditions: func(s Spec) netfault.Conditions { return netfault.Conditions{Delay: s.Delay, Reorder: s.Probability} },
	bit:        func(n netfault.Stats) bool { return n.Delayed > 0 && n.Seen > n.Delayed },
	words: history.FaultWords{Did: "sent packets out of order", Bar: "reordered",
		Links: "arrive out of order", Over: "gets its packets in order again"},
}.kind(KindReorder, "delays packets between a client or nodes and their peers, but for some, which overtake the others",
	"delay", "probability")
