package probe_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/probe"
)

// redisName is what the servers' certificates are for; only the tests know where it leads.
const redisName = "redis.test"

// secureRedis starts a redis-server with TLS alone, and with users: me may do anything, reader may
// not write, and without a user nothing is let in.
func secureRedis(t *testing.T, cert, key, ca string, more ...string) (port string) {
	t.Helper()
	program := needed.Program(t, "redis-server")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ = net.SplitHostPort(l.Addr().String())
	l.Close()
	args := append([]string{"--port", "0", "--tls-port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir(),
		"--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca, "--tls-auth-clients", "no",
		"--user", "default", "off", "--user", "me", "on", ">pass/word", "~*", "&*", "+@all",
		"--user", "reader", "on", ">reading", "~*", "&*", "+@read", "+@connection"}, more...)
	cmd := exec.Command(program, args...)
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
			return port
		}
		if time.Since(began) > decided.Limit {
			t.Fatal(err)
		}
	}
}

// here leads names that end with .test to this machine.
func here(ctx context.Context, network, addr string) (net.Conn, error) {
	if host, port, _ := net.SplitHostPort(addr); strings.HasSuffix(host, ".test") {
		addr = "127.0.0.1:" + port
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

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
	cert, key := ca.Issue(t, redisName)
	port := secureRedis(t, cert, key, ca.File)
	oldCert, oldKey := ca.Issue(t, redisName, authority.Expired)
	old := secureRedis(t, oldCert, oldKey, ca.File)
	strict := secureRedis(t, cert, key, ca.File, "--tls-auth-clients", "yes")
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
		"a missing right":          {"rediss://reader:reading@redis.test:" + port, good, "reader may not do what locks need: NOPERM"},
		"a certificate is wanted":  {"rediss://me:pass%2Fword@redis.test:" + strict, good, "give --cert and --key"},
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
