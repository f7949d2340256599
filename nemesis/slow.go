package nemesis

import (
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/netfault"
)

// KindDelay is the fault that makes packets late.
const KindDelay = "delay"

var delay = condition{
	missing:    func(s Spec) string { return orMissing(s.Delay > 0, "delay: how late each packet is") },
	conditions: func(s Spec) netfault.Conditions { return netfault.Conditions{Delay: s.Delay, Jitter: s.Jitter} },
	bit:        func(n netfault.Stats) bool { return n.Delayed > 0 },
	words:      history.FaultWords{Did: "delayed", Links: "are delayed", Over: "is reached at once again"},
}.kind(KindDelay, "makes every packet between a client or nodes and their peers late, both ways or one, by a fixed time or with jitter", "delay", "jitter")
