package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockchaos/lockchaos/internal/logins"
	"github.com/lockchaos/lockchaos/internal/store"
	"github.com/lockchaos/lockchaos/internal/store/storetest"
)

func TestRemoteEngines(t *testing.T) {
	for _, s := range remoteEngines {
		t.Run(s.engine, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, f store.Fencing) store.Ledger { return s.open(t, f) })
		})
	}
}

// TestRemoteThroughTheWire: what a client sees, with an engine that may leave a request open.
func TestRemoteThroughTheWire(t *testing.T) {
	s := redisEngine
	storetest.Run(t, func(t *testing.T, f store.Fencing) store.Ledger { return remote{dial(t, serve(t, s.open(t, f)))} })
}

// TestRemoteGoesOn: another process opens the ledger, and goes on where the
// first one ended; the first one notices.
func TestRemoteGoesOn(t *testing.T) {
	for _, s := range remoteEngines {
		t.Run(s.engine, func(t *testing.T) {
			s.need(t)
			f, name := store.Fencing{Writes: true, Reads: true}, s.name()
			first := s.openNamed(t, name, f)
			if _, err := first.Do(limit(t), store.Request{Key: "a", Token: 9, Value: 90}, true); err != nil {
				t.Fatal(err)
			}
			second := s.openNamed(t, name, f)
			if e, err := second.Do(limit(t), store.Request{Key: "a", Token: 8}, true); !errors.Is(err,
				store.ErrRefused) || e.Seq != 2 || e.Fence != 9 {
				t.Errorf("%+v, %v", e, err)
			}
			if e, err := first.Do(limit(t), store.Request{Key: "a", Token: 10}, true); err == nil || store.Definite(err) {
				t.Errorf("the first process still writes: %+v, %v", e, err)
			}
			if entries, err := second.Entries(limit(t), 0, 10); err != nil || len(entries) != 2 {
				t.Errorf("%+v, %v", entries, err)
			}
		})
	}
}

