package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sync/errgroup"
)

// step is the pause between two looks at pods.
const step = 150 * time.Millisecond

// hopeless are the reasons for which a container waits that do not pass by themselves.
var hopeless = []string{"ErrImageNeverPull", "ErrImagePull", "ImagePullBackOff", "InvalidImageName",
	"CreateContainerConfigError", "CreateContainerError", "CrashLoopBackOff", "RunContainerError"}

// create makes a pod.
func (c *Cluster) create(ctx context.Context, namespace string, p *corev1.Pod) error {
	err := c.client.Post().Namespace(namespace).Resource("pods").Body(p).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("make pod %s in namespace %s: %w; deploy/kubernetes has the namespaces and permissions that lockchaos needs", p.Name, namespace, err)
	}
	return nil
}

// list returns the pods of a namespace that a selector of labels chooses.
func (c *Cluster) list(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := c.client.Get().Namespace(namespace).Resource("pods").
		VersionedParams(&metav1.ListOptions{LabelSelector: selector}, c.codec).Do(ctx).Into(&list)
	if err != nil {
		return nil, fmt.Errorf("list the pods of namespace %s: %w", namespace, err)
	}
	return list.Items, nil
}

// all are the pods of the scenario.
func (s *scenario) all(ctx context.Context) ([]corev1.Pod, error) {
	pods, err := s.list(ctx, s.Namespace, labelScenario+"="+s.id)
	if err != nil {
		return nil, err
	}
	agents, err := s.agentPods(ctx)
	return append(pods, agents...), err
}

// agentPods is the agent's pod, if there is one.
func (s *scenario) agentPods(ctx context.Context) ([]corev1.Pod, error) {
	return s.list(ctx, s.agents(), labelScenario+"="+s.id)
}

// await returns pods of the scenario on a node by their names, when so many run.
func (s *scenario) await(ctx context.Context, node string, list func(context.Context) ([]corev1.Pod, error),
	count int) (map[string]corev1.Pod, error) {
	var last string
	for {
		pods, err := list(ctx)
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
		byName := map[string]corev1.Pod{}
		for _, p := range pods {
			runs, why, err := running(p)
			if err != nil {
				return nil, err
			}
			if runs {
				byName[p.Name] = p
			} else {
				last = p.Name + ": " + why
			}
		}
		if len(byName) == count {
			return byName, nil
		}
		if !wait(ctx, step) {
			return nil, fmt.Errorf("start the pods on %s: %w; the last seen, %s", node, context.Cause(ctx), last)
		}
	}
}

// running reports whether a pod runs, or why not. The error is that of one that never will.
func running(p corev1.Pod) (yes bool, why string, err error) {
	if ended(p) {
		return false, "", fmt.Errorf("pod %s has ended at its start: %s", p.Name, ending(p))
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		w := c.State.Waiting
		if w != nil && slices.Contains(hopeless, w.Reason) {
			return false, "", fmt.Errorf("pod %s: image %s: %s: %s%s", p.Name, c.Image, w.Reason, w.Message,
				lastWords(c))
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			why = c.Reason + ": " + c.Message
		}
	}
	ready := !slices.ContainsFunc(p.Status.ContainerStatuses,
		func(c corev1.ContainerStatus) bool { return c.State.Running == nil })
	if p.Status.Phase == corev1.PodRunning && p.Status.PodIP != "" && ready {
		return true, "", nil
	}
	if why == "" {
		why = "phase " + string(p.Status.Phase)
	}
	return false, why, nil
}

// lastWords are those of a container that was started again.
func lastWords(c corev1.ContainerStatus) string {
	if t := c.LastTerminationState.Terminated; t != nil && t.Message != "" {
		return "; it said: " + strings.TrimSpace(t.Message)
	}
	return ""
}

// ending says how a pod has ended.
func ending(p corev1.Pod) string {
	var parts []string
	if p.Status.Reason != "" {
		parts = append(parts, strings.TrimSpace(p.Status.Reason+" "+p.Status.Message))
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if t := c.State.Terminated; t != nil {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("container %s ended with status %d %s", c.Name,
				t.ExitCode, t.Message)))
		}
	}
	if parts == nil {
		return "phase " + string(p.Status.Phase)
	}
	return strings.Join(parts, "; ")
}

// startsOf is the number of a container that runs, as its runtime knows it, and
// how often it was started again; "": it does not run.
func startsOf(p corev1.Pod, container string) (id string, starts int32) {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == container && c.State.Running != nil {
			_, id, _ = strings.Cut(c.ContainerID, "://")
			return id, c.RestartCount
		}
	}
	return "", 0
}

// removeLimit bounds how long the cluster may take to remove what we made.
const removeLimit = time.Minute

// remove takes away everything of the scenario, also what an interrupted call may have made.
func (s *scenario) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), removeLimit)
	defer cancel()
	for {
		pods, err := s.all(ctx)
		if err == nil && len(pods) == 0 {
			return nil
		}
		if err == nil {
			err = s.delete(ctx, pods)
		}
		if !wait(ctx, step) {
			return fmt.Errorf("remove the pods of the scenario: %w; lockchaos clean --runtime kubernetes does it later",
				errors.Join(ctx.Err(), err))
		}
	}
}

// delete deletes pods side by side, and agents after the others: so pods without
// an agent are of a scenario that is over. A pod says how long its end may take.
func (c *Cluster) delete(ctx context.Context, pods []corev1.Pod) error {
	for _, agents := range []bool{false, true} {
		var all errgroup.Group
		for _, p := range pods {
			if p.DeletionTimestamp != nil || agents != (p.Labels[labelRole] == roleAgent) {
				continue
			}
			all.Go(func() error {
				err := c.client.Delete().Namespace(p.Namespace).Resource("pods").Name(p.Name).Body(&metav1.DeleteOptions{}).Do(ctx).Error()
				if apierrors.IsNotFound(err) {
					return nil
				}
				return err
			})
		}
		if err := all.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// ended reports whether all containers of a pod have ended, for good.
func ended(p corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}
