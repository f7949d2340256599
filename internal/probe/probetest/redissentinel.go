package probetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// Watched is what Sentinels call the primary.
const Watched = "mymaster"

// How many sentinels there are, and how many of them must agree.
const sentinels, quorum = 3, 2

// Sentinels starts a Redis with a replica, both with the password Secret, and three sentinels
// that watch them and ask for none. With an authority all have TLS alone, with certificates for
// the name. It returns the ports of the servers and of the sentinels, and what runs a command of
// redis-cli's at a port.
func Sentinels(t testing.TB, ca *authority.Authority, name string) (servers, watching []string, line func(port string) []string) {
	t.Helper()
	program, cli := needed.Program(t, "redis-server"), []string{needed.Program(t, "redis-cli")}
	listens := func(port string) []string { return []string{"port " + port} }
	if ca != nil {
		cert, key := ca.Issue(t, name)
		listens = func(port string) []string {
			return []string{"port 0", "tls-port " + port, "tls-cert-file " + cert, "tls-key-file " + key, "tls-ca-cert-file " + ca.File,
				"tls-auth-clients no", "tls-replication yes"}
		}
		cli = append(cli, "--tls", "--cacert", ca.File, "--sni", name)
	}
	start := func(port string, more []string, args ...string) {
		dir := t.TempDir()
		config := filepath.Join(dir, "redis.conf")
		lines := append(append(listens(port), "bind 127.0.0.1", "dir "+dir, `save ""`), more...)
		if err := os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		Start(t, "127.0.0.1:"+port, exec.Command(program, append([]string{config}, args...)...))
	}
	line = func(port string) []string { return append(append([]string{}, cli...), "-p", port) }
	servers = []string{FreePort(t), FreePort(t)}
	for i, port := range servers {
		more := []string{"requirepass " + Secret, "masterauth " + Secret, "repl-diskless-sync-delay 0"}
		if i > 0 {
			more = append(more, "replicaof 127.0.0.1 "+servers[0])
		}
		start(port, more)
	}
	for range sentinels {
		port := FreePort(t)
		start(port, []string{fmt.Sprintf("sentinel monitor %s 127.0.0.1 %s %d", Watched, servers[0], quorum), "sentinel auth-pass " + Watched + " " + Secret,
			"sentinel down-after-milliseconds " + Watched + " 3000", "sentinel failover-timeout " + Watched + " 6000"}, "--sentinel")
		watching = append(watching, port)
	}
	for _, port := range watching {
		decided.Await(t, "a sentinel knows all", func() bool {
			out, err := exec.Command(line(port)[0], append(line(port)[1:], "INFO", "sentinel")...).Output()
			return err == nil && strings.Contains(string(out), "status=ok") && strings.Contains(string(out), "slaves=1,sentinels=3")
		})
	}
	return servers, watching, line
}
