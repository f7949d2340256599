package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/store"
)

// transactional runs a test on each engine that has transactions; open connects a client.
func transactional(t *testing.T, f store.Fencing, level func(engine string) string,
	test func(t *testing.T, engine string, open func() *store.Client)) {
	for _, s := range []*server{postgresEngine, mariadbEngine} {
		t.Run(s.engine, func(t *testing.T) {
			addr := serve(t, s.open(t, f))
			test(t, s.engine, func() *store.Client {
				c := dial(t, addr)
				c.Isolate(level(s.engine))
				return c
			})
		})
	}
}

func always(level string) func(string) string { return func(string) string { return level } }

// ledgerOf is what the ledger has.
func ledgerOf(t *testing.T, c *store.Client) []store.Entry {
	t.Helper()
	entries, _, err := c.Entries(limit(t), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// TestCommit: what is written stands when it is committed, for others and in the ledger.
func TestCommit(t *testing.T) {
	transactional(t, store.Fencing{}, always(store.ReadCommitted), func(t *testing.T, _ string, open func() *store.Client) {
		a, b := open(), open()
		e, err := a.Write(limit(t), store.Request{Key: "k", Op: 1, Grant: 9, Client: 1, Value: 5})
		if err != nil || e.Version != 1 || e.Replaced != 0 {
			t.Fatalf("%+v, %v", e, err)
		}
		if e, err := b.Read(limit(t), store.Request{Key: "k", Op: 2}); err != nil || e.Version != 0 {
			t.Errorf("another client reads %+v, %v before the commit", e, err)
		}
		if n := len(ledgerOf(t, b)); n != 0 {
			t.Errorf("the ledger has %d entries before the commit", n)
		}
		if err := a.Commit(limit(t)); err != nil {
			t.Fatal(err)
		}
		if e, err := b.Read(limit(t), store.Request{Key: "k", Op: 3}); err != nil || e.Version != 1 || e.Value != 5 {
			t.Errorf("another client reads %+v, %v after the commit", e, err)
		}
		entries := ledgerOf(t, b)
		if len(entries) != 1 || entries[0].Op != 1 || entries[0].Grant != 9 || entries[0].Version != 1 ||
			!entries[0].Write || entries[0].Seq != 1 {
			t.Errorf("the ledger has %+v", entries)
		}
		if err := a.Commit(limit(t)); !errors.Is(err, store.ErrAborted) {
			t.Errorf("a commit of nothing: %v", err)
		}
	})
}

// TestRollBack: a connection that ends takes its transaction with it, and its row is free.
func TestRollBack(t *testing.T) {
	transactional(t, store.Fencing{}, always(store.Serializable), func(t *testing.T, _ string, open func() *store.Client) {
		a, b := open(), open()
		if _, err := a.Write(limit(t), store.Request{Key: "k", Op: 1, Value: 5}); err != nil {
			t.Fatal(err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if err := a.Commit(limit(t)); !errors.Is(err, store.ErrAborted) {
			t.Errorf("committed on another connection: %v", err)
		}
		// the store learns of the end of the connection in its own time
		decided.Await(t, "a write by another client", func() bool {
			e, err := b.Write(limit(t), store.Request{Key: "k", Op: 2, Value: 6})
			return err == nil && e.Version == 1 && b.Commit(limit(t)) == nil
		})
		if entries := ledgerOf(t, b); len(entries) != 1 || entries[0].Value != 6 {
			t.Errorf("the ledger has %+v", entries)
		}
	})
}

// TestIsolation: a writer waits for one that has written the row. Whether it then writes over what
// it has not seen, is decided by the engine and the level.
func TestIsolation(t *testing.T) {
	for _, c := range []struct {
		level string
		lost  map[string]bool // by engine
	}{
		{store.ReadCommitted, map[string]bool{"postgres": true, "mariadb": true}},
		{store.RepeatableRead, map[string]bool{"mariadb": true}},
	} {
		t.Run(c.level, func(t *testing.T) {
			transactional(t, store.Fencing{}, always(c.level), func(t *testing.T, engine string, open func() *store.Client) {
				a, b := open(), open()
				for i, client := range []*store.Client{a, b} {
					if _, err := client.Read(limit(t), store.Request{Key: "k", Op: int64(i + 1)}); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := a.Write(limit(t), store.Request{Key: "k", Op: 3, Value: 1}); err != nil {
					t.Fatal(err)
				}
				wrote := make(chan error, 1)
				go func() {
					_, err := b.Write(limit(t), store.Request{Key: "k", Op: 4, Value: 1})
					wrote <- err
				}()
				select {
				case err := <-wrote:
					t.Fatalf("it did not wait for the other transaction: %v", err)
				case <-time.After(100 * time.Millisecond):
				}
				if err := a.Commit(limit(t)); err != nil {
					t.Fatal(err)
				}
				err := <-wrote
				if err == nil {
					err = b.Commit(limit(t))
				}
				switch {
				case c.lost[engine] && err != nil, !c.lost[engine] && !errors.Is(err, store.ErrAborted):
					t.Errorf("the second writer: %v", err)
				case !store.Definite(err) && err != nil:
					t.Errorf("it leaves open what happened: %v", err)
				}
				if n := len(ledgerOf(t, a)); n != 1 && !c.lost[engine] || n != 2 && c.lost[engine] {
					t.Errorf("the ledger has %d entries", n)
				}
			})
		})
	}
}

// TestFenceInTransaction: a fence refuses an older token, and the refusal is an entry.
func TestFenceInTransaction(t *testing.T) {
	transactional(t, store.Fencing{Writes: true, Reads: true}, always(store.ReadCommitted),
		func(t *testing.T, _ string, open func() *store.Client) {
			a, b := open(), open()
			if _, err := b.Read(limit(t), store.Request{Key: "k", Op: 1, Grant: 2, Token: 34}); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Write(limit(t), store.Request{Key: "k", Op: 2, Grant: 2, Token: 34, Value: 1}); err != nil {
				t.Fatal(err)
			}
			if err := b.Commit(limit(t)); err != nil {
				t.Fatal(err)
			}
			e, err := a.Write(limit(t), store.Request{Key: "k", Op: 3, Grant: 1, Token: 33, Value: 1})
			if !errors.Is(err, store.ErrRefused) || !e.Refused || e.Fence != 34 {
				t.Errorf("an older token: %+v, %v", e, err)
			}
			if err := a.Commit(limit(t)); !errors.Is(err, store.ErrAborted) {
				t.Errorf("its commit: %v", err)
			}
			if entries := ledgerOf(t, a); len(entries) != 2 || !entries[1].Refused {
				t.Errorf("the ledger has %+v", entries)
			}
		})
}

// TestManyTransactions: the ledger has every commit, and a key's versions rise in it, no matter
// which client collects what others have committed.
func TestManyTransactions(t *testing.T) {
	transactional(t, store.Fencing{}, always(store.ReadCommitted), func(t *testing.T, _ string, open func() *store.Client) {
		const workers, each = 6, 12
		var all sync.WaitGroup
		for w := range workers {
			c := open()
			all.Go(func() {
				for i := range each {
					key := fmt.Sprintf("k%d", (w+i)%2)
					if _, err := c.Write(limit(t), store.Request{Key: key, Op: int64(1 + w*each + i), Value: 1}); err != nil {
						t.Errorf("write: %v", err)
					} else if err := c.Commit(limit(t)); err != nil {
						t.Errorf("commit: %v", err)
					}
				}
			})
		}
		all.Wait()
		entries := ledgerOf(t, open())
		if len(entries) != workers*each {
			t.Fatalf("%d entries of %d commits", len(entries), workers*each)
		}
		version, at := map[string]int64{}, int64(0)
		for i, e := range entries {
			if version[e.Key]++; e.Seq != int64(i+1) || e.Version != version[e.Key] || e.Replaced != e.Version-1 || e.At < at {
				t.Fatalf("entry %d: %+v", i+1, e)
			}
			at = e.At
		}
	})
}

// TestNoTransactions: an engine without them says so.
func TestNoTransactions(t *testing.T) {
	c := dial(t, serve(t, redisEngine.open(t, store.Fencing{})))
	c.Isolate(store.Serializable)
	if _, err := c.Read(limit(t), store.Request{Key: "k", Op: 1}); !errors.Is(err, store.ErrBadRequest) {
		t.Errorf("%v", err)
	}
}
