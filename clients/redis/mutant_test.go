package redis_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Mutants are broken locks that the conformance suite must catch: each breaks one
// promise of package clients, and names the test that must fail. They are here because
// a suite that is tried on a mock only shows what the mock's author thought of.
var mutants = []mutant{
	{name: "releases what is not its own", caught: "a_stale_grant", release: func(ctx context.Context, l *mutated, g clients.Grant) error {
		return l.behind.Del(ctx, "lock:{"+g.Key+"}").Err()
	}},
	{name: "never expires", caught: "a_killed_holder", acquire: func(ctx context.Context, l *mutated, key string) (clients.Grant, error) {
		g, err := l.sound.Acquire(ctx, key)
		if err == nil {
			err = l.behind.Persist(ctx, "lock:{"+key+"}").Err()
		}
		return g, err
	}},
	{name: "grants to everyone", caught: "excludes", acquire: func(ctx context.Context, l *mutated, key string) (clients.Grant, error) {
		g, _ := l.sound.Acquire(ctx, key)
		g.Key = key
		return g, nil
	}},
	{name: "now and then grants to a second", caught: "ten_clients",
		acquire: func(ctx context.Context, l *mutated, key string) (clients.Grant, error) {
			brief, cancel := context.WithTimeout(ctx, 2*time.Millisecond)
			defer cancel()
			g, err := l.sound.Acquire(brief, key)
			if err != nil {
				return clients.Grant{Key: key, Secret: "mine, surely"}, nil
			}
			return g, nil
		}, release: func(ctx context.Context, l *mutated, g clients.Grant) error {
			_ = l.sound.Release(ctx, g)
			return nil
		}},
	{name: "calls what is open definite", caught: "a_frozen_service",
		acquire: func(ctx context.Context, l *mutated, key string) (clients.Grant, error) {
			g, err := l.sound.Acquire(ctx, key)
			if err != nil {
				err = clients.ErrBusy
			}
			return g, err
		}},
	{name: "goes on waiting", caught: "a_wait_given_up", acquire: func(ctx context.Context, l *mutated, key string) (clients.Grant, error) {
		g, err := l.sound.Acquire(ctx, key)
		if errors.Is(err, clients.ErrBusy) {
			go func() {
				for l.behind.SetArgs(context.Background(), "lock:{"+key+"}", "ghost",
					goredis.SetArgs{Mode: "NX", TTL: time.Minute}).Err() == goredis.Nil {
					continue
				}
			}()
		}
		return g, err
	}},
	{name: "ignores its context", caught: "excludes", acquire: func(_ context.Context, l *mutated, key string) (clients.Grant, error) {
		return l.sound.Acquire(context.Background(), key)
	}},
	{name: "gives the same token twice", caught: "grants_and",
		acquire: func(ctx context.Context, l *mutated, key string) (clients.Grant, error) {
			g, err := l.sound.Acquire(ctx, key)
			g.Token = 7
			return g, err
		}},
	{name: "calls a crowd a queue", caught: "waiters_are_granted", fair: true,
		acquire: func(ctx context.Context, l *mutated, key string) (clients.Grant, error) {
			enqueued := monotime.Now()
			g, err := l.sound.Acquire(ctx, key)
			g.Enqueued = enqueued
			return g, err
		}},
	{name: "says that it holds", caught: "a_frozen_holder", held: func(context.Context, *mutated, clients.Grant) error { return nil }},
	{name: "does not close", caught: "close", closes: func(context.Context, *mutated) error { return nil }},
}

type mutant struct {
	name, caught string // the test's name up to where it is unique
	acquire      func(context.Context, *mutated, string) (clients.Grant, error)
	release      func(context.Context, *mutated, clients.Grant) error
	held         func(context.Context, *mutated, clients.Grant) error
	closes       func(context.Context, *mutated) error
	fair         bool // it claims to be
}

// mutated is a sound lock with some of its calls replaced.
type mutated struct {
	m     mutant
	sound interface {
		clients.Lock
		clients.Holder
	}
	behind *goredis.Client
}

func (l *mutated) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	if l.m.acquire != nil {
		return l.m.acquire(ctx, l, key)
	}
	return l.sound.Acquire(ctx, key)
}

func (l *mutated) Release(ctx context.Context, g clients.Grant) error {
	if l.m.release != nil {
		return l.m.release(ctx, l, g)
	}
	return l.sound.Release(ctx, g)
}

func (l *mutated) Held(ctx context.Context, g clients.Grant) error {
	if l.m.held != nil {
		return l.m.held(ctx, l, g)
	}
	return l.sound.Held(ctx, g)
}

func (l *mutated) Close(ctx context.Context) error {
	if l.m.closes != nil {
		return l.m.closes(ctx, l)
	}
	return errors.Join(l.behind.Close(), l.sound.Close(ctx))
}

func (m mutant) kind() clients.Kind {
	kind := redis.SetnxFenced
	kind.Claims.Fair = m.fair
	sound := kind.Open
	kind.Open = func(ctx context.Context, c clients.Config) (clients.Lock, error) {
		l, err := sound(ctx, c)
		if err != nil {
			return nil, err
		}
		behind := goredis.NewClient(&goredis.Options{Addr: c.Nodes[0], Protocol: 2})
		return &mutated{m, l.(interface {
			clients.Lock
			clients.Holder
		}), behind}, nil
	}
	return kind
}

const (
	mutantVar = "LOCKCHAOS_TEST_MUTANT"
	soundName = "sound" // no mutant
)

// mutantKind is the kind of the mutant that this process is about, or the sound one.
func mutantKind() clients.Kind {
	for _, m := range mutants {
		if m.name == os.Getenv(mutantVar) {
			return m.kind()
		}
	}
	return redis.SetnxFenced
}

// TestMutant runs the suite on the mutant that the environment names.
func TestMutant(t *testing.T) {
	if os.Getenv(mutantVar) == "" {
		t.Skip("run by TestMutantsAreCaught")
	}
	server := startServer(t)
	s := clienttest.Service{Nodes: []string{server.addr}, TTL: time.Second, Stop: func(t *testing.T) { server.stop(t) },
		Continue: func(t *testing.T) { server.resume(t) }}
	if os.Getenv(mutantVar) != soundName {
		s.Slack, s.Strict = 2*time.Second, true // what never comes need not be waited for
	}
	clienttest.Run(t, mutantKind(), s)
}

func TestMutantsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	startServer(t) // skips where there is none
	for _, m := range append(mutants, mutant{name: soundName}) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			decided.Run(t, func() {
				run := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestMutant$/^"+m.caught,
					"-test.v", "-test.timeout=8m")
				run.Env = append(os.Environ(), mutantVar+"="+m.name)
				out, err := run.CombinedOutput()
				if m.name == soundName {
					if err != nil {
						t.Errorf("the sound lock failed: %v\n%s", err, out)
					}
					return
				}
				if err == nil || !strings.Contains(string(out), "--- FAIL: TestMutant/"+m.caught) {
					decided.Lacks("a complaint by %s: %v\n%s", m.caught, err, out)
				}
			})
		})
	}
}
