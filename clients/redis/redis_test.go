package redis_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

const ttl = 500 * time.Millisecond

// stall is how late the machine may be for a complaint to count.
const stall = ttl / 20

// server is a redis-server of this test's own, on loopback.
type server struct {
	addr string
	cmd  *exec.Cmd
}

func startServer(t testing.TB) *server {
	t.Helper()
	program := needed.Program(t, "redis-server")
	// Another may take the port between its choice and redis's: then redis ends
	// at once, and the next one is tried.
	for range 10 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		l.Close()
		s := &server{addr: "127.0.0.1:" + port}
		s.cmd = exec.Command(program, "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir", t.TempDir())
		if s.start(t) {
			return s
		}
	}
	t.Fatal("redis-server did not start")
	return nil
}

func (s *server) start(t testing.TB) (answers bool) {
	var log bytes.Buffer
	s.cmd.Stdout = &log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = s.cmd.Wait() // killed, or the port was taken
		close(ended)
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-ended
	})
	client := s.client(t)
	for {
		select {
		case <-ended:
			t.Logf("redis-server on %s: %s", s.addr, log.String())
			return false
		case <-time.After(2 * time.Millisecond):
			if client.Ping(t.Context()).Err() == nil {
				return true
			}
		}
	}
}

// client looks behind the lock's back.
func (s *server) client(t testing.TB) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Addr: s.addr, Protocol: 2, DisableIdentity: true, DialerRetries: 1, PoolSize: 1000})
	t.Cleanup(func() { c.Close() })
	return c
}

func (s *server) stop(t testing.TB) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " T") {
			return
		}
	}
}

func (s *server) resume(t testing.TB) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, kind clients.Kind, addr string) clients.Lock {
	t.Helper()
	l, err := kind.Open(t.Context(), clients.Config{Nodes: []string{addr}, TTL: ttl, Client: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(context.Background()) })
	return l
}

// TestLostAnswer loses the answer of the attempt that took the key: the next one must recognise
// what is its own, count the expiry anew and say that the grant may be as old as the first.
func TestLostAnswer(t *testing.T) {
	server := startServer(t)
	for _, kind := range []clients.Kind{redis.Setnx, redis.SetnxFenced, redis.Watchdog, redis.Fair} {
		t.Run(kind.Name, func(t *testing.T) {
			clienttest.Calmly(t, stall, func(t testing.TB) {
				p := startProxy(t, server.addr)
				l := open(t, kind, p.addr)
				// the script is known to the server after this
				warm, err := l.Acquire(backendstest.Limit(t), "k")
				if err != nil {
					t.Fatal(err)
				}
				if err := l.Release(backendstest.Limit(t), warm); err != nil {
					t.Fatal(err)
				}
				p.loseAnswers(1)
				g, err := l.Acquire(backendstest.Limit(t), "k")
				if err != nil {
					t.Fatal(err)
				}
				if g.First == 0 || g.First >= g.Attempt {
					t.Errorf("first attempt at %d, the one that was answered at %d", g.First, g.Attempt)
				}
				if kind.Claims.Token == "fencing" && g.Token != warm.Token+1 {
					t.Errorf("token %d after %d: the lost attempt's should be kept", g.Token, warm.Token)
				}
				left, err := server.client(t).PTTL(backendstest.Limit(t), "lock:{k}").Result()
				if err != nil || left <= 0 || left > ttl {
					t.Errorf("expires in %v, %v", left, err)
				}
				if err := l.(clients.Holder).Held(backendstest.Limit(t), g); err != nil {
					t.Error(err)
				}
				if err := l.Release(backendstest.Limit(t), g); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestOpenAttempt: the answer is lost and time runs out. The error is open,
// tells since when, and nothing is left behind.
func TestOpenAttempt(t *testing.T) { clienttest.Calmly(t, stall, openAttempt) }

func openAttempt(t testing.TB) {
	server := startServer(t)
	p := startProxy(t, server.addr)
	l := open(t, redis.Setnx, p.addr)
	ctx, cancel := context.WithCancel(t.Context())
	p.onLoss = cancel
	p.loseAnswers(1)
	g, err := l.Acquire(ctx, "k")
	if err == nil || clients.Definite(err) || g.First == 0 {
		t.Errorf("%+v, %v", g, err)
	}
	if n, err := server.client(t).Exists(backendstest.Limit(t), "lock:{k}").Result(); err != nil || n != 0 {
		t.Errorf("the key was left: %d, %v", n, err)
	}
	p.onLoss = nil
	p.loseAnswers(1)
	g, err = l.Acquire(backendstest.Limit(t), "k") // and the client goes on
	if err != nil {
		t.Fatal(err)
	}
	p.loseAnswers(1)
	if err := l.Release(backendstest.Limit(t), g); err == nil || clients.Definite(err) {
		t.Errorf("a release whose answer was lost: %v", err)
	}
}

// TestUnreachable: nothing was sent, so there is no first attempt; but it is not busy either.
func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	g, err := open(t, redis.Setnx, addr).Acquire(ctx, "k")
	if err == nil || errors.Is(err, clients.ErrBusy) || g.First != 0 || !strings.Contains(err.Error(), addr) {
		t.Errorf("%+v, %v", g, err)
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []clients.Config{{}, {Nodes: []string{"a:1", "b:1"}, TTL: ttl}, {Nodes: []string{"a:1"}, TTL: 1000}} {
		if l, err := redis.Setnx.Open(t.Context(), c); err == nil {
			l.Close(t.Context())
			t.Errorf("%+v was accepted", c)
		}
	}
}

// BenchmarkSetnx measures an uncontended acquire and release, and the same two
// commands sent with bare go-redis.
func BenchmarkSetnx(b *testing.B) {
	server := startServer(b)
	b.Run("lock", func(b *testing.B) {
		l := open(b, redis.Setnx, server.addr)
		for range b.N {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			g, err := l.Acquire(ctx, "k")
			if err == nil {
				err = l.Release(ctx, g)
			}
			if err != nil {
				b.Fatal(err)
			}
			cancel()
		}
	})
	b.Run("bare", func(b *testing.B) {
		c := server.client(b)
		script := goredis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)
		for range b.N {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			err := c.SetArgs(ctx, "k", "v", goredis.SetArgs{Mode: "NX", TTL: ttl}).Err()
			if err == nil {
				err = script.Run(ctx, c, []string{"k"}, "v").Err()
			}
			if err != nil {
				b.Fatal(err)
			}
			cancel()
		}
	})
}
