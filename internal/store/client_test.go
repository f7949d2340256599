package store_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/lockchaos/lockchaos/internal/store"
	"github.com/lockchaos/lockchaos/internal/store/storetest"
)

// serve starts a server on loopback and returns its address.
func serve(t testing.TB, l store.Ledger) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- store.Serve(ctx, listener, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return listener.Addr().String()
}

func dial(t testing.TB, addr string) *store.Client {
	t.Helper()
	c, err := store.Dial(limit(t), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func limit(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), decided.Limit)
	t.Cleanup(cancel)
	return ctx
}

// remote is a ledger behind a server: the suite must hold through the wire too.
type remote struct{ *store.Client }

func (r remote) Do(ctx context.Context, q store.Request, write bool) (store.Entry, error) {
	if write {
		return r.Write(ctx, q)
	}
	return r.Read(ctx, q)
}

func (r remote) Entries(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
	entries, _, err := r.Client.Entries(ctx, after, limit)
	return entries, err
}

func TestThroughTheWire(t *testing.T) {
	storetest.Run(t, func(t *testing.T, f store.Fencing) store.Ledger {
		addr := serve(t, openSQLite(t, filepath.Join(t.TempDir(), "ledger.db"), f))
		return remote{dial(t, addr)}
	})
}

func TestInfo(t *testing.T) {
	addr := serve(t, openSQLite(t, filepath.Join(t.TempDir(), "ledger.db"), store.Fencing{Writes: true}))
	info, err := dial(t, addr).Info(limit(t))
	if err != nil || info.Fencing != "writes" || !strings.HasPrefix(info.Version, "sqlite 3.") {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestWatermark collects while clients work, and demands that no entry ever
// turns up behind a watermark already given.
func TestWatermark(t *testing.T) {
	const clients, each = 4, 400
	addr := serve(t, openSQLite(t, filepath.Join(t.TempDir(), "ledger.db"), store.Fencing{}))
	ctx := limit(t)
	var work sync.WaitGroup
	for range clients {
		c := dial(t, addr)
		work.Go(func() {
			for i := range each {
				if _, err := c.Write(ctx, store.Request{Key: "a", Value: int64(i)}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var over sync.WaitGroup
	over.Go(func() {
		collector := dial(t, addr)
		var seq, mark, raised int64
		for seq < clients*each {
			asked := monotime.Now()
			// a small page: the limit must lower the watermark
			entries, w, err := collector.Entries(ctx, seq, 7)
			if err != nil {
				t.Error(err)
				return
			}
			for _, e := range entries {
				if e.At < mark {
					t.Errorf("entry %d of %d came after the watermark %d", e.Seq, e.At, mark)
				}
				seq = e.Seq
			}
			if w > mark {
				raised++
			}
			mark = max(mark, w)
			if len(entries) == 0 && w < asked-int64(10*time.Second) {
				t.Errorf("a watermark %v old", monotime.Since(w))
			}
		}
		if raised < 10 {
			t.Errorf("the watermark rose %d times only", raised)
		}
	})
	work.Wait()
	over.Wait()
	// With nothing in progress the watermark is the present.
	before := monotime.Now()
	if _, w, err := dial(t, addr).Entries(ctx, clients*each, 10); err != nil || w < before {
		t.Errorf("idle watermark %d, asked at %d: %v", w, before, err)
	}
}

// slow is a ledger that carries a request out only when it is told to.
type slow struct {
	store.Ledger
	started, proceed chan struct{}
}

func (s slow) Do(ctx context.Context, r store.Request, write bool) (store.Entry, error) {
	s.started <- struct{}{}
	<-s.proceed
	return s.Ledger.Do(ctx, r, write)
}

// TestWatermarkWaitsForRequestsInProgress: a request between its arrival and
// its entry holds the watermark back.
func TestWatermarkWaitsForRequestsInProgress(t *testing.T) {
	l := slow{openSQLite(t, filepath.Join(t.TempDir(), "ledger.db"), store.Fencing{}), make(chan struct{}), make(chan struct{})}
	addr := serve(t, l)
	done := make(chan store.Entry, 1)
	writer := dial(t, addr)
	go func() {
		e, _ := writer.Write(limit(t), store.Request{Key: "a"})
		done <- e
	}()
	<-l.started
	between := monotime.Now()
	_, w, err := dial(t, addr).Entries(limit(t), 0, 10)
	if err != nil || w >= between {
		t.Errorf("watermark %d, though a request was in progress at %d: %v", w, between, err)
	}
	close(l.proceed)
	if e := <-done; e.At < w || e.Seq != 1 {
		t.Errorf("%+v, watermark %d", e, w)
	}
}

// TestLostAnswerIsIndefinite: the connection ends after the request was sent.
// Nothing is sent again.
func TestLostAnswerIsIndefinite(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	lines := make(chan string, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				close(lines)
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			lines <- line
			conn.Close()
		}
	}()
	c := dial(t, listener.Addr().String())
	_, err = c.Write(limit(t), store.Request{Key: "a", Op: 7})
	if err == nil || store.Definite(err) {
		t.Errorf("lost answer: %v", err)
	}
	// The next call makes a connection of its own.
	if _, err = c.Write(limit(t), store.Request{Key: "a", Op: 8}); err == nil || store.Definite(err) {
		t.Errorf("second lost answer: %v", err)
	}
	listener.Close()
	if _, err = c.Write(limit(t), store.Request{Key: "a", Op: 9}); !errors.Is(err, store.ErrNotSent) {
		t.Errorf("nobody listens: %v", err)
	}
	var got []string
	for line := range lines {
		got = append(got, line)
	}
	if len(got) != 2 || !strings.Contains(got[0], `"op":7`) || !strings.Contains(got[1], `"op":8`) {
		t.Errorf("the server saw %q", got)
	}
}

// TestDeadline: a server that never answers costs its caller the context's
// time, and the late answer goes nowhere.
func TestDeadline(t *testing.T) {
	l := slow{openSQLite(t, filepath.Join(t.TempDir(), "ledger.db"), store.Fencing{}), make(chan struct{}, 10), make(chan struct{})}
	c := dial(t, serve(t, l))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-l.started
		cancel()
	}()
	if _, err := c.Write(ctx, store.Request{Key: "a", Value: 1}); !errors.Is(err, context.Canceled) || store.Definite(err) {
		t.Errorf("cancelled in progress: %v", err)
	}
	if _, err := c.Write(ctx, store.Request{Key: "a", Value: 2}); !errors.Is(err, store.ErrNotSent) {
		t.Errorf("cancelled before: %v", err)
	}
	close(l.proceed)
	e, err := c.Write(limit(t), store.Request{Key: "b", Value: 3})
	if err != nil || e.Key != "b" || e.Value != 3 {
		t.Errorf("the call after: %+v, %v", e, err)
	}
}

// TestHostileLines: whatever comes, the answer is an error and the next connection is served.
func TestHostileLines(t *testing.T) {
	addr := serve(t, openSQLite(t, filepath.Join(t.TempDir(), "ledger.db"), store.Fencing{}))
	for _, line := range []string{"", "{", "null", "[]", `{"do":"drop"}`, `{"do":"write"}`, `{"do":"write","request":{"key":"a"},"x":1}`,
		`{"do":"write","request":{"key":"a","token":"1"}}`, `{"do":"write","request":{"key":"a","token":1e99}}`,
		`{"do":"read","request":{"key":"a"}} {"do":"read"}`, "{\"do\":\"read\",\"request\":{\"key\":\"\xff\"}}",
		`{"do":"entries","limit":-5}`,
		`{"do":"entries","limit":1000000000}`, "GET / HTTP/1.1\r", strings.Repeat("[", 3000), strings.Repeat("x", 1<<20)} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		go fmt.Fprintf(conn, "%s\n", line) // the server may hang up in the middle
		conn.SetReadDeadline(time.Now().Add(decided.Limit))
		reply, err := bufio.NewReader(conn).ReadBytes('\n')
		var a struct{ Error, Code string }
		// A reset is fair when the server hung up on a megabyte that it had not read.
		if hungUp := len(line) > 4096 && err != nil && !errors.Is(err, io.EOF); !hungUp {
			if json.Unmarshal(reply, &a) != nil || a.Error == "" || a.Code != "bad_request" {
				t.Errorf("%.60q was answered %q, %v", line, reply, err)
			}
		}
		conn.Close()
	}
	c := dial(t, addr)
	if e, err := c.Read(limit(t), store.Request{Key: "a"}); err != nil || e.Seq != 1 {
		t.Errorf("after it all: %+v, %v", e, err)
	}
	if _, err := c.Read(limit(t), store.Request{Key: "\xff"}); !errors.Is(err, store.ErrBadRequest) {
		t.Errorf("a broken key at the client: %v", err)
	}
}

// TestServeEnds: with its context, though clients are connected.
func TestServeEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- store.Serve(ctx, listener, openSQLite(t, filepath.Join(t.TempDir(), "ledger.db"), store.Fencing{}))
	}()
	c := dial(t, listener.Addr().String())
	if _, err := c.Read(limit(t), store.Request{Key: "a"}); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := c.Read(limit(t), store.Request{Key: "a"}); err == nil {
		t.Error("answered after the end")
	}
}

func TestParseFencing(t *testing.T) {
	for _, name := range []string{"none", "writes", "all", "equal", "guarded"} {
		f, err := store.ParseFencing(name)
		if err != nil || f.String() != name || f.Validate() != nil || f.Enabled() != (name != "none" && name != "guarded") {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	if _, err := store.ParseFencing("reads"); !errors.Is(err, store.ErrBadRequest) {
		t.Errorf("reads: %v", err)
	}
	if reflect.DeepEqual(store.Fencing{Reads: true}.Validate(), nil) {
		t.Error("a fence that nothing checks was accepted")
	}
}
