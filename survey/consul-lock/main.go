// The Lock, or with the argument "semaphore" the Semaphore for two, of
// github.com/hashicorp/consul/api on a Consul agent, as an adapter for lockchaos.
package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"

	"example.com/golocks/protocol"
)

// permits is how many may have a semaphore.
const permits = 2

// holder is what Lock and Semaphore have in common.
type holder struct {
	take    func(stop <-chan struct{}) (lost <-chan struct{}, err error)
	release func() error
}

type lock struct {
	client    *api.Client
	ttl       time.Duration
	semaphore bool

	mu   sync.Mutex
	held map[string]*holder
}

func open(h protocol.Hello) (protocol.Lock, error) {
	config := api.DefaultConfig()
	config.Address = h.Nodes[0]
	c, err := api.NewClient(config)
	return &lock{client: c, ttl: h.TTL, semaphore: len(os.Args) > 1, held: map[string]*holder{}}, err
}

func (l *lock) Declare() protocol.Declaration {
	d := protocol.Declaration{
		Name:     "consul api.Lock " + protocol.Version("github.com/hashicorp/consul/api"),
		Validity: "session",
		Can:      []string{"cancel"},
		// The channel is closed when a blocking query answers, which it does
		// when the session has ended.
		LostGraceMS: (l.ttl + 2*time.Second).Milliseconds(),
	}
	if l.semaphore {
		d.Name = "consul api.Semaphore " + protocol.Version("github.com/hashicorp/consul/api")
		d.Permits = permits
	}
	return d
}

// holder makes the library's lock of a key. Its lock-delay is the library's: 15 s.
func (l *lock) holder(key string) (*holder, error) {
	if l.semaphore {
		s, err := l.client.SemaphoreOpts(&api.SemaphoreOptions{
			Prefix: "lockchaos/" + key, Limit: permits, SessionTTL: l.ttl.String(),
		})
		if err != nil {
			return nil, err
		}
		return &holder{s.Acquire, s.Release}, nil
	}
	m, err := l.client.LockOpts(&api.LockOptions{Key: "lockchaos/" + key, SessionTTL: l.ttl.String()})
	if err != nil {
		return nil, err
	}
	return &holder{m.Lock, m.Unlock}, nil
}

func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	h, err := l.holder(key)
	if err != nil {
		return protocol.Grant{}, err
	}
	g := protocol.Grant{First: protocol.Now()}
	type result struct {
		lost <-chan struct{}
		err  error
	}
	taken := make(chan result, 1)
	go func() {
		lost, err := h.take(ctx.Done())
		taken <- result{lost, err}
	}()
	var r result
	select {
	case r = <-taken:
	case <-ctx.Done(): // the library looks at its stop channel between blocking queries, which last up to 15 s
		go func() {
			if r := <-taken; r.lost != nil {
				_ = h.release()
			}
		}()
		return g, ctx.Err()
	}
	switch {
	case r.err != nil:
		return g, r.err
	case r.lost == nil: // it was stopped
		return g, errors.New("stopped")
	}
	l.mu.Lock()
	l.held[key] = h
	l.mu.Unlock()
	go l.watch(key, h, r.lost)
	return g, nil
}

func (l *lock) watch(key string, h *holder, lost <-chan struct{}) {
	<-lost
	time.Sleep(10 * time.Millisecond) // never before the grant itself is told
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[key] == h {
		protocol.Lost(key, "the channel was closed")
	}
}

func (l *lock) Release(ctx context.Context, key string) error {
	l.mu.Lock()
	h := l.held[key]
	delete(l.held, key)
	l.mu.Unlock()
	if h == nil {
		return protocol.NotHeld
	}
	return protocol.Within(ctx, 0, h.release)
}

// the process ends, and its sessions after their TTL
func (l *lock) Close(context.Context) error { return nil }

func main() { protocol.Main(open) }
