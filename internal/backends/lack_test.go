package backends_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
)

// TestStartable: what a machine without servers can't start is known, with what
// to do. A program that the user names wrongly is no lack of the machine.
func TestStartable(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	for _, c := range []struct {
		service, redis string
		durable        bool
		why, fix       string
	}{
		{"redis", "", false, "", ""},
		{"redis", "miniredis", false, "", ""},
		{"redis-five", "", false, "", ""},
		{"redis", "", true, "the stand-in has no restart that keeps data", "apt-get install redis-server (or valkey-server)"},
		{"redis-five", "miniredis", true, "the stand-in has no restart that keeps data",
			"unset LOCKCHAOS_REDIS, and apt-get install redis-server (or valkey-server)"},
		{"redis-failover", "", false, "the stand-in has no replication", "apt-get install redis-server (or valkey-server)"},
		{"zookeeper", "", false, "ZooKeeper needs Java, which was not found on this machine", "openjdk"},
		{"etcd", "", true, "", ""},
		{"nats", "", true, "", ""},
	} {
		t.Setenv(backends.RedisVar, c.redis)
		k, _ := backends.Lookup(c.service)
		err := k.Startable(c.durable)
		lack, lacks := errors.AsType[*backends.Lack](err)
		switch {
		case c.why == "" && err != nil || c.why != "" && !lacks:
			t.Errorf("%s (%q): %v", c.service, c.redis, err)
		case lacks && (lack.Why != c.why || !strings.Contains(lack.Fix, c.fix)):
			t.Errorf("%s (%q): %v", c.service, c.redis, lack)
		}
	}
	for _, c := range []struct{ redis, fix string }{{"", "apt-get install redis-server"}, {"miniredis", "unset LOCKCHAOS_REDIS"}} {
		t.Setenv(backends.RedisVar, c.redis)
		k, _ := backends.Lookup("redis")
		if lack, lacks := errors.AsType[*backends.Lack](k.Refusable()); !lacks ||
			lack.Why != "the stand-in refuses no writes" || !strings.Contains(lack.Fix, c.fix) {
			t.Errorf("redis (%q): %v", c.redis, k.Refusable())
		}
	}
	t.Setenv(backends.RedisVar, "/no/such/redis")
	k, _ := backends.Lookup("redis")
	if _, lacks := errors.AsType[*backends.Lack](k.Startable(false)); lacks || k.Startable(false) == nil {
		t.Errorf("a variable that names no program: %v", k.Startable(false))
	}
}

// TestStartableIsWhatStarts: what Startable says of the stand-in is what happens at the start.
func TestStartableIsWhatStarts(t *testing.T) {
	t.Setenv(backends.RedisVar, "miniredis")
	k, _ := backends.Lookup("redis")
	want, _ := errors.AsType[*backends.Lack](k.Startable(true))
	n, _ := hoststest.Network(t)
	_, err := backends.Start(backendstest.Limit(t), n, backends.Spec{Service: "redis", Logs: t.TempDir(), Durable: true})
	if got, _ := errors.AsType[*backends.Lack](err); got == nil || want == nil || *got != *want {
		t.Errorf("it says %v, and the start %v", want, err)
	}
}
