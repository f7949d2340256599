package nemesis

import (
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// KindDelay is the fault that makes packets late.
const KindDelay = "delay"

var delay = condition{
	given:      func(s Spec) bool { return s.Delay > 0 },
	wants:      "delay: how late each packet is",
	conditions: func(s Spec) netfault.Conditions { return netfault.Conditions{Delay: s.Delay, Jitter: s.Jitter} },
	bit:        func(n netfault.Stats) bool { return n.Delayed > 0 },
	words:      history.FaultWords{Did: "delayed", Links: "are delayed", Over: "is reached at once again"},
	draws: []Draw{
		{Weight: 2, of: func(d Dice) Part {
			p := d.onHolder()
			p.Delay, p.Jitter = d.share(0.02, 0.4, 1), d.share(0, 0.02, 0)
			return p
		}},
		{Weight: 2, of: func(d Dice) Part {
			p := aimed(d.nodes(), Random, d.share(1, 3, nodeFloor))
			p.Delay = d.share(0.02, 0.3, 1)
			return p
		}},
	},
}.kind(KindDelay, "makes every packet between a client or nodes and their peers late, both ways or one, by a fixed time or with jitter", "delay", "jitter")
