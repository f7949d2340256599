// The elector of github.com/go-co-op/gocron-etcd-elector on three etcd members,
// as an adapter for lockchaos.
//
// To acquire is to start an elector and to wait until it says that it leads,
// which a scheduler asks it before each job. To release is to stop it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	elector "github.com/go-co-op/gocron-etcd-elector"
	"google.golang.org/grpc"

	"example.com/golocks/protocol"
)

// look is how often IsLeader is asked.
const look = 10 * time.Millisecond

type lock struct {
	config elector.Config
	ttl    time.Duration // whole seconds

	mu   sync.Mutex
	held map[string]*elector.Elector
}

func open(h protocol.Hello) (protocol.Lock, error) {
	config := elector.Config{
		Endpoints:   h.Nodes,
		DialTimeout: 3 * time.Second, // as in the library's example
		DialOptions: []grpc.DialOption{grpc.WithNoProxy()},
	}
	ttl := (h.TTL + time.Second - 1).Truncate(time.Second)
	return &lock{config: config, ttl: ttl, held: map[string]*elector.Elector{}}, nil
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:     "gocron-etcd-elector " + protocol.Version("github.com/go-co-op/gocron-etcd-elector"),
		Validity: "session",
		Can:      []string{"held", "cancel"}, // IsLeader asks nobody
		// A scheduler runs jobs until IsLeader says no: at the latest when the lease is over.
		LostGraceMS: max(2*time.Second, l.ttl/3+time.Second).Milliseconds(),
		Notices:     "alone",
	}
}

func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	g := protocol.Grant{First: protocol.Now()}
	var e *elector.Elector
	err := protocol.Within(ctx, 0, func() (err error) { // it waits up to 6 s for an answer of etcd
		e, err = elector.NewElector(context.Background(), l.config, elector.WithTTL(int(l.ttl/time.Second)))
		return err
	})
	if err != nil {
		return protocol.Grant{}, err
	}
	go func() {
		if err := e.Start("lockchaos/" + key); err != nil {
			fmt.Fprintln(os.Stderr, "Start has ended:", err)
		}
	}()
	for e.IsLeader(ctx) != nil {
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return g, errors.Join(ctx.Err(), e.Stop())
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[key] = e
	go l.watch(key, e)
	return g, nil
}

// watch asks the elector again and again, as a scheduler does.
func (l *lock) watch(key string, e *elector.Elector) {
	for range time.Tick(look) {
		l.mu.Lock()
		switch {
		case l.held[key] != e:
			l.mu.Unlock()
			return
		case e.IsLeader(context.Background()) != nil:
			delete(l.held, key)
			protocol.Lost(key, "IsLeader says no")
			go e.Stop()
		}
		l.mu.Unlock()
	}
}

func (l *lock) Held(ctx context.Context, key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.held[key]; e == nil || e.IsLeader(ctx) != nil {
		return protocol.NotHeld
	}
	return nil
}

// errLease is what is left to say of every release.
var errLease = errors.New("Stop has not asked etcd for anything: the lease ends the leadership")

func (l *lock) Release(_ context.Context, key string) error {
	l.mu.Lock()
	e := l.held[key]
	delete(l.held, key)
	l.mu.Unlock()
	if e == nil {
		return protocol.NotHeld
	}
	return errors.Join(errLease, e.Stop())
}

func (l *lock) Close(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, e := range l.held {
		delete(l.held, key)
		_ = e.Stop()
	}
	return nil
}

func main() { protocol.Main(open) }
