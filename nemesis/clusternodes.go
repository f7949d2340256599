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

// KindCutNode is the fault that cuts the node of a client's pod from the control plane.
const KindCutNode = "cut-node"

var cutNode = Kind{Name: KindCutNode, Needs: NeedsCluster, alone: true, single: true, mayMiss: true, ofNode: true,
	check: checkCluster,
	Touch: history.Touch{Words: history.FaultWords{Did: "cut off",
		Client: "is on a node that is cut off from the control plane", Doc: "drain-node-cut-node-stop-kubelet"}},
	About:  "drops all packets between the node of a client's pod and the API server: the cluster gives the pod up and starts another elsewhere, while it runs still",
	inject: func(ctx context.Context, s *Site) (InEffect, error) { return s.cutNode(ctx) }}

// KindStopKubelet is the fault that stops the kubelet of a client's node.
const KindStopKubelet = "stop-kubelet"

var stopKubelet = Kind{Name: KindStopKubelet, Needs: NeedsCluster, alone: true, single: true, mayMiss: true,
	ofNode: true, check: checkCluster,
	Touch: history.Touch{Words: history.FaultWords{Did: "unwatched", Client: "is on a node whose kubelet is stopped",
		Doc: "drain-node-cut-node-stop-kubelet"}},
	About:  "stops the kubelet of the node of a client's pod: the pod runs on, and nobody there hears what the cluster wants",
	inject: func(ctx context.Context, s *Site) (InEffect, error) { return s.stopKubelet(ctx) }}
