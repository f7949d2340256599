package backends_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
)

// TestContained runs what a container would run, which finds its programs by
// itself, on hosts with this machine's packages: the same packages that an image
// may be made of. The service is then found running, as it is in containers.
func TestContained(t *testing.T) {
	t.Parallel()
	for name, needs := range map[string]func(testing.TB){
		"redis": backendstest.NeedRedis, "redis-failover": backendstest.NeedRedis, "zookeeper": needs("zookeeper"), "postgres": needs("postgres"),
		"postgres-pgbouncer": needs("postgres-pgbouncer"), "memcached": needs("memcached"),
	} {
		t.Run(name, func(t *testing.T) {
			needs(t)
			network, _ := hoststest.Network(t)
			k, _ := backends.Lookup(name)
			p := backends.Place{Listen: "0.0.0.0", Peers: map[string]string{}, Contained: true}
			at := map[string]*hosts.Host{}
			for _, n := range k.Nodes {
				h, err := network.AddHost(n.Name)
				if err != nil {
					t.Fatal(err)
				}
				at[n.Name], p.Peers[n.Name] = h, h.Addr.String()
			}
			spec := backends.Spec{Service: name, Logs: t.TempDir()}
			for _, n := range k.Nodes {
				if err := network.Await(backendstest.Limit(t), at[n.Name]); err != nil {
					t.Fatal(err)
				}
				spec.Attached = append(spec.Attached,
					agent.Attached{Name: n.Name, Host: at[n.Name], Process: contain(t, k, n, p, at[n.Name], spec.Logs)})
			}
			s, err := backends.Start(backendstest.Limit(t), network, spec)
			if err != nil {
				t.Fatal(err)
			}
			version, _, _ := strings.Cut(s.Version, ", PgBouncer ")
			if !number.MatchString(version+".0") && !number.MatchString(version) || len(s.Nodes) != len(k.Nodes) {
				t.Errorf("%+v", s)
			}
		})
	}
}

// contain starts a node as a container does: one command, and a folder.
func contain(t *testing.T, k backends.Kind, n backends.NodeSpec, p backends.Place, h *hosts.Host, logs string) *hosts.Process {
	t.Helper()
	data, err := hosts.DataDir(n.Name)
	if err != nil {
		t.Fatal(err)
	}
	p.Data = data
	task, err := k.Task(n.Name, p)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(logs, n.Name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	command := task.Command(p)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), task.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	process, err := h.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return process
}
