package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// fresh is for how long a scenario without an agent may be one that is about to have one.
const fresh = time.Minute

// Clean removes the pods of scenarios that are over, and returns their names. A scenario lives as long as its agent does, and an agent does not outlive its run for
// long: one that hears nothing of it heals, and ends.
func (c *Cluster) Clean(ctx context.Context) (removed []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, removeLimit)
	defer cancel()
	pods, err := c.list(ctx, c.Namespace, labelScenario)
	if err != nil {
		return nil, err
	}
	agents, err := c.list(ctx, c.agents(), labelScenario)
	if err != nil {
		return nil, err
	}
	living := map[string]bool{}
	for _, p := range agents {
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		living[p.Labels[labelScenario]] = !ended && p.DeletionTimestamp == nil
	}
	over := slices.DeleteFunc(append(pods, agents...), func(p corev1.Pod) bool {
		agent, known := living[p.Labels[labelScenario]]
		return agent || !known && time.Since(p.CreationTimestamp.Time) < fresh
	})
	if err := c.delete(ctx, over); err != nil {
		return nil, fmt.Errorf("remove what earlier runs left: %w", err)
	}
	for _, p := range over {
		removed = append(removed, p.Namespace+"/"+p.Name)
	}
	return removed, nil
}
