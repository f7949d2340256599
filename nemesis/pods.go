package nemesis

import (
	"context"

	"github.com/lockchaos/lockchaos/history"
)

// endsPod is a fault that has the cluster end a client's pod.
func endsPod(name, did, client, about string, end func(context.Context, Cluster, string) (string, error)) Kind {
	return Kind{Name: name, Needs: NeedsCluster, alone: true, single: true, mayMiss: true, ousts: true, check: checkCluster,
		Touch: history.Touch{Ends: history.EndsProcess,
			Words: history.FaultWords{Did: did, Client: client, Doc: "delete-pod-kill-pod-evict-pod"}},
		About: about,
		inject: func(ctx context.Context, s *Site) (InEffect, error) {
			return s.endPod(ctx, func(ctx context.Context, pod string) (string, error) { return end(ctx, s.Cluster, pod) })
		}}
}

// KindDeletePod is the fault that deletes a client's pod, with the grace that the pod asks for.
const KindDeletePod = "delete-pod"

var deletePod = endsPod(KindDeletePod, "deleted", "has its pod deleted, with grace",
	"deletes the pod of a client, as a rollout does: SIGTERM, then its grace; its controller starts another",
	func(ctx context.Context, c Cluster, pod string) (string, error) { return c.Delete(ctx, pod, false) })

// KindEvictPod is the fault that evicts a client's pod.
const KindEvictPod = "evict-pod"

var evictPod = endsPod(KindEvictPod, "evicted", "has its pod evicted",
	"evicts the pod of a client by the Eviction API, as a drain does, which honors PodDisruptionBudgets; its controller starts another",
	func(ctx context.Context, c Cluster, pod string) (string, error) { return c.Evict(ctx, pod) })

// KindKillPod is the fault that deletes a client's pod without grace.
const KindKillPod = "kill-pod"

var killPod = endsPod(KindKillPod, "killed", "has its pod deleted by force",
	"deletes the pod of a client by force, with a grace of 0: it can say nothing any more; its controller starts another",
	func(ctx context.Context, c Cluster, pod string) (string, error) { return c.Delete(ctx, pod, true) })
