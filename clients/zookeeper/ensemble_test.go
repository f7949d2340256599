package zookeeper_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/zookeeper"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/decided"
)

func TestMain(m *testing.M) { backendstest.Main(m, zookeeper.Recipe, zookeeper.Gozk) }

func TestZooKeeperConformance(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "zookeeper")
	s := backendstest.Start(t, "zookeeper")
	stop, resume := freezeEnsemble(s)
	for _, kind := range []clients.Kind{zookeeper.Recipe, zookeeper.Gozk} {
		t.Run(kind.Name, func(t *testing.T) {
			clienttest.Run(t, kind, clienttest.Service{Nodes: s.Addrs(), TTL: time.Second, Stop: stop, Continue: resume})
		})
	}
}

// freezeEnsemble is freeze for ZooKeeper: the leader runs on first, until it has
// seen that nobody follows it. Were all resumed together, its followers could come
// back to it while a proposal is open; it may then take their ACK of that proposal
// for their ACK of NEWLEADER, and commits nothing ever after (ZOOKEEPER-4685).
func freezeEnsemble(s *backends.Service) (stop, resume func(*testing.T)) {
	var resumes []func(*testing.T)
	var leader *backends.Node
	stop = func(t *testing.T) {
		t.Helper()
		name, err := s.Leader(backendstest.Limit(t))
		if err != nil {
			t.Fatal(err)
		}
		resumes = nil
		for _, n := range s.Nodes {
			stop, resume := backendstest.Freeze(n)
			stop(t)
			if n.Name == name {
				leader = n
				resumes = slices.Insert(resumes, 0, resume)
			} else {
				resumes = append(resumes, resume)
			}
		}
	}
	resume = func(t *testing.T) {
		t.Helper()
		b := zooBench{T: t}
		for i, resume := range resumes {
			resume(t)
			if i == 0 {
				b.await("the leader gives up", func() bool {
					answer, err := fourLetters(leader, "srvr")
					return err == nil && !strings.Contains(answer, "Mode: leader\n")
				})
			}
		}
	}
	return stop, resume
}

// TestZooKeeperLocks looks behind the locks' back, at the znodes of their queues.
func TestZooKeeperLocks(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "zookeeper")
	s := backendstest.Start(t, "zookeeper")
	b := zooBench{t, s, backendstest.ZooKeeper(t, s.Addrs()[0])}
	backendstest.Leads(t, s, b.leader())
	for _, test := range []struct {
		name string
		run  func(zooBench)
	}{
		{"the token is the znode's czxid, and waiters are granted in their order", zooOrder},
		{"a lost reply leaves no orphan", zooOrphan},
		{"a silent ensemble is noticed by the client's own clock", zooSilence},
		{"the session is moved when its member dies", zooMove},
		{"a session that is ended from outside frees its lock", zooExpired},
		{"the blind control tells nothing and believes itself", zooBlind},
		{"a release wakes one waiter, the herd's wakes all", zooHerd},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(zooBench{t, s, b.conn}) })
	}
}

type zooBench struct {
	*testing.T
	service *backends.Service
	conn    *zk.Conn
}

func (b zooBench) open(kind clients.Kind, client int) clients.Lock {
	b.Helper()
	return backendstest.Open(b.T, kind, b.service, backendstest.Lasting, client)
}

// leader is the member that says of itself that it leads.
func (b zooBench) leader() (name string) {
	b.Helper()
	for _, n := range b.service.Nodes {
		if strings.Contains(b.told(n, "srvr"), "Mode: leader\n") {
			name = n.Name
		}
	}
	return name
}

// told is what a member answers to a four-letter word.
func (b zooBench) told(n *backends.Node, word string) string {
	b.Helper()
	text, err := fourLetters(n, word)
	if err != nil {
		b.Fatal(err)
	}
	return text
}

