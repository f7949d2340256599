// Package probetest starts servers as people have them, for tests: with TLS and users.
package probetest

import (
	"context"
	"crypto/x509"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// Here connects to this machine where a name ends as no one's does: with .test or .example.
func Here(ctx context.Context, network, addr string) (net.Conn, error) {
	if host, port, _ := net.SplitHostPort(addr); strings.HasSuffix(host, ".test") || strings.HasSuffix(host, ".example") {
		addr = "127.0.0.1:" + port
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// Start starts a server, which ends with the test, and returns when it listens at the address.
func Start(t testing.TB, addr string, cmd *exec.Cmd) {
	t.Helper()
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT)
		<-ended
		if t.Failed() {
			t.Log(log.String())
		}
	})
	limit := time.After(decided.Limit)
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s ended", cmd.Path)
		case <-limit:
			t.Fatal(err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Secret is the password of the servers' users.
const Secret = "pass/word"

// RedisRights are those of the user me, as a server's configuration has them: what docs/external.md
// says that locks need.
const RedisRights = "~*lockchaos_* +@read +@write +@scripting +@connection -@dangerous +info +time"

// Redis starts a redis-server with TLS alone, and returns its port on this machine. Its certificate
// is for the name. The user me may do what locks do, reader may not write, and without a user
// nothing is let in.
func Redis(t testing.TB, ca *authority.Authority, name string, change func(*x509.Certificate), more ...string) (port string) {
	t.Helper()
	cert, key := ca.Issue(t, name, change)
	port = FreePort(t)
	Start(t, "127.0.0.1:"+port, exec.Command(needed.Program(t, "redis-server"), append([]string{"--port", "0", "--tls-port", port,
		"--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir(), "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-ca-cert-file", ca.File, "--tls-auth-clients", "no", "--user", "default", "off",
		"--user", "reader", "on", ">" + Secret, "~*", "+@read", "+@connection", "--user", "me", "on", ">" + Secret},
		append(strings.Fields(RedisRights), more...)...)...))
	return port
}
