package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/postgres"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/logins"
)

func TestMain(m *testing.M) {
	backendstest.Main(m, postgres.Advisory, postgres.AdvisoryXact, postgres.Row, postgres.Lease,
		postgres.AdvisoryXactPooled, postgres.LeasePooled)
}

func TestPostgresConformance(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "postgres")
	s := backendstest.Start(t, "postgres")
	stop, resume := backendstest.FreezeHost(s)
	for _, kind := range []clients.Kind{postgres.Advisory, postgres.AdvisoryXact, postgres.Row, postgres.Lease} {
		t.Run(kind.Name, func(t *testing.T) {
			clienttest.Run(t, kind, clienttest.Service{Nodes: s.Addrs(), TTL: time.Second, Stop: stop, Continue: resume})
		})
	}
}

// TestPostgresLocks looks behind the locks' back, at the server's sessions.
func TestPostgresLocks(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "postgres")
	s := backendstest.Start(t, "postgres")
	ctx := backendstest.Limit(t)
	db, err := pgx.Connect(ctx, "postgres://"+logins.PostgresUser+"@"+s.Addrs()[0]+"/"+logins.PostgresDatabase+"?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	backendstest.Leads(t, s, "postgres-1")
	for _, kind := range []clients.Kind{postgres.Advisory, postgres.AdvisoryXact, postgres.Row} {
		t.Run(kind.Name, func(t *testing.T) {
			b := postgresBench{t, s, db}
			b.waitLeavesNothing(kind)
			b.sessionEnds(kind)
			b.silence(kind)
		})
	}
	t.Run("a session is expired", func(t *testing.T) { postgresBench{t, s, db}.sessionIsExpired() })
	t.Run("granted while the wait runs out", func(t *testing.T) { decided.Run(t, func() { postgresBench{t, s, db}.grantedTooLate(60) }) })
	t.Run(postgres.Lease.Name, func(t *testing.T) {
		runs := 0
		decided.Run(t, func() { runs++; postgresBench{t, s, db}.lease(fmt.Sprint("row-", runs)) })
	})
}

type postgresBench struct {
	*testing.T
	service *backends.Service
	db      *pgx.Conn
}

