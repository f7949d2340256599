// Package probe says what a server is that locks are to stand on, and whether it can carry them: it
// connects once, logs in, and tries once what locks need (Meet); it asks the server what matters to
// a lock (Facts); and it has many clients race for what a lock stands on (Race).
//
// A kind of server is one file, with one line in services.
package probe

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// Service is a kind of server.
type Service struct {
	// Program is what backends call it: "redis". Name is what users do, if that is something else.
	Program, Name string
	// Forms are addresses of it, as its users write them.
	Forms string
	// Named: an address of it must be a URL, which names something.
	Named bool
	// schemes are those of its URLs.
	schemes []string
	// open connects and logs in.
	open func(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) (server, error)
	// denied returns what the server did not let the user do, in its words; "": that is not it.
	denied func(error) string
	// ttl is the shortest life of a key; 0: none expires. late is how much longer one may be there.
	ttl, late time.Duration
	// under are what the names of locks' keys begin with, beside the usual.
	under []string
	// shares: one connection carries the requests of many clients side by side.
	shares bool
	// redirects: a server may be one of several that send clients on to each other.
	redirects bool
	// login reports whether the error says that user or password are wrong, or are needed.
	login func(error) bool
}

// services are those that can be probed.
var services = []Service{redisService, sentinelService, etcdService, postgresService, mariadbService, s3Service, natsService, consulService,
	zookeeperService}

// leastServers is the least number of servers of a cluster that goes on without one.
const leastServers = 3

// Lookup finds the kind of server that runs the program.
func Lookup(program string) (Service, bool) {
	for _, s := range services {
		if s.Program == program {
			return s, true
		}
	}
	return Service{}, false
}

// Programs are those of the kinds of servers that can be probed.
func Programs() (names []string) {
	for _, s := range services {
		names = append(names, cmp.Or(s.Name, s.Program))
	}
	return names
}

// Takes reports whether a URL with the scheme is an address of such a server.
func (s Service) Takes(scheme string) bool {
	return slices.Contains(s.schemes, scheme)
}

// server is one client's connection, with what locks are made of.
type server interface {
	// facts asks the server what matters to a lock. It writes nothing.
	facts(ctx context.Context) ([]Fact, error)
	// prepare makes what keys with the prefix are kept in.
	prepare(ctx context.Context, prefix string) error
	// create makes the key if it is absent, to expire after ttl, and reports whether it did.
	create(ctx context.Context, key, value string, ttl time.Duration) (bool, error)
	// swap replaces the value of the key if it is the old one, and reports whether it did.
	swap(ctx context.Context, key, old, fresh string) (bool, error)
	// get returns the value of the key; "": there is none.
	get(ctx context.Context, key string) (string, error)
	// clear deletes the keys, all of which begin with the prefix, and what prepare has made.
	clear(ctx context.Context, prefix string, keys []string) error
	close()
}

// Fact is one thing that the server says of itself.
type Fact struct {
	Name, Text string
	// Warning says what of it endangers a lock, and what to do; "": nothing does.
	Warning string
}

// Key begins all that a probe writes, and the letters of this one follow.
const Key = "lockchaos_"

// newKey begins the keys of one probe.
func newKey() string { return Key + strings.ToLower(rand.Text()[:8]) + "_" }

// Meet connects to the server as its address says, logs in, and does once what locks do: it makes a
// key, changes it and deletes it. An error says what is wrong, and what to do.
func (s Service) Meet(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) error {
	one, err := s.open(ctx, at, dial)
	if err != nil {
		return s.Explain(at, err)
	}
	defer one.close()
	if err := fit(ctx, one); err != nil {
		return err
	}
	for _, begins := range append([]string{""}, s.under...) {
		if err := rehearse(ctx, one, begins+newKey()); err != nil {
			return s.Explain(at, err)
		}
	}
	return nil
}

// Facts connects to the server and asks it what matters to a lock. It writes nothing.
func (s Service) Facts(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) ([]Fact, error) {
	one, err := s.open(ctx, at, dial)
	if err != nil {
		return nil, s.Explain(at, err)
	}
	defer one.close()
	facts, err := one.facts(ctx)
	if err != nil {
		return nil, s.Explain(at, err)
	}
	return facts, nil
}

// rehearseTTL is longer than a rehearsal takes.
const rehearseTTL = 30 * time.Second

func rehearse(ctx context.Context, one server, prefix string) error {
	if err := one.prepare(ctx, prefix); err != nil {
		return err
	}
	key := prefix + "right"
	made, err := one.create(ctx, key, "a", rehearseTTL)
	if err != nil {
		return err
	}
	if !made {
		return fmt.Errorf("it says that the key %s, which no one else uses, exists", key)
	}
	_, err = one.swap(ctx, key, "a", "b")
	if cleared := one.clear(ctx, prefix, []string{key}); err == nil {
		err = cleared
	}
	return err
}
