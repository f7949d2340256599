package backends_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
)

// place is one for every node of a service, in containers.
func place(k backends.Kind) backends.Place {
	p := backends.Place{Listen: "0.0.0.0", Data: "/data", Peers: map[string]string{}, Contained: true}
	for _, n := range k.Nodes {
		p.Peers[n.Name] = "at-" + n.Name
	}
	return p
}

// TestRecipes: every service has a command for each of its nodes in a
// container, under every prefix, which needs nothing of this machine.
func TestRecipes(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	for _, k := range backends.Kinds() {
		for _, k := range []backends.Kind{k, k.WithPrefix("store-")} {
			if k.About == "" || len(k.Nodes) == 0 || !slices.Contains(backends.Names(), k.Name) {
				t.Errorf("%+v", k)
			}
			for _, n := range k.Nodes {
				p := place(k)
				task, err := k.Task(n.Name, p)
				if err != nil || n.Program == nil || n.Port == 0 {
					t.Errorf("%s: %+v, %v", k.Name, n, err)
				}
				if text := strings.Join(task.Command(p), " "); strings.Contains(text, "/proc/self/exe") || text == "" {
					t.Errorf("%s in a container: %s", n.Name, text)
				}
				delete(p.Peers, k.Nodes[len(k.Nodes)-1].Name)
				if _, err := k.Task(n.Name, p); err == nil {
					t.Errorf("%s: a node with unknown peers", n.Name)
				}
			}
			if _, err := k.Task("nobody", place(k)); err == nil {
				t.Errorf("%s: a task for nobody", k.Name)
			}
		}
	}
}

// TestCommand: a shell does what the parts of the task say, in their order,
// whatever characters are in them.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	odd := "it's $HOME, \"quoted\" \\ and %s\nsecond line"
	task := backends.Task{
		Args:   []string{"cat", "copy", "plain"},
		Files:  map[string]string{"odd.cfg": odd, "plain": "!"},
		Before: [][]string{{"cp", "odd.cfg", "copy"}},
	}
	p := backends.Place{Data: dir}
	command := task.Command(p)
	out, err := exec.Command(command[0], command[1:]...).Output()
	if err != nil || string(out) != odd+"!" {
		t.Errorf("%q, %v", out, err)
	}
	task.Before = [][]string{{"false"}}
	command = task.Command(p)
	if out, err := exec.Command(command[0], command[1:]...).Output(); err == nil || len(out) != 0 {
		t.Errorf("what came before failed, and it went on: %q, %v", out, err)
	}
	if got := (backends.Task{Args: []string{"etcd", "--x"}}).Command(p); !slices.Equal(got, []string{"etcd", "--x"}) {
		t.Errorf("nothing but arguments: %q", got)
	}
}

// TestAttached: nodes that run already are asked until they answer, as launched
// ones are; and they live on when the service is closed.
func TestAttached(t *testing.T) {
	for _, name := range []string{"redis", "etcd"} {
		t.Run(name, func(t *testing.T) {
			if name == "redis" {
				backendstest.NeedRedis(t)
			}
			n, _ := hoststest.Network(t)
			first, err := backends.Start(backendstest.Limit(t), n, backends.Spec{Service: name, Prefix: "own-", Logs: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			spec := backends.Spec{Service: name, Prefix: "own-", Logs: t.TempDir()}
			for _, n := range slices.Backward(first.Nodes) {
				if !strings.HasPrefix(n.Name, "own-"+name+"-") || n.Host.Name != n.Name {
					t.Errorf("%s on %s", n.Name, n.Host.Name)
				}
				spec.Attached = append(spec.Attached, agent.Attached{Name: n.Name, Host: n.Host, Process: n.Process})
			}
			second, err := backends.Start(backendstest.Limit(t), n, spec)
			if err != nil {
				t.Fatal(err)
			}
			if second.Version != first.Version || !slices.Equal(second.Addrs(), first.Addrs()) ||
				second.Nodes[0].Log != filepath.Join(spec.Logs, first.Nodes[0].Name+".log") {
				t.Errorf("%+v, %+v", second, second.Nodes[0])
			}
			if err := second.Close(); err != nil || first.Alive() != nil {
				t.Errorf("closed: %v; alive: %v", err, first.Alive())
			}
			// Deaths are told of them too.
			third, err := backends.Start(backendstest.Limit(t), n, spec)
			if err != nil {
				t.Fatal(err)
			}
			if err := first.Nodes[0].Process.Kill(backendstest.Limit(t)); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-third.Died():
				if !strings.Contains(err.Error(), first.Nodes[0].Name) {
					t.Error(err)
				}
			case <-backendstest.Limit(t).Done():
				t.Error("nobody told")
			}
			spec.Attached[0].Name = "another"
			if _, err := backends.Start(backendstest.Limit(t), n, spec); err == nil || !strings.Contains(err.Error(), "another") {
				t.Errorf("a node that the service does not have: %v", err)
			}
			spec.Attached = spec.Attached[1:]
			if name == "etcd" {
				if _, err := backends.Start(backendstest.Limit(t), n, spec); err == nil || !strings.Contains(err.Error(), "own-etcd-3") {
					t.Errorf("a node is missing: %v", err)
				}
			}
			if err := first.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(first.Nodes[0].Log); err != nil {
				t.Error(err)
			}
		})
	}
}