func fourLetters(n *backends.Node, word string) (answer string, err error) {
	conn, err := net.Dial("tcp", n.Addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	return string(text), err
}

// waiting is how many clients watch the znodes of a lock's queue, at all members together.
func (b zooBench) waiting(key string) (sum int) {
	b.Helper()
	for _, n := range b.service.Nodes {
		watched := false
		for line := range strings.Lines(b.told(n, "wchp")) { // each path, and below it, indented, who watches it
			if name, session := strings.CutPrefix(line, "\t"); !session {
				watched = strings.HasPrefix(name, "/lockchaos/key-"+key+"/")
			} else if watched {
				sum++
			}
		}
	}
	return sum
}

// watches is how many watches are set at all members together, also those of locks that other
// tests have left.
func (b zooBench) watches() (sum int) {
	b.Helper()
	for _, n := range b.service.Nodes {
		set := 0
		b.await(n.Name+" serves, and tells its watches", func() bool { // on a busy machine it may be between two leaders
			_, rest, _ := strings.Cut(b.told(n, "mntr"), "zk_watch_count\t")
			count, _, _ := strings.Cut(rest, "\n")
			var err error
			set, err = strconv.Atoi(count)
			return err == nil
		})
		sum += set
	}
	return sum
}

// queue returns the names in the queue of a lock of the recipe, as of now. An
// ensemble on a busy machine may be between two leaders.
func (b zooBench) queue(key string) (names []string) {
	b.Helper()
	var err error
	b.await("a member serves", func() bool {
		if _, err = b.conn.Sync("/lockchaos"); err != nil {
			return !errors.Is(err, zk.ErrConnectionClosed)
		}
		if names, _, err = b.conn.Children("/lockchaos/key-" + key); errors.Is(err, zk.ErrNoNode) {
			err = nil
		}
		return !errors.Is(err, zk.ErrConnectionClosed)
	})
	if err != nil {
		b.Fatal(err)
	}
	return names
}

func (b zooBench) await(what string, condition func() bool) {
	b.Helper()
	for ctx := backendstest.Limit(b); !condition(); {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			b.Fatalf("it never came that %s", what)
		}
	}
}

func (b zooBench) acquire(l clients.Lock, key string) clients.Grant {
	b.Helper()
	g, err := l.Acquire(backendstest.Limit(b), key)
	if err != nil {
		b.Fatal(err)
	}
	return g
}

func zooOrder(b zooBench) {
	holder := b.open(zookeeper.Recipe, 1)
	g := b.acquire(holder, "order")
	names := b.queue("order")
	if len(names) != 1 {
		b.Fatalf("the queue has %v", names)
	}
	_, stat, err := b.conn.Get("/lockchaos/key-order/" + names[0])
	if err != nil || stat.Czxid != g.Token {
		b.Errorf("token %d, czxid %d, %v", g.Token, stat.Czxid, err)
	}
	if ttl := holder.(clients.Leaser).GrantedTTL(); ttl != backendstest.Lasting {
		b.Errorf("granted TTL %v", ttl)
	}
	type granted struct {
		client int
		grant  clients.Grant
	}
	got := make(chan granted)
	var all sync.WaitGroup
	for client := range 3 {
		l := b.open(zookeeper.Recipe, client+2)
		all.Go(func() {
			g, err := l.Acquire(backendstest.Limit(b), "order")
			if err != nil {
				b.Error(err)
			}
			got <- granted{client, g}
			if err := l.Release(backendstest.Limit(b), g); err != nil {
				b.Error(err)
			}
		})
		b.await("the waiter is in the queue", func() bool { return len(b.queue("order")) == client+2 })
	}
	if err := holder.Release(backendstest.Limit(b), g); err != nil {
		b.Fatal(err)
	}
	for client := range 3 {
		next := <-got
		if next.client != client || next.grant.Token <= g.Token || next.grant.Enqueued <= next.grant.Attempt {
			b.Errorf("granted as number %d: client %d with %+v after token %d", client, next.client, next.grant, g.Token)
		}
		g = next.grant
	}
	all.Wait()
}

