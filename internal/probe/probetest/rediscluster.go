package probetest

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// Cluster is a Redis Cluster: three masters, each with a replica.
type Cluster struct {
	// Ports are those of its nodes, on this machine.
	Ports []string
	cli   []string
}

// clusterNodes is how many nodes a cluster has.
const clusterNodes = 6

// RedisCluster starts a Redis Cluster of six. With an authority it has TLS alone, with certificates
// for the name, and the user me may do what locks do. Nodes announce their IP address, or, if
// named, a name each (redis-1.NAME). more are settings of each node.
func RedisCluster(t testing.TB, ca *authority.Authority, name string, named bool, more ...string) *Cluster {
	t.Helper()
	c := &Cluster{cli: []string{needed.Program(t, "redis-cli")}}
	if ca != nil {
		c.cli = append(c.cli, "--tls", "--cacert", ca.File, "--sni", name)
	}
	create := append(slices.Clone(c.cli), "--cluster", "create")
	for i := range clusterNodes {
		port := FreePort(t)
		args := []string{"--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir(), "--cluster-enabled", "yes", "--cluster-port", FreePort(t),
			"--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0", "--user", "me", "on", ">" + Secret}
		args = append(append(args, strings.Fields(ClusterRights)...), more...)
		at := name
		if named {
			at = fmt.Sprintf("redis-%d.%s", i+1, name)
			args = append(args, "--cluster-announce-hostname", at, "--cluster-preferred-endpoint-type", "hostname")
		}
		if ca == nil {
			args = append(args, "--port", port)
		} else {
			cert, key := ca.Issue(t, at, authority.Good)
			args = append(args, "--port", "0", "--tls-port", port, "--tls-cluster", "yes", "--tls-replication", "yes", "--tls-cert-file", cert,
				"--tls-key-file", key, "--tls-ca-cert-file", ca.File, "--tls-auth-clients", "no")
		}
		Start(t, "127.0.0.1:"+port, exec.Command(needed.Program(t, "redis-server"), args...))
		c.Ports, create = append(c.Ports, port), append(create, "127.0.0.1:"+port)
	}
	create = append(create, "--cluster-replicas", "1", "--cluster-yes")
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
	defer cancel()
	if out, err := exec.CommandContext(ctx, create[0], create[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, port := range c.Ports {
		decided.Await(t, "the cluster serves, with its replicas", func() bool {
			slots := c.Ask(t, port, "CLUSTER", "SLOTS")
			return strings.Contains(c.Ask(t, port, "CLUSTER", "INFO"), "cluster_state:ok") &&
				!slices.ContainsFunc(c.Ports, func(other string) bool { return !strings.Contains(slots, other) })
		})
	}
	return c
}

// ClusterRights are those of the user me on a cluster.
const ClusterRights = RedisRights + " +cluster|slots"

// Ask has the node at the port carry out a command.
func (c *Cluster) Ask(t testing.TB, port string, command ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	words := append(c.Line(port), command...)
	out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	return string(out)
}

// Line is the command that asks the node at the port, without what it is asked.
func (c *Cluster) Line(port string) []string { return append(slices.Clone(c.cli), "-p", port) }
