package probe_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/probe"
	"github.com/lockchaos/lockchaos/internal/probe/probetest"
)

// redisName is what the servers' certificates are for; only the tests know where it leads.
const redisName = "redis.test"

// here leads names that end with .test to this machine.
var here = probetest.Here

func parsed(t *testing.T, address string, f endpoint.Files) endpoint.Endpoint {
	t.Helper()
	at, err := endpoint.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return at.With(f)
}

// What is wrong with a server, or with its address, is said in one error, with what to do.
func TestMeetRedis(t *testing.T) {
	t.Parallel()
	ca, strange := authority.New(t), authority.New(t)
	cert, key := ca.Issue(t, "me")
	port := probetest.Redis(t, ca, redisName, authority.Good)
	old := probetest.Redis(t, ca, redisName, authority.Expired)
	strict := probetest.Redis(t, ca, redisName, authority.Good, "--tls-auth-clients", "yes")
	good := endpoint.Files{CACert: ca.File}
	with := endpoint.Files{CACert: ca.File, Cert: cert, Key: key}
	for name, c := range map[string]struct {
		address string
		files   endpoint.Files
		want    string
	}{
		"as it should be":          {"rediss://me:pass%2Fword@redis.test:" + port + "/3", good, ""},
		"a client's certificate":   {"rediss://me:pass%2Fword@redis.test:" + strict, with, ""},
		"an authority unknown":     {"rediss://me:pass%2Fword@redis.test:" + port, endpoint.Files{}, "give that authority's certificate by --cacert FILE"},
		"another authority":        {"rediss://me:pass%2Fword@redis.test:" + port, endpoint.Files{CACert: strange.File}, "give that authority's certificate by --cacert FILE"},
		"no file":                  {"rediss://me:pass%2Fword@redis.test:" + port, endpoint.Files{CACert: "/nowhere.pem"}, "--cacert: open /nowhere.pem"},
		"a file without any":       {"rediss://me:pass%2Fword@redis.test:" + port, endpoint.Files{CACert: key}, "holds no certificate"},
		"a key alone":              {"rediss://me:pass%2Fword@redis.test:" + port, endpoint.Files{CACert: ca.File, Key: key}, "--cert and --key belong together"},
		"expired":                  {"rediss://me:pass%2Fword@redis.test:" + old, good, "renew it on the server"},
		"another name":             {"rediss://me:pass%2Fword@other.test:" + port, good, "its certificate is for other names (redis.test): give one of these in the address"},
		"a wrong password":         {"rediss://me:wrong@redis.test:" + port, good, "log in: WRONGPASS"},
		"no password":              {"rediss://redis.test:" + port, good, "log in: NOAUTH"},
		"a missing right":          {"rediss://reader:pass%2Fword@redis.test:" + port, good, "reader may not do what locks need: NOPERM"},
		"a certificate is wanted":  {"rediss://me:pass%2Fword@redis.test:" + strict, good, "--cert"},
		"without TLS":              {"redis://me:pass%2Fword@redis.test:" + port, good, "does it want TLS"},
		"a name that is not known": {"rediss://me:pass%2Fword@redis.invalid:" + port, good, "this machine knows no host of that name"},
		"no server":                {"rediss://me:pass%2Fword@redis.test:1", good, "no server listens there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service, _ := probe.Lookup("redis")
			ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
			defer cancel()
			err := service.Meet(ctx, parsed(t, c.address, c.files), here)
			if text := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(text, c.want) ||
				strings.Contains(text, "pass/word") || strings.Contains(text, "wrong@") {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}

// A Redis says what of it endangers a lock; reading that, and racing, leaves nothing behind.
func TestProbeRedis(t *testing.T) {
	t.Parallel()
	ca := authority.New(t)
	port := probetest.Redis(t, ca, redisName, authority.Good, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	service, _ := probe.Lookup("redis")
	at := parsed(t, "rediss://me:pass%2Fword@redis.test:"+port+"/1", endpoint.Files{CACert: ca.File})
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
	defer cancel()
	checkFacts(t, ctx, service, at, "version", "Redis ", "mode", "standalone", "role", "master", "clock", "ms against this machine's",
		"round trip", "s", "persistence", "appendfsync always", "eviction", "EVICTION: allkeys-lru may delete a lock that is held",
		"replication", "0 replicas", "limits", "clients")
	checkRace(t, ctx, service, at, 3)
	left := exec.Command("redis-cli", "-p", port, "--tls", "--cacert", ca.File, "--sni", redisName, "-n", "1", "DBSIZE")
	left.Env = append(os.Environ(), "REDISCLI_AUTH=pass/word")
	left.Args = append(left.Args[:1], append([]string{"--user", "me"}, left.Args[1:]...)...)
	if text, err := left.CombinedOutput(); err != nil || strings.TrimSpace(string(text)) != "0" {
		t.Errorf("keys that are left: %s %v", text, err)
	}
	// one who may only read is told all but what he may not ask, and nothing is written
	at = parsed(t, "rediss://reader:pass%2Fword@redis.test:"+port, endpoint.Files{CACert: ca.File})
	if facts, err := service.Facts(ctx, at, here); err == nil || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("%+v %v", facts, err)
	}
}

// A node of a Redis Cluster tells of all its nodes, and is raced on as a cluster. It is no server
// that is independent of others.
func TestRedisCluster(t *testing.T) {
	t.Parallel()
	c := probetest.RedisCluster(t, nil, redisName, false)
	service, _ := probe.Lookup("redis")
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
	defer cancel()
	for _, address := range []string{"redis.test:" + c.Ports[0], "redis://me:pass%2Fword@redis.test:" + c.Ports[5]} {
		at := parsed(t, address, endpoint.Files{})
		for _, err := range []error{service.Meet(ctx, at, here), service.Fits(ctx, at, here)} {
			if text := fmt.Sprint(err); !strings.Contains(text, "sends clients on to 127.0.0.1:") || !strings.Contains(text, "as redis=ADDRESS") {
				t.Errorf("%s: %v", address, err)
			}
		}
		all, err := service.Members(ctx, at, here)
		replicas := 0
		for _, m := range all {
			if m.Replica {
				replicas++
			}
			if !slices.Contains(c.Ports, strings.TrimPrefix(m.At, "127.0.0.1:")) {
				t.Errorf("%+v", m)
			}
			if err := service.Meet(ctx, service.At(at, m), here); err != nil {
				t.Errorf("%s: %v", m.At, err)
			}
		}
		if err != nil || len(all) != len(c.Ports) || replicas != 3 {
			t.Errorf("%s: %+v, %v", address, all, err)
		}
		checkRace(t, ctx, service, at, 3)
	}
	checkFacts(t, ctx, service, parsed(t, "redis.test:"+c.Ports[0], endpoint.Files{}), "mode", "a Redis Cluster, masters 127.0.0.1:")
	for _, port := range c.Ports {
		if n := strings.TrimSpace(c.Ask(t, port, "DBSIZE")); n != "0" {
			t.Errorf("%s keys are left", n)
		}
	}
	one := probetest.Redis(t, authority.New(t), redisName, authority.Good)
	if all, err := service.Members(ctx, parsed(t, "redis.test:"+one, endpoint.Files{}), here); err == nil || len(all) > 0 {
		t.Errorf("a server that wants TLS: %+v, %v", all, err)
	}
}
