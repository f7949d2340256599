package backends_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/internal/backends"
)

// keptTTL is of sessions that their clients keep alive: what ends, somebody
// ended. etcd's library notices after a third of it.
const keptTTL = 6 * time.Second

// ownSession is a client that tells of its sessions.
type ownSession struct {
	clients.Lock
	mu  sync.Mutex
	all []backends.Session
}

func openTelling(t *testing.T, kind clients.Kind, s *backends.Service, client int) *ownSession {
	t.Helper()
	own := &ownSession{}
	l, err := kind.Open(limit(t), clients.Config{Nodes: s.Addrs(), TTL: int64(keptTTL), Client: client, Seed: 1,
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
	ended, err := s.Expire(limit(t), backends.Client{Addr: netip.MustParseAddr("10.0.0.1"), Sessions: all})
	if err != nil {
		t.Fatal(err)
	}
	return ended
}

// losesSession checks what the end of its session does to a holder: it is over
// at the service, somebody else is granted the lock, the holder is told; and it
// can have the lock again, under a new session.
func losesSession(t *testing.T, kind clients.Kind, s *backends.Service, key, evidence string) {
	t.Helper()
	holder, other := openTelling(t, kind, s, 1), openTelling(t, kind, s, 2)
	g, err := holder.Acquire(limit(t), key)
	if err != nil {
		t.Fatal(err)
	}
	ended := holder.expire(t, s)
	if len(ended) != 1 || !strings.Contains(ended[0], evidence) {
		t.Errorf("ended: %q", ended)
	}
	next, err := other.Acquire(limit(t), key)
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
	case <-limit(t).Done():
		t.Fatal("nobody told of the loss")
	}
	if err := holder.Lock.(clients.Holder).Held(limit(t), g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("held: %v", err)
	}
	if again := holder.expire(t, s); len(again) != 0 {
		t.Errorf("ended a second time: %q", again)
	}
	if err := other.Release(limit(t), next); err != nil {
		t.Error(err)
	}
	if g, err = holder.Acquire(limit(t), key); err != nil {
		t.Fatal(err)
	}
	if err := holder.Release(limit(t), g); err != nil {
		t.Error(err)
	}
}

func TestEtcdSessionIsEnded(t *testing.T) {
	t.Parallel()
	b := newEtcdBench(t)
	losesSession(t, etcd.Lease, b.service, "ended", "etcd revoked lease ")
}

// sessionIsExpired: PostgreSQL knows sessions by their address. Those of one
// are ended, with what they hold, and no others.
func (b postgresBench) sessionIsExpired() {
	host := b.service.Nodes[0].Host
	config, err := pgx.ParseConfig("postgres://" + backends.PostgresUser + "@" + b.service.Addrs()[0] + "/" +
		backends.PostgresDatabase + "?sslmode=disable")
	if err != nil {
		b.Fatal(err)
	}
	config.DialFunc = func(ctx context.Context, network, to string) (net.Conn, error) {
		return host.Dial(ctx, network, netip.MustParseAddrPort(to))
	}
	conn, err := pgx.ConnectConfig(limit(b), config)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(limit(b), "SELECT pg_advisory_lock(77)"); err != nil {
		b.Fatal(err)
	}
	at := backends.Client{Addr: host.Addr}
	ended, err := b.service.Expire(limit(b), at)
	if err != nil || len(ended) != 1 || !strings.Contains(ended[0], ", which had 1 lock") {
		b.Fatalf("ended: %q, %v", ended, err)
	}
	var free bool
	if err := b.db.QueryRow(limit(b), "SELECT pg_try_advisory_lock(77)").Scan(&free); err != nil || !free {
		b.Errorf("the lock is not free: %v", err)
	}
	if _, err := conn.Exec(limit(b), "SELECT 1"); err == nil {
		b.Error("the session goes on")
	}
	if ended, err := b.service.Expire(limit(b), at); err != nil || len(ended) != 0 {
		b.Errorf("ended a second time: %q, %v", ended, err)
	}
	if _, err := b.db.Exec(limit(b), "SELECT pg_advisory_unlock(77)"); err != nil {
		b.Error(err)
	}
}

// Where clients have no sessions, none can be ended, and that is said.
func TestServicesWithoutSessions(t *testing.T) {
	for _, k := range backends.Kinds() {
		if want := k.Name == "etcd" || k.Name == "zookeeper" || k.Name == "postgres" || k.Name == "consul" ||
			k.Name == "mariadb" || k.Name == "mariadb-galera"; k.HasSessions() != want {
			t.Errorf("%s has sessions: %v", k.Name, !want)
		}
	}
	s := &backends.Service{Name: "redis"}
	if _, err := s.Expire(t.Context(), backends.Client{}); err == nil || !strings.Contains(err.Error(), "no sessions") {
		t.Errorf("redis: %v", err)
	}
	s = &backends.Service{Name: "etcd"}
	if _, err := s.Expire(t.Context(), backends.Client{}); !errors.Is(err, backends.ErrUntold) {
		t.Errorf("a client that told of no session: %v", err)
	}
}
