package backendstest

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/decided"
)

// KeptTTL is of sessions that their clients keep alive: what ends, somebody
// ended. etcd's library notices after a third of it.
const KeptTTL = 6 * time.Second

// ownSession is a client that tells of its sessions.
type ownSession struct {
	clients.Lock
	mu  sync.Mutex
	all []backends.Session
}

func openTelling(t *testing.T, kind clients.Kind, s *backends.Service, client int) *ownSession {
	t.Helper()
	own := &ownSession{}
	l, err := kind.Open(Limit(t), clients.Config{Nodes: s.Addrs(), TTL: KeptTTL, Client: client,
		Identity: clients.IdentityOf(client, 0), Seed: 1,
		Opened: func(told clients.Session) {
			own.mu.Lock()
			defer own.mu.Unlock()
			own.all = append(own.all, backends.Session(told))
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(context.Background()) })
	own.Lock = l
	return own
}

// expire ends all the client's sessions at the service.
func (o *ownSession) expire(t *testing.T, s *backends.Service) []string {
	t.Helper()
	o.mu.Lock()
	all := o.all
	o.mu.Unlock()
	ended, err := s.Expire(Limit(t), backends.Client{Addr: netip.MustParseAddr("10.0.0.1"), Sessions: all})
	if err != nil {
		t.Fatal(err)
	}
	return ended
}

// LosesSession checks what the end of its session does to a holder: it is over
// at the service, somebody else is granted the lock, the holder is told; and it
// can have the lock again, under a new session.
func LosesSession(t *testing.T, kind clients.Kind, s *backends.Service, key, evidence string) {
	t.Helper()
	decided.Run(t, func() { losesSession(t, kind, s, key, evidence) })
}

func losesSession(t *testing.T, kind clients.Kind, s *backends.Service, key, evidence string) {
	holder, other := openTelling(t, kind, s, 1), openTelling(t, kind, s, 2)
	g, err := holder.Acquire(Limit(t), key)
	if err != nil {
		t.Fatal(err)
	}
	ended := holder.expire(t, s)
	if len(ended) == 0 && errors.Is(holder.Lock.(clients.Holder).Held(Limit(t), g), clients.ErrNotHeld) {
		decided.Lacks("a session that lives until somebody ends it: this machine stood still for longer")
	}
	if len(ended) != 1 || !strings.Contains(ended[0], evidence) {
		t.Errorf("ended: %q", ended)
	}
	next, err := other.Acquire(Limit(t), key)
	if err != nil {
		t.Fatal(err)
	}
	if g.Token != 0 && next.Token <= g.Token {
		t.Errorf("token %d after %d", next.Token, g.Token)
	}
	select {
	case loss := <-holder.Lock.(clients.Watcher).Lost():
		if loss.Key != key || loss.Token != g.Token {
			t.Errorf("%+v", loss)
		}
	case <-Limit(t).Done():
		t.Fatal("nobody told of the loss")
	}
	if err := holder.Lock.(clients.Holder).Held(Limit(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("held: %v", err)
	}
	if again := holder.expire(t, s); len(again) != 0 {
		t.Errorf("ended a second time: %q", again)
	}
	if err := other.Release(Limit(t), next); err != nil {
		t.Error(err)
	}
	if g, err = holder.Acquire(Limit(t), key); err != nil {
		t.Fatal(err)
	}
	if err := holder.Release(Limit(t), g); err != nil {
		t.Error(err)
	}
}