// TestRemoteCrash kills the engine's server. What was asked then is open, and
// nothing is given out until it is known what became of it. A server that comes
// back with its data goes on; one without is found out.
func TestRemoteCrash(t *testing.T) {
	for _, s := range remoteEngines {
		t.Run(s.engine, func(t *testing.T) {
			l := s.open(t, store.Fencing{Writes: true, Reads: true})
			write := func(token int64) (store.Entry, error) {
				return l.Do(limit(t), store.Request{Key: "a", Token: token, Value: token}, true)
			}
			for token := range int64(3) {
				if _, err := write(token + 1); err != nil {
					t.Fatal(err)
				}
			}
			s.kill()
			if _, err := write(4); err == nil || store.Definite(err) {
				t.Errorf("a write to a server that is dead: %v", err)
			}
			if entries, err := l.Entries(limit(t), 0, 10); err == nil {
				t.Errorf("the ledger of a server that is dead: %+v", entries)
			}
			if err := s.run(); err != nil {
				t.Fatal(err)
			}
			e, err := answered(t, func() (store.Entry, error) { return write(5) })
			if !s.survivesDeath {
				if err == nil || store.Definite(err) || !strings.Contains(err.Error(), "lost its ledger") {
					t.Errorf("the server forgot all, and nobody says so: %+v, %v", e, err)
				}
				if _, err := l.Entries(limit(t), 0, 10); err == nil {
					t.Error("a ledger that was lost is given out")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			entries, err := l.Entries(limit(t), 0, 10)
			if err != nil || len(entries) != int(e.Seq) || len(entries) < 4 || len(entries) > 5 || entries[len(entries)-1] != e {
				t.Errorf("after the crash: %+v, %v", entries, err)
			}
			if _, err := write(4); !errors.Is(err, store.ErrRefused) {
				t.Errorf("the fence did not survive: %v", err)
			}
		})
	}
}

// answered repeats a request until the engine, which has just come back, has
// told what became of the one before. Until then nothing is sent.
func answered(t *testing.T, request func() (store.Entry, error)) (store.Entry, error) {
	t.Helper()
	for ctx := limit(t); ; {
		e, err := request()
		if err == nil || !strings.Contains(err.Error(), "an earlier request is open") || ctx.Err() != nil {
			return e, err
		}
		<-time.After(10 * time.Millisecond)
	}
}

// TestRemoteSilence: a server that does not answer costs time, not truth. The request is carried
// out when the server wakes up, or never: once the next answer is there, that is settled.
func TestRemoteSilence(t *testing.T) {
	for _, s := range remoteEngines {
		t.Run(s.engine, func(t *testing.T) {
			l := s.open(t, store.Fencing{})
			if _, err := l.Do(limit(t), store.Request{Key: "a", Op: 1}, true); err != nil {
				t.Fatal(err)
			}
			s.freeze(t)
			short, cancel := context.WithTimeout(limit(t), 100*time.Millisecond)
			if _, err := l.Do(short, store.Request{Key: "a", Op: 2}, true); err == nil || store.Definite(err) {
				t.Errorf("no answer: %v", err)
			}
			cancel()
			s.thaw()
			e, err := answered(t, func() (store.Entry, error) { return l.Do(limit(t), store.Request{Key: "a", Op: 3}, true) })
			if err != nil {
				t.Fatal(err)
			}
			settled, err := l.Entries(limit(t), 0, 10)
			if err != nil || len(settled) != int(e.Seq) || settled[len(settled)-1] != e {
				t.Fatalf("%+v, %v", settled, err)
			}
			e, err = l.Do(limit(t), store.Request{Key: "a", Op: 4}, true)
			after, errAfter := l.Entries(limit(t), 0, 10)
			if err != nil || errAfter != nil || !reflect.DeepEqual(after, append(settled, e)) {
				t.Errorf("%+v turned into %+v (%v, %v)", settled, after, err, errAfter)
			}
		})
	}
}

// TestPostgresIsAppendOnly: not even with SQL.
func TestPostgresIsAppendOnly(t *testing.T) {
	s := postgresEngine
	s.need(t)
	name := s.name()
	if _, err := s.openNamed(t, name, store.Fencing{}).Do(limit(t), store.Request{Key: "a"}, true); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(limit(t), "postgres://"+logins.PostgresUser+"@"+s.addr()+"/"+logins.PostgresDatabase+"?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for _, statement := range []string{`UPDATE ` + name + `.ledger SET value = 1`, `DELETE FROM ` + name + `.ledger`,
		`TRUNCATE ` + name + `.ledger`} {
		if _, err := c.Exec(limit(t), statement); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

// TestMariaDBIsAppendOnly: not even with SQL.
func TestMariaDBIsAppendOnly(t *testing.T) {
	s := mariadbEngine
	s.need(t)
	name := s.name()
	if _, err := s.openNamed(t, name, store.Fencing{}).Do(limit(t), store.Request{Key: "a"}, true); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("mysql", logins.MariaDBUser+"@tcp("+s.addr()+")/"+name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{`UPDATE ledger SET value = 1`, `DELETE FROM ledger`} {
		if _, err := db.ExecContext(limit(t), statement); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

// TestS3WithoutConditions: a server that takes every write, whatever its condition, decides
// nothing.
func TestS3WithoutConditions(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "<Error><Code>NoSuchKey</Code></Error>")
			return
		}
		w.Header().Set("ETag", `"1"`)
	}))
	defer server.Close()
	_, err := store.Open(limit(t), store.Spec{Engine: "s3", Addrs: []string{server.Listener.Addr().String()}, Name: "x"})
	if err == nil || !strings.Contains(err.Error(), "If-None-Match") {
		t.Errorf("%v", err)
	}
}

// TestRemoteLateArrival: a write is under way for so long that its sender gives up and goes on, and
// reaches the server then. It must change nothing. (A client of etcd has one connection, on which
// what comes later waits for the write: there is none that arrives late.)
func TestRemoteLateArrival(t *testing.T) {
	for _, s := range []*server{redisEngine, postgresEngine, mariadbEngine, s3Engine} {
		t.Run(s.engine, func(t *testing.T) {
			s.need(t)
			way := newSlowWay(t, s.addr())
			spec := s.spec(s.name(), store.Fencing{Writes: true, Reads: true})
			spec.Addrs = []string{way.addr()}
			l, err := store.Open(limit(t), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			write := func(ctx context.Context, token int64) (store.Entry, error) {
				return l.Do(ctx, store.Request{Key: "a", Token: token, Value: token}, true)
			}
			if _, err := write(limit(t), 1); err != nil {
				t.Fatal(err)
			}
			way.hold()
			short, cancel := context.WithTimeout(limit(t), 200*time.Millisecond)
			defer cancel()
			if _, err := write(short, 2); err == nil || store.Definite(err) {
				t.Fatalf("a write that does not arrive: %v", err)
			}
			// A claim may meet another connection that is held up, and is made again.
			e, err := answered(t, func() (store.Entry, error) { return write(limit(t), 3) })
			if err != nil || e.Seq != 2 {
				t.Fatalf("%+v, %v", e, err)
			}
			before, err := l.Entries(limit(t), 0, 10)
			if err != nil {
				t.Fatal(err)
			}
			way.release(t)
			after, err := l.Entries(limit(t), 0, 10)
			if err != nil || len(after) != 2 || !reflect.DeepEqual(after, before) {
				t.Errorf("%+v turned into %+v, %v", before, after, err)
			}
			if e, err := write(limit(t), 4); err != nil || e.Seq != 3 || e.Replaced != 2 {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
}

// TestGuard: a write under a lock's key is carried out while that key is there, as it was created.
func TestGuard(t *testing.T) {
	s := etcdEngine
	l := s.open(t, store.Fencing{Guarded: true})
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.addr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	lock := "lockchaos/" + s.name() + "/77"
	create := func() int64 {
		t.Helper()
		made, err := c.Put(limit(t), lock, "")
		if err != nil {
			t.Fatal(err)
		}
		return made.Header.Revision
	}
	write := func(token, version int64, want error) {
		t.Helper()
		e, err := l.Do(limit(t), store.Request{Key: "a", Token: token, Guard: lock, Value: 7}, true)
		if !errors.Is(err, want) || want == nil && err != nil || e.Version != version || e.Refused != (want != nil) || e.At == 0 {
			t.Errorf("%+v, %v, want %v", e, err, want)
		}
	}
	write(5, 0, store.ErrRefused)
	token := create()
	write(token, 1, nil)
	write(token-1, 0, store.ErrRefused)
	write(token+1, 0, store.ErrRefused)
	create() // a change of the value is not a new key
	write(token, 2, nil)
	if _, err := c.Delete(limit(t), lock); err != nil {
		t.Fatal(err)
	}
	write(token, 0, store.ErrRefused)
	create()
	write(token, 0, store.ErrRefused)
	for _, bad := range []store.Request{{Key: "a", Token: 1}, {Key: "a", Guard: lock},
		{Key: "a", Token: 1, Guard: strings.Repeat("x", store.MaxGuard+1)}} {
		if _, err := l.Do(limit(t), bad, true); !errors.Is(err, store.ErrBadRequest) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if e, err := l.Do(limit(t), store.Request{Key: "a"}, false); err != nil || e.Version != 2 || e.Value != 7 || e.Seq != 8 {
		t.Errorf("%+v, %v", e, err)
	}
	entries, err := l.Entries(limit(t), 0, 10)
	if err != nil || len(entries) != 8 || entries[0].Guard != lock || !entries[0].Refused {
		t.Errorf("%+v, %v", entries, err)
	}
}

// TestOpenRefuses: what no engine can be opened with is told before anything is started.
func TestOpenRefuses(t *testing.T) {
	for _, s := range []store.Spec{
		{}, {Engine: "oracle"}, {Engine: "redis", Name: "x"}, {Engine: "redis", Addrs: []string{"a:1"}},
		{Engine: "redis", Addrs: []string{"a:1", "b:1"}, Name: "x"},
		{Engine: "postgres", Addrs: []string{"a:1"}, Name: `x"; DROP TABLE y`}, {Engine: "postgres", Addrs: []string{"a"}, Name: "x"},
		{Engine: "redis", Addrs: []string{"a:1"}, Name: "x", Fencing: store.Fencing{Guarded: true}},
		{Engine: "sqlite", File: t.TempDir() + "/x.db", Fencing: store.Fencing{Guarded: true}},
		{Engine: "etcd", Addrs: []string{"a:1"}, Name: "x", Fencing: store.Fencing{Guarded: true, Writes: true}},
	} {
		if l, err := store.Open(limit(t), s); !errors.Is(err, store.ErrBadRequest) {
			t.Errorf("%+v: %v, %v", s, l, err)
		}
	}
	// Nobody listens there: the error says where.
	for _, engine := range store.Engines()[1:] {
		ctx, cancel := context.WithCancel(limit(t))
		if engine == "etcd" {
			cancel() // its library would try until the end
		}
		if _, err := store.Open(ctx, store.Spec{Engine: engine, Addrs: []string{"127.0.0.1:1"},
			Name: "x"}); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
			t.Errorf("%s: %v", engine, err)
		}
		cancel()
	}
}
