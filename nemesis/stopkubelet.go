package nemesis

import (
	"context"

	"github.com/lockchaos/lockchaos/history"
)

// KindStopKubelet is the fault that stops the kubelet of a client's node.
const KindStopKubelet = "stop-kubelet"

var stopKubelet = Kind{Name: KindStopKubelet, Needs: NeedsCluster, alone: true, single: true, mayMiss: true,
	ofNode: true, check: checkCluster,
	Touch: history.Touch{Words: history.FaultWords{Did: "unwatched", Client: "is on a node whose kubelet is stopped",
		Doc: "drain-node-cut-node-stop-kubelet"}},
	About:  "stops the kubelet of the node of a client's pod: the pod runs on, and nobody there hears what the cluster wants",
	inject: func(ctx context.Context, s *Site) (InEffect, error) { return s.stopKubelet(ctx) }}
