// Package redisurl makes the options of go-redis of addresses: host:port, or
// rediss://user:password@host:port/database.
package redisurl

import (
	"fmt"
	"net"
	"strconv"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// Options are those of a client of one server that sends what it is told to, once: a
// hidden retry could take a key twice, or take its own unanswered request for another's,
// and would hide when a grant began. A call ends with its context's deadline;
// ReadTimeout and WriteTimeout are the caller's to set where that is not enough.
//
// addr is host:port, or a URL: the client then logs in and speaks TLS as the URL says. dial
// connects, of the URL too; nil: as usual.
func Options(addr string, dial endpoint.Dial) (*goredis.Options, error) {
	o := Usual()
	at, err := endpoint.Parse(addr)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	o.Addr, o.Dialer = at.HostPort(), dial
	o.Username, o.Password = at.Account()
	if database := at.Database(); database != "" {
		if o.DB, err = strconv.Atoi(database); err != nil {
			return nil, fmt.Errorf("%s: %q is no database of Redis: want a number", at, database)
		}
	}
	if !at.Sealed() {
		return o, nil
	}
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	if o.Dialer, err = at.Dialer(dial); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return o, nil
}

// Usual are the options that do not depend on where a server is.
func Usual() *goredis.Options {
	return &goredis.Options{
		Protocol:      2,
		MaxRetries:    -1,
		DialerRetries: 1,
		// one call at a time; one more for a connection that is still being given up
		PoolSize:    2,
		ReadTimeout: -1, WriteTimeout: -1,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}
