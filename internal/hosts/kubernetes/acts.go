package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/commands"
)

// The acts: what the inner program asks of outer, which alone speaks to the API server.
const (
	actDelete   = "delete"
	actForce    = "delete by force"
	actEvict    = "evict"
	actReplaced = "await another"
	actDrain    = "drain the node"
	actUncordon = "uncordon the node"
	// actFar begins what a helper is asked, on the node of the pod.
	actFar = "there: "
)

// acted is what outer answers: what was read of the cluster, or why it allows nothing of the kind.
type acted struct {
	Said      string `json:"said,omitempty"`
	Forbidden string `json:"forbidden,omitempty"`
}

// act has outer do something to the pod of a client.
func (j *Joined) act(ctx context.Context, pod, act string) (said string, err error) {
	text, err := j.asked.Act(ctx, pod, act, nil)
	if err != nil {
		return "", err
	}
	var a acted
	if err := json.Unmarshal(text, &a); err != nil {
		return "", fmt.Errorf("read what came of it: %w", err)
	}
	if a.Forbidden != "" {
		return "", fmt.Errorf("%w: %s", hosts.ErrForbidden, a.Forbidden)
	}
	return a.Said, nil
}

// Delete has a pod of the application deleted, by force without any grace. It
// returns when the cluster has accepted that.
func (j *Joined) Delete(ctx context.Context, pod string, force bool) (said string, err error) {
	if force {
		return j.act(ctx, pod, actForce)
	}
	return j.act(ctx, pod, actDelete)
}

// Evict has a pod of the application evicted, and returns when the cluster has accepted that.
func (j *Joined) Evict(ctx context.Context, pod string) (said string, err error) {
	return j.act(ctx, pod, actEvict)
}

// Replaced waits until the cluster knows a pod of the application no more, and
// until another one is ready in its place, if any is to be.
func (j *Joined) Replaced(ctx context.Context, pod string) (said string, err error) {
	return j.act(ctx, pod, actReplaced)
}

// There has the helper on the node of a pod do something, and returns its answer.
func (j *Joined) There(ctx context.Context, pod, act string, input []byte) (answer []byte, err error) {
	return j.asked.Act(ctx, pod, actFar+act, input)
}

// do does what the inner program asks for, to the pod of a client.
func (s *scenario) do(ctx context.Context, ask commands.Ask) (ended hosts.Executed, err error) {
	p, ok := s.places.of(ask.Node)
	if !ok {
		return ended, fmt.Errorf("%s is no pod of the application", ask.Node)
	}
	if act, far := strings.CutPrefix(ask.Act, actFar); far {
		ended.Stdout, err = s.there(ctx, p.node, ask.Node, act, ask.Input)
		return ended, err
	}
	var a acted
	switch ask.Act {
	case actDelete:
		a.Said, err = s.deletePod(ctx, p.pod, nil)
	case actForce:
		a.Said, err = s.deletePod(ctx, p.pod, new(int64))
	case actEvict:
		a.Said, err = s.evict(ctx, p.pod)
	case actDrain:
		a.Said, err = s.drain(ctx, p)
	case actUncordon:
		a.Said, err = s.uncordon(ctx, p.node)
	case actReplaced:
		a.Said, err = s.replaced(ctx, ask.Node, p.pod)
	default:
		err = fmt.Errorf("unknown act %q", ask.Act)
	}
	if errors.Is(err, hosts.ErrForbidden) {
		fmt.Fprintf(s.Stderr, "the cluster: %s of pod %s: %v\n", ask.Act, p.pod.Name, err)
		a.Forbidden, err = err.Error(), nil
	}
	if err != nil {
		return ended, err
	}
	ended.Stdout, err = json.Marshal(a)
	return ended, err
}

// refusal is the error of a cluster that does not do what was asked of it;
// forbidden where nothing was done.
func refusal(err error) error {
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return fmt.Errorf("%w: the pod is another one by now: %w", hosts.ErrForbidden, err)
	case apierrors.IsForbidden(err), apierrors.IsTooManyRequests(err):
		return fmt.Errorf("%w: %w", hosts.ErrForbidden, err)
	}
	return err
}

// deletePod deletes this very pod, with a grace in seconds; nil: that which the
// pod asks for. It returns what the cluster says of it then.
func (s *scenario) deletePod(ctx context.Context, p corev1.Pod, grace *int64) (said string, err error) {
	options := &metav1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: &p.UID}}
	if err := s.client.Delete().Namespace(p.Namespace).Resource("pods").Name(p.Name).Body(options).Do(ctx).Error(); err != nil {
		return "", refusal(err)
	}
	how := "deleted"
	if grace != nil {
		how = fmt.Sprintf("deleted with a grace of %d s", *grace)
	}
	return s.readBack(ctx, p, how)
}

