// The leader election of k8s.io/client-go on Leases of a Kubernetes API server, as an adapter
// for lockchaos: to acquire is to run an elector until it leads, to release is to end it.
package main

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"example.com/golocks/protocol"
)

type lock struct {
	client *kubernetes.Clientset
	name   string
	ttl    time.Duration

	mu   sync.Mutex
	held map[string]*term
}

// term is one elector's, from its start to its end.
type term struct {
	cancel  context.CancelFunc
	leads   chan struct{}
	stopped chan struct{}
}

func open(h protocol.Hello) (protocol.Lock, error) {
	// lockchaos's own API server: it signs its certificate itself, and knows
	// this token. Without limits of the client's own, as the clients of
	// components have them: client-go asks five times a second otherwise.
	c, err := kubernetes.NewForConfig(&rest.Config{
		Host: "https://" + h.Nodes[0], TLSClientConfig: rest.TLSClientConfig{Insecure: true},
		BearerToken: "lockchaos-token", QPS: -1,
	})
	return &lock{client: c, name: h.Client, ttl: h.TTL, held: map[string]*term{}}, err
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:     "client-go leaderelection " + protocol.Version("k8s.io/client-go"),
		Validity: "session", // until OnStoppedLeading
		Can:      []string{"cancel"},
		// "the duration that the acting master will retry refreshing leadership
		// before giving up", and one more try
		LostGraceMS: (l.ttl*2/3 + l.ttl*2/15 + 300*time.Millisecond).Milliseconds(),
		Notices:     "alone",
	}
}

func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	g := protocol.Grant{First: protocol.Now()}
	running, cancel := context.WithCancel(context.Background())
	t := &term{cancel: cancel, leads: make(chan struct{}), stopped: make(chan struct{})}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: "lockchaos-" + key},
			Client:     l.client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: l.name},
		},
		// The proportions of the library's defaults: 15 s, 10 s and 2 s.
		LeaseDuration:   l.ttl,
		RenewDeadline:   l.ttl * 2 / 3,
		RetryPeriod:     l.ttl * 2 / 15,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(t.leads) },
			OnStoppedLeading: func() { close(t.stopped) },
		},
	})
	if err != nil {
		cancel()
		return protocol.Grant{}, err
	}
	go elector.Run(running)
	select {
	case <-t.leads:
	case <-ctx.Done():
		cancel()
		return g, ctx.Err()
	}
	l.mu.Lock()
	l.held[key] = t
	l.mu.Unlock()
	go l.watch(key, t)
	return g, nil
}

// watch tells when the elector has stopped leading by itself.
func (l *lock) watch(key string, t *term) {
	<-t.stopped
	time.Sleep(10 * time.Millisecond) // never before the grant itself is told
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[key] == t {
		delete(l.held, key)
		protocol.Lost(key, "it has stopped leading")
	}
}

// Release ends the elector, which gives the Lease back before it says that it has stopped.
func (l *lock) Release(ctx context.Context, key string) error {
	l.mu.Lock()
	t := l.held[key]
	delete(l.held, key)
	l.mu.Unlock()
	if t == nil {
		return protocol.NotHeld
	}
	t.cancel()
	select {
	case <-t.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lock) Close(context.Context) error { return nil } // the process ends

func main() { protocol.Main(open) }
