package backends_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/store"
)

// needValkey makes the services of Redis run on Valkey, or skips the test where there is none.
func needValkey(t *testing.T) {
	t.Helper()
	needed.Later(t, "Valkey comes from another release of the distribution")
	t.Setenv(backends.RedisVar, "valkey-server")
	_, _, err := backends.FindRedis()
	needed.Be(t, err)
}

// TestValkey: the services of Redis on Valkey, which names itself wherever a version is told.
func TestValkey(t *testing.T) {
	needValkey(t)
	for _, p := range backends.Programs() {
		if c, inTheWay := p.Check(backendstest.Limit(t)); p.Name == "redis" && (!c.OK || inTheWay || !strings.HasPrefix(c.Detail, "Valkey server v=")) {
			t.Errorf("doctor would say %+v", c)
		}
	}
	for _, service := range []string{"redis", "redis-five", "redis-failover"} {
		t.Run(service, func(t *testing.T) {
			s := backendstest.Start(t, service)
			if !strings.HasPrefix(s.Version, "Valkey ") || strings.HasSuffix(s.Version, " ") || len(s.StandIns()) != 0 {
				t.Errorf("version %q, stand-ins %q", s.Version, s.StandIns())
			}
		})
	}
	backendstest.Conform(t, "redis", time.Second, clienttest.Run, redis.SetnxFenced)
	backendstest.Conform(t, "redis-failover", time.Second, clienttest.Run, redis.Failover)
}

// TestValkeyKeepsTheStore: so does the store whose ledger it keeps.
func TestValkeyKeepsTheStore(t *testing.T) {
	needValkey(t)
	n, _ := hoststest.Network(t)
	s, err := backends.StartStore(backendstest.Limit(t), n, backends.StoreSpec{Engine: "redis",
		Fencing: store.Fencing{Writes: true, Reads: true}, Logs: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !strings.HasPrefix(s.Version, "redis Valkey ") {
		t.Errorf("version %q", s.Version)
	}
}

// TestFindRedis: what runs as redis, by what there is and what the user says.
func TestFindRedis(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // where scripts/servers puts what it makes
	folder := func(programs ...string) string {
		dir := t.TempDir()
		for _, p := range programs {
			if err := os.WriteFile(filepath.Join(dir, p), []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	own := filepath.Join(folder("my-redis"), "my-redis")
	for _, c := range []struct {
		name, want, path, program, why string
	}{
		{"both", "", folder("redis-server", "valkey-server"), "redis-server", ""},
		{"only Valkey", "", folder("valkey-server"), "valkey-server", ""},
		{"Valkey asked for", "valkey-server", folder("redis-server", "valkey-server"), "valkey-server", ""},
		{"the stand-in asked for", "miniredis", folder("redis-server"), "", backends.RedisVar + "=miniredis asks for it"},
		{"neither", "", folder(), "", "neither redis-server nor valkey-server was found on this machine"},
		{"a program of one's own", own, folder("redis-server"), "my-redis", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(backends.RedisVar, c.want)
			t.Setenv("PATH", c.path)
			program, why, err := backends.FindRedis()
			if err != nil || program != "" && filepath.Base(program) != c.program || program == "" && c.program != "" || why != c.why {
				t.Errorf("%q, %q, %v", program, why, err)
			}
		})
	}
	t.Setenv(backends.RedisVar, "valkey-server")
	t.Setenv("PATH", folder("redis-server"))
	if program, _, err := backends.FindRedis(); err == nil || !strings.Contains(err.Error(), "valkey-server") {
		t.Errorf("Valkey asked for, and not there: %q, %v", program, err)
	}
}
