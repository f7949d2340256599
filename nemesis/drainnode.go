package nemesis

import (
	"context"

	"github.com/lockchaos/lockchaos/history"
)

// KindDrainNode is the fault that drains the node of a client's pod.
const KindDrainNode = "drain-node"

var drainNode = Kind{Name: KindDrainNode, Needs: NeedsCluster, alone: true, single: true, mayMiss: true, ofNode: true,
	ousts: true, lasts: true, check: checkCluster,
	Touch: history.Touch{Ends: history.EndsProcess,
		Words: history.FaultWords{Did: "drained", Client: "has its node drained, and is evicted",
			Doc: "drain-node-cut-node-stop-kubelet"}},
	About:  "cordons the node of a client's pod for a while, and evicts the application's pods there: their controllers start others elsewhere",
	inject: func(ctx context.Context, s *Site) (InEffect, error) { return s.drain(ctx) }}
