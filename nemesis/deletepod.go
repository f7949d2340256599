package nemesis

import (
	"context"

	"github.com/lockchaos/lockchaos/history"
)

// KindDeletePod is the fault that deletes a client's pod, with the grace that the pod asks for.
const KindDeletePod = "delete-pod"

var deletePod = Kind{Name: KindDeletePod, Needs: NeedsCluster, alone: true, single: true, mayMiss: true, ousts: true,
	check: checkCluster,
	Touch: history.Touch{Ends: history.EndsProcess,
		Words: history.FaultWords{Did: "deleted", Client: "has its pod deleted, with grace",
			Doc: "delete-pod-kill-pod-evict-pod"}},
	About: "deletes the pod of a client, as a rollout does: SIGTERM, then its grace; its controller starts another",
	inject: func(ctx context.Context, s *Site) (InEffect, error) {
		return s.oust(ctx, func(ctx context.Context, pod string) (string,
			error) {
			return s.Cluster.Delete(ctx, pod, false)
		})
	}}
