package nemesis

import (
	"context"

	"github.com/lockchaos/lockchaos/history"
)

// KindEvictPod is the fault that evicts a client's pod.
const KindEvictPod = "evict-pod"

var evictPod = Kind{Name: KindEvictPod, Needs: NeedsCluster, alone: true, single: true, mayMiss: true, ousts: true,
	check: checkCluster,
	Touch: history.Touch{Ends: history.EndsProcess,
		Words: history.FaultWords{Did: "evicted", Client: "has its pod evicted", Doc: "delete-pod-kill-pod-evict-pod"}},
	About: "evicts the pod of a client by the Eviction API, as a drain does, which heeds PodDisruptionBudgets; its controller starts another",
	inject: func(ctx context.Context, s *Site) (InEffect, error) {
		return s.oust(ctx, s.Cluster.Evict)
	}}
