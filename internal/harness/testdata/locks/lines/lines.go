// Package lines speaks the adapter's protocol for the locks beside it, with no care for anything
// else.
package lines

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

// Lock is one client's lock on one key at a time.
type Lock interface {
	Acquire(ctx context.Context, key string, ttl time.Duration) error // nil: granted
	Release(ctx context.Context, key string) error
}

// Serve answers until there are no more requests.
func Serve(name string, open func(*redis.Client) Lock) {
	var lock Lock
	var ttl time.Duration
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var r struct {
			ID      int64
			Op, Key string
			Nodes   []string
			TTL     int64 `json:"ttl_ms"`
			Timeout int64 `json:"timeout_ms"`
		}
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			panic(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.Timeout)*time.Millisecond)
		var err error
		var attempt int64
		switch r.Op {
		case "hello":
			ttl = time.Duration(r.TTL) * time.Millisecond
			lock = open(redis.NewClient(&redis.Options{Addr: r.Nodes[0], ContextTimeoutEnabled: true}))
			fmt.Printf(`{"id":%d,"ok":true,"name":%q,"validity":"from_invocation"}`+"\n", r.ID, name)
			cancel()
			continue
		case "acquire":
			for {
				attempt = now()
				if err = lock.Acquire(ctx, r.Key, ttl); err == nil || ctx.Err() != nil {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
		case "release":
			err = lock.Release(ctx, r.Key)
		}
		cancel()
		if err != nil {
			fmt.Printf(`{"id":%d,"ok":false,"error":"unknown","text":%q}`+"\n", r.ID, err.Error())
			continue
		}
		told := ""
		if attempt != 0 {
			told = fmt.Sprintf(`,"attempt_ns":%d`, attempt)
		}
		fmt.Printf(`{"id":%d,"ok":true%s}`+"\n", r.ID, told)
	}
}
