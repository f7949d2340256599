package nemesis

import (
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// KindDuplicate is the fault that sends packets twice.
const KindDuplicate = "duplicate"

var duplicate = condition{
	given:      func(s Spec) bool { return s.Probability > 0 },
	wants:      "probability: that of a packet to be sent twice, up to 1",
	conditions: func(s Spec) netfault.Conditions { return netfault.Conditions{Duplicate: s.Probability} },
	bit:        func(n netfault.Stats) bool { return n.Copied > 0 },
	words: history.FaultWords{Did: "sent duplicates", Bar: "doubled", Links: "arrive twice",
		Over: "gets each packet once again"},
}.kind(KindDuplicate, "sends packets between a client or nodes and their peers twice, each with the same probability",
	"probability")
