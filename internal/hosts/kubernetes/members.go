package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Member is a pod of an application of the user's own.
type Member struct {
	// Name is what faults and files call it.
	Name string
	// Client: another pod that a controller puts in its place is another client.
	Client bool

	pod             corev1.Pod
	container, node string
	source          source
}

// controllers are the kinds of things that have pods, and where the API has them.
var controllers = map[string]string{"deployment": "deployments", "statefulset": "statefulsets",
	"daemonset": "daemonsets"}

// Find finds the pods of an application by words: deployment/NAME,
// statefulset/NAME, daemonset/NAME, pod/NAME, or a selector of labels KEY=VALUE,
// with ":2" behind it for the second one in the order of names. All must run.
func (c *Cluster) Find(ctx context.Context, namespace string, words, names []string) (members []Member, err error) {
	if namespace == "" {
		namespace = c.Namespace
	}
	in := namespaced{c, namespace}
	for i, word := range words {
		m, err := in.find(ctx, word)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
		m.Name = names[i]
		members = append(members, m)
	}
	return members, nil
}

// namespaced is one namespace of a cluster.
type namespaced struct {
	*Cluster
	namespace string
}

// find finds one.
func (c namespaced) find(ctx context.Context, word string) (m Member, err error) {
	what, number, err := numbered(word)
	if err != nil {
		return m, err
	}
	selector := what
	if kind, name, ok := strings.Cut(what, "/"); ok {
		if kind == "pod" {
			m, err = c.onlyMember(ctx, name)
			m.source = source{namespace: c.namespace, name: name}
			return m, err
		}
		if selector, err = c.selectorOf(ctx, kind, name); err != nil {
			return m, err
		}
	}
	pods, err := c.list(ctx, c.namespace, selector)
	if err != nil {
		return m, err
	}
	pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool {
		runs, _, err := running(p)
		return !runs || err != nil || p.DeletionTimestamp != nil
	})
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	if len(pods) < number {
		return m, fmt.Errorf("namespace %s has %d pods of it that run, not %d: kubectl -n %[1]s get pods -l %[4]s",
			c.namespace, len(pods), number, selector)
	}
	m, err = member(pods[number-1])
	m.source = source{namespace: c.namespace, selector: selector}
	return m, err
}

// numbered cuts the number off that a word may have.
func numbered(word string) (what string, number int, err error) {
	what, text, ok := strings.Cut(word, ":")
	if !ok {
		return what, 1, nil
	}
	if number, err = strconv.Atoi(text); err != nil || number < 1 {
		return what, 0, fmt.Errorf("%q is no number of a pod: deployment/web:2 is the second", text)
	}
	return what, number, nil
}

// onlyMember is a pod of a name.
func (c namespaced) onlyMember(ctx context.Context, name string) (m Member, err error) {
	var p corev1.Pod
	if err := c.client.Get().Namespace(c.namespace).Resource("pods").Name(name).Do(ctx).Into(&p); err != nil {
		return m, fmt.Errorf("find it in namespace %s: %w", c.namespace, err)
	}
	if runs, why, err := running(p); !runs || err != nil {
		return m, errors.Join(fmt.Errorf("it does not run: %s", why), err)
	}
	return member(p)
}

// member is a pod's container: the first, or the one that kubectl takes by default.
func member(p corev1.Pod) (Member, error) {
	container := p.Annotations["kubectl.kubernetes.io/default-container"]
	if container == "" {
		container = p.Spec.Containers[0].Name
	}
	if p.Spec.HostNetwork {
		return Member{}, fmt.Errorf("pod %s has the network of its node: whatever was done to it would be done to the node", p.Name)
	}
	return Member{pod: p, container: container, node: p.Spec.NodeName}, nil
}

// selectorOf is what a controller selects its pods by.
func (c namespaced) selectorOf(ctx context.Context, kind, name string) (string, error) {
	resource, ok := controllers[kind]
	if !ok {
		return "", fmt.Errorf("a %s has no pods that lockchaos could find: want deployment/NAME, statefulset/NAME, daemonset/NAME, pod/NAME or KEY=VALUE", kind)
	}
	text, err := c.client.Get().AbsPath("/apis/apps/v1").Namespace(c.namespace).Resource(resource).Name(name).DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return "", fmt.Errorf("namespace %s has no such %s: app.namespace names another", c.namespace, kind)
	}
	if err != nil {
		return "", fmt.Errorf("find it in namespace %s: %w", c.namespace, err)
	}
	var told struct {
		Spec struct{ Selector *metav1.LabelSelector }
	}
	if err := json.Unmarshal(text, &told); err != nil {
		return "", fmt.Errorf("read what the cluster says of it: %w", err)
	}
	selects, err := metav1.LabelSelectorAsSelector(told.Spec.Selector)
	if err != nil {
		return "", fmt.Errorf("read by which labels it selects its pods: %w", err)
	}
	return selects.String(), nil
}

// checkOneNode refuses members that are on several nodes where they must not be.
func (s *scenario) checkOneNode(members []Member) error {
	for _, m := range members {
		if s.Together != "" && m.node != s.node.Name {
			return fmt.Errorf("pod %s is on node %s and others on %s, and all must be on one: %s; a podAffinity for %s sees to it", m.pod.Name, m.node, s.node.Name, s.Together, hostLabel)
		}
	}
	return nil
}
