package kubernetes

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Clean removes the pods of scenarios that are over, and returns their names. A
// scenario lives as long as its agent does, and an agent does not outlive its
// run for long: one that hears nothing of it heals, and ends.
func (c *Cluster) Clean(ctx context.Context) (removed []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, removeLimit)
	defer cancel()
	pods, err := c.list(ctx, c.Namespace, labelScenario)
	if err != nil {
		return nil, err
	}
	// After the pods: an agent is made before its pods, and removed after them.
	agents, err := c.list(ctx, c.agents(), labelScenario)
	if err != nil {
		return nil, err
	}
	over := whatIsOver(pods, agents)
	if err := c.delete(ctx, over); err != nil {
		return nil, fmt.Errorf("remove what earlier runs left: %w", err)
	}
	if removed, err = c.uncordonLeft(ctx, living(agents)); err != nil {
		return removed, err
	}
	for _, p := range over {
		removed = append(removed, p.Namespace+"/"+p.Name)
	}
	return removed, nil
}

// whatIsOver are the pods, and the agents, of scenarios without an agent that lives.
func whatIsOver(pods, agents []corev1.Pod) []corev1.Pod {
	lives := living(agents)
	return slices.DeleteFunc(slices.Concat(pods, agents),
		func(p corev1.Pod) bool { return lives[p.Labels[labelScenario]] })
}

// living are the scenarios of which an agent lives.
func living(agents []corev1.Pod) map[string]bool {
	lives := map[string]bool{}
	for _, p := range agents {
		id := p.Labels[labelScenario]
		lives[id] = lives[id] || !ended(p) && p.DeletionTimestamp == nil
	}
	return lives
}
