package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockchaos/lockchaos/internal/hosts"
)

// cordoned is the annotation of a node that a scenario has cordoned: its id.
// Who finds one of a scenario that is over uncordons the node.
const cordoned = "lockchaos/cordoned"

// Drain has the node of a pod take no more pods, and the application's pods there evicted.
func (j *Joined) Drain(ctx context.Context, pod string) (said string, err error) {
	return j.act(ctx, pod, actDrain)
}

// Uncordon lets the node of a pod take pods again.
func (j *Joined) Uncordon(ctx context.Context, pod string) (said string, err error) {
	return j.act(ctx, pod, actUncordon)
}

// Control is where nodes reach the API server; none: outer was not allowed to read it.
func (j *Joined) Control() []netip.AddrPort { return j.told.Control }

// Expect says that nothing may be heard of outer for so long, which is planned.
func (j *Joined) Expect(silence time.Duration) {
	until := time.Now().Add(silence + Silence).UnixNano()
	for was := j.expected.Load(); was < until && !j.expected.CompareAndSwap(was, until); was = j.expected.Load() {
	}
}

// control reads where nodes reach the API server: its endpoints.
func (s *scenario) control(ctx context.Context) (all []netip.AddrPort) {
	if len(s.Members) == 0 {
		return nil
	}
	//lint:ignore SA1019 every API server keeps its own in this form, too, and needs no other kinds to be known for that
	var e corev1.Endpoints
	if s.client.Get().Namespace("default").Resource("endpoints").Name("kubernetes").Do(ctx).Into(&e) != nil {
		return nil // the caller that needs it says that it is not known
	}
	for _, set := range e.Subsets {
		for _, a := range set.Addresses {
			for _, p := range set.Ports {
				if addr, err := netip.ParseAddr(a.IP); err == nil && addr.Is4() {
					all = append(all, netip.AddrPortFrom(addr, uint16(p.Port)))
				}
			}
		}
	}
	return all
}

// mark cordons a node, or uncordons it.
func (c *Cluster) mark(ctx context.Context, node string, unschedulable bool, by *string) error {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]*string{cordoned: by}}, "spec": map[string]bool{"unschedulable": unschedulable}})
	if err != nil {
		return err
	}
	return c.client.Patch(types.MergePatchType).Resource("nodes").Name(node).Body(text).Do(ctx).Error()
}

// drain cordons the node of a client's pod, and evicts the clients' pods there, that one first.
func (s *scenario) drain(ctx context.Context, p heir) (said string, err error) {
	if err := s.mark(ctx, p.node, true, &s.id); err != nil {
		return "", refusal(err)
	}
	parts := []string{fmt.Sprintf("node %s was cordoned", p.node)}
	first, err := s.evict(ctx, p.pod)
	if err != nil {
		_, uncordoned := s.uncordon(context.WithoutCancel(ctx), p.node)
		return "", errors.Join(err, uncordoned)
	}
	parts = append(parts, first)
	for _, other := range s.places.on(p.node, p.Name) {
		one, err := s.evict(ctx, other.pod)
		if err != nil && !errors.Is(err, hosts.ErrForbidden) {
			return "", err
		}
		if err != nil {
			one = fmt.Sprintf("pod %s stays: %v", other.pod.Name, err)
		}
		parts = append(parts, one)
	}
	return strings.Join(parts, "; "), nil
}

// uncordon lets a node take pods again, and says what the cluster says of it then.
func (s *scenario) uncordon(ctx context.Context, node string) (said string, err error) {
	if err := s.mark(ctx, node, false, nil); err != nil {
		return "", fmt.Errorf("uncordon node %s: %w; kubectl uncordon %[1]s", node, err)
	}
	return fmt.Sprintf("node %s takes pods again", node), nil
}

// on are the clients with pods on a node that are not to end, but for one.
func (p *places) on(node, but string) (all []heir) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.all {
		if h.node == node && h.Name != but && h.follows && !h.leaves {
			all = append(all, *h)
		}
	}
	return all
}

// uncordonLeft uncordons the nodes that scenarios have cordoned which are over.
// Where nodes can't be changed none was.
func (c *Cluster) uncordonLeft(ctx context.Context, living map[string]bool) (names []string, err error) {
	var list corev1.NodeList
	if err := c.client.Get().Resource("nodes").Do(ctx).Into(&list); err != nil {
		return nil, fmt.Errorf("list the cluster's nodes: %w", err)
	}
	for _, n := range list.Items {
		by := n.Annotations[cordoned]
		if by == "" || living[by] {
			continue
		}
		if err := c.mark(ctx, n.Name, false, nil); err != nil {
			return names, fmt.Errorf("node %s was cordoned by a run that is over: %w; kubectl uncordon %[1]s", n.Name,
				err)
		}
		names = append(names, "the cordon of node "+n.Name)
	}
	return names, nil
}