// evictionPatience is how long a budget may keep a pod from being evicted until that is given up.
const evictionPatience = 5 * time.Second

// evict evicts this very pod by the Eviction API (policy/v1), which honors budgets.
func (s *scenario) evict(ctx context.Context, p corev1.Pod) (said string, err error) {
	text, err := json.Marshal(map[string]any{"apiVersion": "policy/v1", "kind": "Eviction",
		"metadata":      map[string]string{"name": p.Name, "namespace": p.Namespace},
		"deleteOptions": map[string]any{"preconditions": map[string]types.UID{"uid": p.UID}}})
	if err != nil {
		return "", err
	}
	for until := time.Now().Add(evictionPatience); ; {
		err := s.client.Post().Namespace(p.Namespace).Resource("pods").Name(p.Name).SubResource("eviction").
			SetHeader("Content-Type", "application/json").Body(text).MaxRetries(0).Do(ctx).Error()
		if err == nil {
			return s.readBack(ctx, p, fmt.Sprintf("evicted (the API answered %d)", http.StatusCreated))
		}
		if !apierrors.IsTooManyRequests(err) || time.Now().After(until) {
			return "", refusal(err)
		}
		if !wait(ctx, step) {
			return "", context.Cause(ctx)
		}
	}
}

// readBack says what the cluster knows of a pod that is to end.
func (s *scenario) readBack(ctx context.Context, p corev1.Pod, how string) (string, error) {
	said := fmt.Sprintf("pod %s, UID %s, was %s", p.Name, p.UID, how)
	now, err := s.pod1(ctx, p)
	switch {
	case err != nil:
		return "", fmt.Errorf("read what became of pod %s: %w", p.Name, err)
	case now == nil:
		return said + ", and the cluster knows it no more", nil
	case now.DeletionTimestamp == nil:
		return "", fmt.Errorf("pod %s has no deletionTimestamp though it was %s", p.Name, how)
	}
	grace := int64(0)
	if now.DeletionGracePeriodSeconds != nil {
		grace = *now.DeletionGracePeriodSeconds
	}
	return said + fmt.Sprintf(", and has the deletionTimestamp %s, a grace of %d s",
		now.DeletionTimestamp.UTC().Format(time.RFC3339), grace), nil
}

// pod1 is what the cluster knows of this very pod; nil: it knows it no more.
func (s *scenario) pod1(ctx context.Context, p corev1.Pod) (*corev1.Pod, error) {
	var now corev1.Pod
	err := s.client.Get().Namespace(p.Namespace).Resource("pods").Name(p.Name).Do(ctx).Into(&now)
	if apierrors.IsNotFound(err) || err == nil && now.UID != p.UID {
		return nil, nil
	}
	return &now, err
}

// replaceLimit bounds how long another pod is waited for in the place of one that is gone.
const replaceLimit = time.Minute

// replaced waits until the cluster knows a pod no more, and until another one
// in its place is ready; it is said if there is none in time.
func (s *scenario) replaced(ctx context.Context, client string, p corev1.Pod) (said string, err error) {
	began := time.Now()
	since := func() time.Duration { return time.Since(began).Round(time.Millisecond) }
	for {
		now, err := s.pod1(ctx, p)
		if err != nil && ctx.Err() == nil {
			return "", fmt.Errorf("read what became of pod %s: %w", p.Name, err)
		}
		if err == nil && now == nil {
			break
		}
		if !wait(ctx, step) {
			return "", context.Cause(ctx)
		}
	}
	said = fmt.Sprintf("%v later its UID was gone", since())
	if !slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Controller != nil &&
			*o.Controller
	}) {
		return said + ", and it has no controller that would replace it", nil
	}
	for until := time.Now().Add(replaceLimit); time.Now().Before(until); {
		if next, ok := s.places.after(client); ok {
			now, err := s.pod1(ctx, next.pod)
			if err == nil && now != nil && ready(*now) {
				return said + fmt.Sprintf(", and after %v pod %s, UID %s, on %s was ready in its place, called %s",
					since(), now.Name, now.UID, now.Spec.NodeName, next.Name), nil
			}
		}
		if !wait(ctx, step) {
			return "", context.Cause(ctx)
		}
	}
	return said + fmt.Sprintf(", and no other was ready in its place within %v", replaceLimit), nil
}

// ready reports whether a pod is.
func ready(p corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions,
		func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
}

// wait is false if the context ends first.
func wait(ctx context.Context, t time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(t):
		return true
	}
}
