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

// KindEvictPod is the fault that evicts a client's pod.
const KindEvictPod = "evict-pod"

var evictPod = Kind{Name: KindEvictPod, Needs: NeedsCluster, alone: true, single: true, mayMiss: true, ousts: true,
	check: checkCluster,
	Touch: history.Touch{Ends: history.EndsProcess,
		Words: history.FaultWords{Did: "evicted", Client: "has its pod evicted", Doc: "delete-pod-kill-pod-evict-pod"}},
	About: "evicts the pod of a client by the Eviction API, as a drain does, which honors PodDisruptionBudgets; its controller starts another",
	inject: func(ctx context.Context, s *Site) (InEffect, error) {
		return s.oust(ctx, s.Cluster.Evict)
	}}

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
