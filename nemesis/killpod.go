package nemesis

import (
	"context"

	"github.com/lockchaos/lockchaos/history"
)

// KindKillPod is the fault that deletes a client's pod without grace.
const KindKillPod = "kill-pod"

var killPod = Kind{Name: KindKillPod, Needs: NeedsCluster, alone: true, single: true, mayMiss: true, ousts: true,
	check: checkCluster,
	Touch: history.Touch{Ends: history.EndsProcess,
		Words: history.FaultWords{Did: "killed", Client: "has its pod deleted by force",
			Doc: "delete-pod-kill-pod-evict-pod"}},
	About: "deletes the pod of a client by force, with a grace of 0: it can say nothing any more; its controller starts another",
	inject: func(ctx context.Context, s *Site) (InEffect, error) {
		return s.oust(ctx, func(ctx context.Context, pod string) (string,
			error) {
			return s.Cluster.Delete(ctx, pod, true)
		})
	}}
