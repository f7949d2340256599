// The lock of github.com/redis/rueidis/rueidislock on one Redis server, as an
// adapter for lockchaos.
package main

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"example.com/golocks/protocol"
)

type lock struct {
	locker rueidislock.Locker

	mu   sync.Mutex
	held map[string]*hold
}

type hold struct{ release context.CancelFunc }

// open sets what the library's README sets for one Redis server of version 7.0.5 or later.
func open(h protocol.Hello) (protocol.Lock, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: h.Nodes},
		KeyMajority:    1,
		NoLoopTracking: true,
		KeyValidity:    h.TTL,
	})
	if err != nil {
		return nil, err
	}
	return &lock{locker: locker, held: map[string]*hold{}}, nil
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:     "rueidislock " + protocol.Version("github.com/redis/rueidis"),
		Validity: "session", // the locker extends the keys in the background
		Can:      []string{"cancel"},
		// "The returned ctx will be canceled automatically and immediately once the KeyMajority
		// is not held anymore, for example: Redis are down." Here "immediately" is 300 ms.
		LostGraceMS: 300,
		Notices:     "alone",
	}
}

// Acquire gives WithContext a context without a deadline: it is the parent of
// the lock's own context, so it must outlive the wait.
func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	wait, giveUp := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, giveUp)
	first := protocol.Now()
	held, release, err := l.locker.WithContext(wait, key)
	if err != nil {
		giveUp()
		return protocol.Grant{First: first}, err
	}
	if !stop() || held.Err() != nil {
		release()
		giveUp()
		return protocol.Grant{First: first}, errors.New("the lock's context ended before it was used")
	}
	h := &hold{release: func() { release(); giveUp() }}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[key] = h
	context.AfterFunc(held, func() { l.lose(key, h) })
	return protocol.Grant{First: first}, nil
}

// lose reports a context that ended before its lock was released.
func (l *lock) lose(key string, h *hold) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[key] == h {
		delete(l.held, key)
		protocol.Lost(key, "the lock's context is canceled")
		go h.release()
	}
}

// Release cancels, as the README does. The library does not report whether the key was still held.
func (l *lock) Release(ctx context.Context, key string) error {
	l.mu.Lock()
	h := l.held[key]
	delete(l.held, key)
	l.mu.Unlock()
	if h == nil {
		return protocol.NotHeld
	}
	done := make(chan struct{})
	go func() { h.release(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lock) Close(context.Context) error {
	l.locker.Close()
	return nil
}

func main() { protocol.Main(open) }