// zooOrphan has the reply to a create lost, with the connection: the znode is
// there, its client finds it, and it is the only one.
func zooOrphan(b zooBench) {
	var armed atomic.Bool
	addr := zooProxy(b.T, b.service.Addrs()[0], &armed)
	l, err := zookeeper.Recipe.Open(backendstest.Limit(b), clients.Config{Nodes: []string{addr},
		TTL: backendstest.Lasting, Client: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close(backendstest.Limit(b))
	if err := l.Release(backendstest.Limit(b), b.acquire(l, "orphan")); err != nil {
		b.Fatal(err)
	}
	armed.Store(true)
	g := b.acquire(l, "orphan")
	if armed.Load() {
		b.Fatal("no reply was lost")
	}
	if names := b.queue("orphan"); len(names) != 1 {
		b.Errorf("the queue has %v", names)
	}
	if err := l.Release(backendstest.Limit(b), g); err != nil {
		b.Error(err)
	}
	if names := b.queue("orphan"); len(names) != 0 {
		b.Errorf("left: %v", names)
	}
}

// zooMove: the death of the member that a client talks to costs it nothing, if
// another member takes the session over in time.
func zooMove(b zooBench) {
	s := backendstest.Start(b.T, "zookeeper")
	l, err := zookeeper.Recipe.Open(backendstest.Limit(b), clients.Config{Nodes: s.Addrs(), TTL: backendstest.Lasting, Client: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close(backendstest.Limit(b))
	g := b.acquire(l, "move")
	// the leader, or the one that the client is at, or neither
	if err := s.Nodes[2].Process.Kill(backendstest.Limit(b)); err != nil {
		b.Fatal(err)
	}
	if err := l.(clients.Holder).Held(backendstest.Limit(b), g); err != nil {
		b.Error(err)
	}
	if err := l.Release(backendstest.Limit(b), g); err != nil {
		b.Error(err)
	}
	select {
	case loss := <-l.(clients.Watcher).Lost():
		b.Errorf("%+v", loss)
	default:
	}
}

// zooBlind: the control goes on saying that it holds what another was granted.
func zooExpired(b zooBench) {
	backendstest.LosesSession(b.T, zookeeper.Recipe, b.service, "expired", " closed session 0x")
}

func zooBlind(b zooBench) {
	if zookeeper.SessionBlind.Control != "continuity" || !slices.Contains(zookeeper.SessionBlind.Claims.Confirms, "held") {
		b.Errorf("%+v", zookeeper.SessionBlind)
	}
	l := b.open(zookeeper.SessionBlind, 1)
	g := b.acquire(l, "blind")
	for _, name := range b.queue("blind") { // as when the session had expired
		if err := b.conn.Delete("/lockchaos/key-blind/"+name, -1); err != nil {
			b.Fatal(err)
		}
	}
	other := b.open(zookeeper.Recipe, 2)
	b.acquire(other, "blind")
	if err := l.(clients.Holder).Held(backendstest.Limit(b), g); err != nil {
		b.Errorf("it noticed: %v", err)
	}
	if err := l.(clients.Holder).Held(backendstest.Limit(b), clients.Grant{Key: "blind", Secret: "nobody's"}); !errors.Is(err, clients.ErrNotHeld) {
		b.Errorf("a forged grant: %v", err)
	}
	honest := b.open(zookeeper.Recipe, 3)
	g = b.acquire(honest, "seeing")
	for _, name := range b.queue("seeing") {
		if err := b.conn.Delete("/lockchaos/key-seeing/"+name, -1); err != nil {
			b.Fatal(err)
		}
	}
	if err := honest.(clients.Holder).Held(backendstest.Limit(b), g); !errors.Is(err, clients.ErrNotHeld) {
		b.Errorf("the honest one: %v", err)
	}
}

// zooHerd counts what the ensemble is asked because of one release, with many waiters.
func zooHerd(b zooBench) {
	const waiters = 20
	for _, kind := range []clients.Kind{zookeeper.Recipe, zookeeper.Herd} {
		runs := 0
		decided.Run(b.T, func() {
			b := b
			runs++
			key := fmt.Sprintf("%s-%d", kind.Name, runs)
			holder := backendstest.Open(b.T, kind, b.service, backendstest.Lasting, 1)
			g := b.acquire(holder, key)
			ctx, cancel := context.WithCancel(backendstest.Limit(b))
			defer cancel()
			granted, failed := make(chan struct{}, waiters), make(chan error, waiters)
			for client := range waiters {
				l := backendstest.Open(b.T, kind, b.service, backendstest.Lasting, client+2)
				go func() {
					if _, err := l.Acquire(ctx, key); err != nil {
						failed <- err
						return
					}
					granted <- struct{}{} // and holds it
				}()
			}
			// A waiter that is in the queue has still to ask who is before it:
			// it waits once its watch is set.
			b.await("all wait", func() bool {
				select {
				case err := <-failed:
					decided.Lacks("a queue of %d waiters: one could not wait: %v", waiters, err)
				default:
				}
				if kind.Control != "" { // they watch the directory: wchp does not tell that
					return len(b.queue(key)) > waiters && b.watches() >= waiters
				}
				return b.waiting(key) >= waiters
			})
			before, began := backendstest.Requests(b, b.service), time.Now()
			if err := holder.Release(backendstest.Limit(b), g); err != nil {
				b.Fatal(err)
			}
			<-granted
			if kind.Control == "" {
				// The heartbeats of all sessions count as well, and come all at once where the
				// machine has stood still. A herd asks so much at every release.
				if n := backendstest.Requests(b, b.service) - before; n >= waiters {
					decided.Lacks("a release without the requests of all waiters: %d within %v", n, time.Since(began))
				}
				return
			}
			b.await("all waiters ask", func() bool { return backendstest.Requests(b, b.service)-before >= waiters })
		})
	}
}
