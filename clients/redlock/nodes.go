package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients/internal/redisconn"
	"github.com/lockchaos/lockchaos/internal/endpoint/redisurl"
)

// node is one of the servers.
type node struct {
	addr   string
	client *goredis.Client
}

// Script.Run sends the script's hash, and the script itself when the server
// answers NOSCRIPT: that says that nothing was carried out.
var deleteOwn = goredis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0`)

func newNode(addr string, timeout time.Duration) (node, error) {
	options, err := redisurl.Options(addr, nil)
	if err != nil {
		return node{}, err
	}
	options.DialTimeout = timeout
	return node{options.Addr, goredis.NewClient(options)}, nil
}

// take asks for the key. yes false with no error: another has it.
func (n node) take(ctx context.Context, key, value string, ttl time.Duration) (yes bool, err error) {
	err = n.client.SetArgs(ctx, key, value, goredis.SetArgs{Mode: "NX", TTL: ttl}).Err()
	if errors.Is(err, goredis.Nil) {
		return false, nil
	}
	return err == nil, err
}

// drop deletes the key if it has our value. yes false with no error: it had not.
func (n node) drop(ctx context.Context, key, value string) (yes bool, err error) {
	deleted, err := deleteOwn.Run(ctx, n.client, []string{key}, value).Int64()
	return deleted == 1, err
}

// has reports whether the key has our value.
func (n node) has(ctx context.Context, key, value string) (yes bool, err error) {
	found, err := n.client.Get(ctx, key).Result()
	if errors.Is(err, goredis.Nil) {
		return false, nil
	}
	return err == nil && found == value, err
}

// answer is what one node said. Without an error it is a certain yes or no.
type answer struct {
	yes bool
	err error
}

// unknown reports whether the request may be carried out without our knowing: it
// failed after there was a connection to send it on.
func (a answer) unknown() bool {
	return a.err != nil && !redisconn.NotSent(a.err)
}

// all asks all nodes at once, each for no longer than the timeout. The context's end cuts
// nothing short: the timeout is small, and an answer is worth more than an open question.
func (l *lock) all(ctx context.Context, timeout time.Duration, ask func(context.Context, node) (bool, error)) []answer {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	answers := make([]answer, len(l.nodes))
	done := make(chan struct{}, len(l.nodes))
	for i, n := range l.nodes {
		go func() {
			yes, err := ask(ctx, n)
			if err != nil {
				err = fmt.Errorf("redis at %s: %w", n.addr, err)
			}
			answers[i] = answer{yes, err}
			done <- struct{}{}
		}()
	}
	for range l.nodes {
		<-done // each ends with the timeout
	}
	return answers
}

// count counts the answers for which the condition holds.
func count(answers []answer, condition func(i int, a answer) bool) (n int) {
	for i, a := range answers {
		if condition(i, a) {
			n++
		}
	}
	return n
}

// errs joins what went wrong, in the order of the nodes.
func errs(answers []answer) error {
	var all []error
	for _, a := range answers {
		all = append(all, a.err)
	}
	return errors.Join(all...)
}
