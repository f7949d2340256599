package redisurl

import (
	"slices"
	"strings"
	"testing"
)

// All sentinels have the name of the primary, the login and TLS of the one client that asks them:
// those that differ in it are refused, and the error shows no password.
func TestFailoverSentinels(t *testing.T) {
	t.Parallel()
	const first = "redis+sentinel://me:hunter2@one.test:26379/mymaster"
	for name, c := range map[string]struct {
		sentinels []string
		same      bool
	}{
		"the same":         {[]string{first, "redis+sentinel://me:hunter2@two.test:26380/mymaster"}, true},
		"without URLs":     {[]string{"one.test:26379", "two.test:26380"}, true},
		"another name":     {[]string{first, "redis+sentinel://me:hunter2@two.test:26380/other"}, false},
		"another user":     {[]string{first, "redis+sentinel://you:hunter2@two.test:26380/mymaster"}, false},
		"another password": {[]string{first, "redis+sentinel://me:hunter3@two.test:26380/mymaster"}, false},
		"no login":         {[]string{first, "redis+sentinel://two.test:26380/mymaster"}, false},
		"one with TLS":     {[]string{first, "rediss+sentinel://me:hunter2@two.test:26380/mymaster"}, false},
		"one without URL":  {[]string{first, "two.test:26380"}, false},
		"the last of them": {[]string{first, "redis+sentinel://me:hunter2@two.test:26380/mymaster", "redis+sentinel://me:hunter2@three.test:1/other"}, false},
	} {
		o, err := Failover(c.sentinels, "lockchaos", nil, nil)
		switch {
		case c.same && (err != nil || !slices.Equal(o.SentinelAddrs, []string{"one.test:26379", "two.test:26380"})):
			t.Errorf("%s: %+v, %v", name, o, err)
		case !c.same && (err == nil || !strings.Contains(err.Error(), "differ in more than where they are") || strings.Contains(err.Error(), "hunter")):
			t.Errorf("%s: %v", name, err)
		}
	}
}
