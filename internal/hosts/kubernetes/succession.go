package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A controller puts another pod in the place of one that ends, elsewhere maybe, and maybe
// while the one before runs still. That is another client: what the first one held it knows
// nothing of. It is called as the first one, with its number in the succession behind it.

// successorMark stands between the name of a client and which in the succession
// of its pods it is. No name in a cluster has it.
const successorMark = "~"

// places are the clients of an application, each with its pod. Safe for concurrent use.
type places struct {
	// since is when the run began, by the cluster's clock: a pod that was there
	// before succeeds no other.
	since time.Time

	mu  sync.Mutex
	all []*heir
}

// heir is a client with its pod.
type heir struct {
	Member
	first   string // the name of the first client in this place
	number  int    // which one it is there
	leaves  bool   // the agent was told that it is to end
	next    *heir
	follows bool // others are followed in its place
}

func newPlaces(members []Member) *places {
	p := &places{}
	for _, m := range members {
		p.all = append(p.all, &heir{Member: m, first: m.Name, number: 1, follows: m.Client})
	}
	return p
}

// of is the client of a name.
func (p *places) of(name string) (heir, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.all {
		if h.Name == name {
			return *h, true
		}
	}
	return heir{}, false
}

// after is who has taken the place of a client.
func (p *places) after(name string) (heir, bool) {
	if h, ok := p.of(name); ok && h.next != nil {
		return *h.next, true
	}
	return heir{}, false
}

// update compares the clients with the pods that there are, and returns who is
// to end and who has come.
func (p *places) update(pods []corev1.Pod, selector source) (leave []*heir, come []*heir) {
	p.mu.Lock()
	defer p.mu.Unlock()
	leave, vacant := p.vacancies(pods, selector)
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	for _, now := range pods {
		if len(vacant) == 0 || !p.newcomer(now) {
			continue
		}
		m, err := member(now)
		if err != nil {
			continue
		}
		before := vacant[0]
		vacant = vacant[1:]
		m.source, m.Client = before.source, true
		h := &heir{Member: m, first: before.first, number: before.number + 1, follows: true}
		h.Name = fmt.Sprintf("%s%s%d", h.first, successorMark, h.number)
		before.next = h
		p.all = append(p.all, h)
		come = append(come, h)
	}
	return leave, come
}

// vacancies are the clients that are to end as is seen now, and those in whose
// place nobody has come. The caller holds the lock.
func (p *places) vacancies(pods []corev1.Pod, selector source) (leave, vacant []*heir) {
	for _, h := range p.all {
		if h.source != selector || !h.follows {
			continue
		}
		i := slices.IndexFunc(pods, func(now corev1.Pod) bool { return now.UID == h.pod.UID })
		if i >= 0 && pods[i].DeletionTimestamp == nil && !ended(pods[i]) {
			continue
		}
		if !h.leaves {
			h.leaves = true
			leave = append(leave, h)
		}
		if h.next == nil {
			vacant = append(vacant, h)
		}
	}
	return leave, vacant
}

// newcomer reports whether a pod runs, is to go on, and was made since the run
// began for a place that is not known yet. The caller holds the lock.
func (p *places) newcomer(now corev1.Pod) bool {
	if slices.ContainsFunc(p.all, func(h *heir) bool { return h.pod.UID == now.UID }) {
		return false
	}
	runs, _, err := running(now)
	return runs && err == nil && now.DeletionTimestamp == nil && !now.CreationTimestamp.Time.Before(p.since)
}

// sources are where pods of clients are found, each once.
func (p *places) sources() (all []source) {
	for _, h := range p.all {
		if h.follows && !slices.Contains(all, h.source) {
			all = append(all, h.source)
		}
	}
	return all
}

// succeed follows the pods of the application's clients as controllers replace them, until
// ctx ends, and tells the agent. begin is told of each new one, whose log is to be followed.
func (s *scenario) succeed(ctx context.Context, begin func(handedNode)) error {
	sources := s.places.sources()
	for len(sources) > 0 && wait(ctx, step) {
		for _, from := range sources {
			pods, err := s.podsFrom(ctx, from)
			if err != nil {
				continue // it may be what is cut off
			}
			if err := s.changes(ctx, pods, from, begin); err != nil {
				return err
			}
		}
	}
	return nil
}

// changes tells the agent what has become of the clients.
func (s *scenario) changes(ctx context.Context, pods []corev1.Pod, from source, begin func(handedNode)) error {
	leave, come := s.places.update(pods, from)
	for _, h := range leave {
		if err := s.agent.say(order{Leaves: h.Name}); err != nil {
			return nil // it has ended
		}
	}
	for _, h := range come {
		n, err := handed(h.Name, h.pod, h.container, false)
		if err != nil {
			return fmt.Errorf("%s, in the place of %s: %w", h.Name, h.first, err)
		}
		if err := s.checkOneNode([]Member{h.Member}); err != nil {
			return err
		}
		n.After = s.places.before(h)
		if _, err := s.helper(ctx, h.node); err != nil {
			return err
		}
		s.helpers.say(order{Comes: &n})
		if s.agent.say(order{Comes: &n}) != nil {
			return nil
		}
		begin(n)
	}
	return nil
}

// before is the name of the one in whose place a client has come.
func (p *places) before(h *heir) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.all {
		if b.next == h {
			return b.Name
		}
	}
	return ""
}

// source is where pods are found: by labels, or one by its name.
type source struct{ namespace, selector, name string }

// podsFrom are the pods that there are.
func (s *scenario) podsFrom(ctx context.Context, from source) ([]corev1.Pod, error) {
	if from.name == "" {
		return s.list(ctx, from.namespace, from.selector)
	}
	pods, err := s.list(ctx, from.namespace, "")
	return slices.DeleteFunc(pods, func(p corev1.Pod) bool { return p.Name != from.name }), err
}
