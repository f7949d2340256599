package probe

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// redirectTries is how many keys a Redis is asked for, to see whether it sends clients on: a node
// with half of a cluster's keys has all of them once in 2^64 probes.
const redirectTries = 64

// fits reads keys, none of which is there, and refuses a Redis that sends clients to another for
// one, unless that is known.
func (r *redisServer) fits(ctx context.Context) error {
	if r.known {
		return nil
	}
	questions := r.one.Pipeline()
	key := newKey()
	for i := range redirectTries {
		questions.Get(ctx, lockKey(key+strconv.Itoa(i)))
	}
	answers, _ := questions.Exec(ctx) // each has its own error
	for _, a := range answers {
		if moved := redirected(a.Err()); moved != "" {
			return fmt.Errorf("it is a node of a Redis Cluster, which sends clients on to %s: that is no server that is independent of others. "+
				"Give a cluster by one address as redis=ADDRESS, to a user who may ask INFO and CLUSTER SLOTS", moved)
		}
	}
	return nil
}

// redirected is the address to which an answer sends the client; "": to none.
func redirected(err error) string {
	answer, ok := err.(goredis.Error)
	if !ok || !strings.HasPrefix(answer.Error(), "MOVED ") {
		return ""
	}
	words := strings.Fields(answer.Error())
	return words[len(words)-1]
}

// fitter is a server that may be of a kind on which locks cannot be tried.
type fitter interface {
	fits(ctx context.Context) error
}

// Fits refuses a server on which locks cannot be tried, though it is one of the kind. It writes
// nothing, and does not look where no server of the kind can be such a one.
func (s Service) Fits(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) error {
	if !s.redirects {
		return nil
	}
	one, err := s.open(ctx, at, dial)
	if err != nil {
		return s.Explain(at, err)
	}
	defer one.close()
	return fit(ctx, one)
}

func fit(ctx context.Context, one server) error {
	if f, ok := one.(fitter); ok {
		return f.fits(ctx)
	}
	return nil
}
