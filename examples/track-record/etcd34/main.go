// The mutex of etcd's Go library as it was in v3.4.13, as an adapter for lockchaos (docs/protocol.md): a session, a mutex, no more.
//
//	go build -o /tmp/etcd34 .
//	lockchaos run ../etcd-waiter.yaml --lock-cmd /tmp/etcd34 --service etcd
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
)

type request struct {
	ID        int64    `json:"id"`
	Op        string   `json:"op"`
	Key       string   `json:"key"`
	TimeoutMS int64    `json:"timeout_ms"`
	Nodes     []string `json:"nodes"`
	TTLMS     int64    `json:"ttl_ms"`
}

type reply map[string]any

// lock is one client: a session that is opened anew when it has ended, and the mutexes that it holds.
type lock struct {
	client  *clientv3.Client
	ttl     int
	session *concurrency.Session

	mu   sync.Mutex
	held map[string]*concurrency.Mutex
}

func newLock(r request) (*lock, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: r.Nodes, DialTimeout: 5 * time.Second})
	return &lock{client: c, ttl: int(r.TTLMS / 1000), held: map[string]*concurrency.Mutex{}}, err
}

// open returns the session, a new one if the last has ended.
func (l *lock) open(ctx context.Context) (*concurrency.Session, error) {
	if l.session != nil {
		select {
		case <-l.session.Done():
		default:
			return l.session, nil
		}
	}
	// The library bounds the grant by the session's context, which must live on.
	s, err := concurrency.NewSession(l.client, concurrency.WithTTL(l.ttl))
	if err != nil {
		return nil, err
	}
	l.session = s
	go func() {
		<-s.Done()
		l.mu.Lock()
		defer l.mu.Unlock()
		for key := range l.held {
			send(reply{"event": "lost", "key": key, "why": "the session is done"})
		}
		l.held = map[string]*concurrency.Mutex{}
	}()
	return s, nil
}

var errBusy, errNotHeld = errors.New("busy"), errors.New("not_held")

func (l *lock) acquire(ctx context.Context, key string) (reply, error) {
	s, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	m := concurrency.NewMutex(s, "lockchaos/"+key)
	if err := m.Lock(ctx); err != nil {
		return nil, err // it may have left its key in the queue
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[key] = m
	return reply{}, nil
}

func (l *lock) release(ctx context.Context, key string) (reply, error) {
	l.mu.Lock()
	m := l.held[key]
	delete(l.held, key)
	l.mu.Unlock()
	if m == nil {
		return nil, errNotHeld
	}
	return reply{}, m.Unlock(ctx)
}

func (l *lock) answer(r request) (reply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.TimeoutMS)*time.Millisecond)
	defer cancel()
	switch r.Op {
	case "acquire":
		return l.acquire(ctx, r.Key)
	case "release":
		return l.release(ctx, r.Key)
	case "close":
		return reply{}, l.client.Close()
	}
	return nil, errors.New("unsupported")
}

func send(r reply) {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(line, '\n'))
}

func main() {
	var l *lock
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		var out reply
		var err error
		if r.Op == "hello" {
			l, err = newLock(r)
			out = reply{"name": "etcd concurrency.Mutex v3.4.13", "validity": "session", "token": "none", "confirms": []string{}, "lost_grace_ms": 3000}
		} else {
			out, err = l.answer(r)
		}
		switch {
		case err == nil:
		case errors.Is(err, errBusy), errors.Is(err, errNotHeld), err.Error() == "unsupported":
			out = reply{"error": err.Error()}
		default: // nobody knows whether it happened
			out = reply{"error": "unknown", "text": err.Error()}
		}
		out["id"], out["ok"] = r.ID, err == nil
		send(out)
	}
}
