package redisconn

import (
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Options are those of a client of one server that sends what it is told to, once: a
// hidden retry could take a key twice, or take its own unanswered request for another's,
// and would hide when a grant began. A call ends with its context's deadline;
// ReadTimeout and WriteTimeout are the caller's to set where that is not enough.
func Options(addr string) *goredis.Options {
	return &goredis.Options{
		Addr:          addr,
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
