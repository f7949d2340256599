// The mutex of redsync on one Redis server, as an adapter for lockchaos (docs/protocol.md). go.mod says which version: v4.0.3, or with
// go get github.com/go-redsync/redsync/v4@v4.17.0 another one.
//
//	go build -o /tmp/redsync .
//	lockchaos run ../redsync-extend.yaml --lock-cmd /tmp/redsync --service redis
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-redis/redis/v8"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v8"
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

// lock is one client, with the mutexes that it holds.
type lock struct {
	sync *redsync.Redsync
	ttl  time.Duration
	held map[string]*redsync.Mutex
}

func newLock(r request) *lock {
	client := redis.NewClient(&redis.Options{Addr: r.Nodes[0], MaxRetries: -1})
	return &lock{sync: redsync.New(goredis.NewPool(client)), ttl: time.Duration(r.TTLMS) * time.Millisecond, held: map[string]*redsync.Mutex{}}
}

// acquire tries every 10 ms, until the time is over.
func (l *lock) acquire(ctx context.Context, key string, timeout time.Duration) error {
	m := l.sync.NewMutex(key, redsync.WithExpiry(l.ttl), redsync.WithTries(int(timeout/(10*time.Millisecond))), redsync.WithRetryDelay(10*time.Millisecond))
	if err := m.LockContext(ctx); err != nil {
		return err // which does not tell whether another has it
	}
	l.held[key] = m
	return nil
}

// answer carries one request out. definite is the error of what did not happen.
func (l *lock) answer(r request) (definite string, err error) {
	timeout := time.Duration(r.TimeoutMS) * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	switch r.Op {
	case "acquire":
		return "", l.acquire(ctx, r.Key, timeout)
	case "renew", "release":
		m := l.held[r.Key]
		if m == nil {
			return "not_held", nil
		}
		ask := m.ExtendContext
		if r.Op == "release" {
			ask = m.UnlockContext
			delete(l.held, r.Key)
		}
		if ok, err := ask(ctx); !ok {
			fmt.Fprintf(os.Stderr, "%s: %v\n", r.Op, err)
			return "not_held", nil
		}
		return "", nil
	case "close":
		return "", nil
	}
	return "unsupported", nil
}

// version is that of the library.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/go-redsync/redsync/v4" {
				return d.Version
			}
		}
	}
	return "unknown"
}

func main() {
	var l *lock
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		out := reply{}
		var definite string
		var err error
		if r.Op == "hello" {
			l = newLock(r)
			// Documented: Extend returns the status of the extension, Unlock that of the unlocking.
			out = reply{"name": "redsync " + version(), "validity": "from_invocation", "token": "none", "confirms": []string{"renew", "release"}}
		} else {
			definite, err = l.answer(r)
		}
		switch {
		case definite != "":
			out = reply{"error": definite}
		case err != nil: // nobody knows whether it happened
			out = reply{"error": "unknown", "text": err.Error()}
		}
		out["id"], out["ok"] = r.ID, definite == "" && err == nil
		line, err := json.Marshal(out)
		if err != nil {
			panic(err)
		}
		os.Stdout.Write(append(line, '\n'))
	}
}