// count is how many rows a query of the server's catalogue has.
func (b postgresBench) count(query string) (n int) {
	b.Helper()
	if err := b.db.QueryRow(backendstest.Limit(b), "SELECT count(*) FROM "+query).Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

func (b postgresBench) open(kind clients.Kind, client int) clients.Lock {
	b.Helper()
	return backendstest.Open(b.T, kind, b.service, backendstest.KeptTTL, client)
}

// waitLeavesNothing: no statement waits for a lock on the server when the client has given up.
func (b postgresBench) waitLeavesNothing(kind clients.Kind) {
	b.Helper()
	holder, waiter := b.open(kind, 1), b.open(kind, 2)
	g, err := holder.Acquire(backendstest.Limit(b), "wait")
	if err != nil {
		b.Fatal(err)
	}
	for range 5 {
		if backendstest.Refused(b.T, waiter, "wait") > 0 { // the server has to notice that nobody waits for an answer
			decided.Await(b, "statements that nobody waits for end", func() bool { return b.count("pg_locks WHERE NOT granted") == 0 })
		}
		if n := b.count("pg_locks WHERE NOT granted"); n != 0 {
			b.Errorf("%s: %d statements still wait", kind.Name, n)
		}
	}
	if err := holder.Release(backendstest.Limit(b), g); err != nil {
		b.Error(err)
	}
	if n := b.count("pg_locks WHERE locktype = 'advisory'"); n != 0 {
		b.Errorf("%s: %d advisory locks are left", kind.Name, n)
	}
}

// grantedTooLate: the holder releases at the moment at which the server gives
// up the wait. PostgreSQL may then say that the lock was not available, and the
// session has it all the same. Whatever a waiter is told must be true.
func (b postgresBench) grantedTooLate(rounds int) {
	b.Helper()
	holder, waiter := b.open(postgres.Advisory, 1), b.open(postgres.Advisory, 2)
	met := 0
	for i := range rounds {
		g, err := holder.Acquire(backendstest.Limit(b), "late")
		if err != nil {
			b.Fatal(err)
		}
		told := make(chan error, 1)
		go func() {
			got, err := waiter.Acquire(backendstest.Shortly(b.T), "late")
			if err == nil {
				err = waiter.Release(backendstest.Limit(b), got)
			}
			told <- err
		}()
		wait := 100 * time.Millisecond // lock_timeout, of which the query is told how much is left
		for b.db.QueryRow(backendstest.Limit(b), "SELECT EXTRACT(microseconds FROM waitstart + interval '100 ms' - clock_timestamp()) * 1000 FROM pg_locks WHERE NOT granted").Scan(&wait) != nil && len(told) == 0 {
			time.Sleep(time.Millisecond)
		}
		// else the waiter had given up before it was seen to wait, on a busy machine
		if len(told) == 0 {
			met++
			time.Sleep(wait + time.Duration(i%20-10)*100*time.Microsecond)
		}
		if err := holder.Release(backendstest.Limit(b), g); err != nil {
			b.Fatal(err)
		}
		err = <-told
		if clients.Definite(err) && !errors.Is(err, clients.ErrBusy) {
			b.Error(err)
		}
		left := func() int { return b.count("pg_locks WHERE locktype = 'advisory'") }
		// on a busy machine: until the server has seen the end of the connection
		for end := backendstest.Limit(b); err != nil && !clients.Definite(err) && left() != 0 && end.Err() == nil; {
			time.Sleep(time.Millisecond)
		}
		if n := left(); n != 0 {
			b.Fatalf("round %d: %d advisory locks belong to nobody", i, n)
		}
	}
	if met < rounds/4 {
		decided.Lacks("a waiter that was seen to wait in a quarter of %d rounds: %d", rounds, met)
	}
}

// sessionEnds: the server ends the holder's session. The holder is told, and another has the lock.
func (b postgresBench) sessionEnds(kind clients.Kind) {
	b.Helper()
	holder, other := b.open(kind, 1), b.open(kind, 2)
	g, err := holder.Acquire(backendstest.Limit(b), "ends")
	if err != nil {
		b.Fatal(err)
	}
	if err := holder.(clients.Holder).Held(backendstest.Limit(b), g); err != nil {
		b.Error(err)
	}
	b.count("(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lockchaos' AND pid <> pg_backend_pid()) AS t")
	b.isTold(holder, "ends")
	if err := holder.(clients.Holder).Held(backendstest.Limit(b), g); !errors.Is(err, clients.ErrNotHeld) {
		b.Errorf("%s: held: %v", kind.Name, err)
	}
	if err := holder.Release(backendstest.Limit(b), g); !errors.Is(err, clients.ErrNotHeld) {
		b.Errorf("%s: released: %v", kind.Name, err)
	}
	if g, err = other.Acquire(backendstest.Limit(b), "ends"); err != nil {
		b.Fatal(err)
	}
	if err := other.Release(backendstest.Limit(b), g); err != nil {
		b.Error(err)
	}
}

func (b postgresBench) isTold(l clients.Lock, key string) {
	b.Helper()
	select {
	case loss := <-l.(clients.Watcher).Lost():
		if loss.Key != key || loss.Why == "" {
			b.Errorf("%+v", loss)
		}
	case <-backendstest.Limit(b).Done():
		b.Fatal("nobody told of the loss")
	}
}

// silence: a server that does not answer for a TTL may have ended the session;
// and what the client gave up is free when the server goes on.
func (b postgresBench) silence(kind clients.Kind) {
	b.Helper()
	holder, other := backendstest.Open(b.T, kind, b.service, time.Second, 1), b.open(kind, 2)
	lost, err := holder.Acquire(backendstest.Limit(b), "silence")
	if err != nil {
		b.Fatal(err)
	}
	stop, resume := backendstest.FreezeHost(b.service)
	stop(b.T)
	// A release under way when the hold is given up was sent: nobody knows what became of it.
	released := make(chan error, 1)
	go func() { released <- holder.Release(backendstest.Limit(b), lost) }()
	b.isTold(holder, "silence")
	if err := <-released; !errors.Is(err, clients.ErrOpen) && !errors.Is(err, clients.ErrNotHeld) {
		b.Errorf("a release that was not answered: %v", err)
	}
	resume(b.T)
	g, err := other.Acquire(backendstest.Limit(b), "silence")
	if err != nil {
		b.Fatal(err)
	}
	if err := other.Release(backendstest.Limit(b), g); err != nil {
		b.Error(err)
	}
}

// lease: the row is what the lock says of it, and an expired lease is its
// owner's no more, even if nobody else has taken it.
func (b postgresBench) lease(row string) {
	const ttl = time.Second
	l := backendstest.Open(b.T, postgres.Lease, b.service, ttl, 1)
	g, err := l.Acquire(backendstest.Limit(b), row)
	if err != nil {
		b.Fatal(err)
	}
	// A grant whose lease was over before its answer came was given up by the lock itself.
	first := g.Token
	if n := b.count("lockchaos_lease WHERE key = '" + row + "' AND fence = " + strconv.FormatInt(first, 10) +
		" AND owner LIKE '1-%' AND expires > clock_timestamp() AND expires <= clock_timestamp() + interval '1 s'"); first < 1 || n != 1 {
		err := fmt.Errorf("token %d, %d rows", g.Token, n)
		backendstest.Within(g, ttl, err)
		b.Error(err)
	}
	renewed, err := l.(clients.Renewer).Renew(backendstest.Limit(b), g)
	backendstest.Within(g, ttl, err)
	if err != nil || renewed.Attempt <= g.Attempt || renewed.Token != g.Token {
		b.Errorf("%+v, %v", renewed, err)
	}
	for ctx := backendstest.Limit(b); b.count("lockchaos_lease WHERE key = '"+row+"' AND expires > clock_timestamp()") != 0; {
		if ctx.Err() != nil {
			b.Fatal("it never expired")
		}
	}
	if _, err := l.(clients.Renewer).Renew(backendstest.Limit(b), g); !errors.Is(err, clients.ErrNotHeld) {
		b.Errorf("renewed after its end: %v", err)
	}
	for _, err := range []error{l.(clients.Holder).Held(backendstest.Limit(b), g), l.Release(backendstest.Limit(b), g)} {
		if !errors.Is(err, clients.ErrNotHeld) {
			b.Errorf("after its end: %v", err)
		}
	}
	if g, err = l.Acquire(backendstest.Limit(b), row); err != nil || g.Token <= first {
		b.Errorf("%+v, %v", g, err)
	}
}

// sessionIsExpired: PostgreSQL knows sessions by their address. Those of one
// are ended, with what they hold, and no others.
func (b postgresBench) sessionIsExpired() {
	host := b.service.Nodes[0].Host
	config, err := pgx.ParseConfig("postgres://" + logins.PostgresUser + "@" + b.service.Addrs()[0] + "/" +
		logins.PostgresDatabase + "?sslmode=disable")
	if err != nil {
		b.Fatal(err)
	}
	config.DialFunc = func(ctx context.Context, network, to string) (net.Conn, error) {
		return host.Dial(ctx, network, netip.MustParseAddrPort(to))
	}
	conn, err := pgx.ConnectConfig(backendstest.Limit(b), config)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(backendstest.Limit(b), "SELECT pg_advisory_lock(77)"); err != nil {
		b.Fatal(err)
	}
	at := backends.Client{Addr: host.Addr}
	ended, err := b.service.Expire(backendstest.Limit(b), at)
	if err != nil || len(ended) != 1 || !strings.Contains(ended[0], ", which had 1 lock") {
		b.Fatalf("ended: %q, %v", ended, err)
	}
	var free bool
	if err := b.db.QueryRow(backendstest.Limit(b), "SELECT pg_try_advisory_lock(77)").Scan(&free); err != nil || !free {
		b.Errorf("the lock is not free: %v", err)
	}
	if _, err := conn.Exec(backendstest.Limit(b), "SELECT 1"); err == nil {
		b.Error("the session goes on")
	}
	if ended, err := b.service.Expire(backendstest.Limit(b), at); err != nil || len(ended) != 0 {
		b.Errorf("ended a second time: %q, %v", ended, err)
	}
	if _, err := b.db.Exec(backendstest.Limit(b), "SELECT pg_advisory_unlock(77)"); err != nil {
		b.Error(err)
	}
}

func TestGrantThatIsOver(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "postgres")
	backendstest.GrantThatIsOver(t, postgres.Lease)
}
