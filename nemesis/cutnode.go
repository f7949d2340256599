package nemesis

import (
	"context"

	"github.com/lockchaos/lockchaos/history"
)

// KindCutNode is the fault that cuts the node of a client's pod from the control plane.
const KindCutNode = "cut-node"

var cutNode = Kind{Name: KindCutNode, Needs: NeedsCluster, alone: true, single: true, mayMiss: true, ofNode: true,
	check: checkCluster,
	Touch: history.Touch{Words: history.FaultWords{Did: "cut off",
		Client: "is on a node that is cut off from the control plane", Doc: "drain-node-cut-node-stop-kubelet"}},
	About:  "drops all packets between the node of a client's pod and the API server: the cluster gives the pod up and starts another elsewhere, while it runs still",
	inject: func(ctx context.Context, s *Site) (InEffect, error) { return s.cutNode(ctx) }}
