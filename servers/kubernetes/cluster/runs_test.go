package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	program = "../../../bin/lockchaos"
	example = "../../../examples/k8s-app"
)

// place is connect with a pair of namespaces as lockchaos makes them, for its own pods.
func place(t *testing.T) *cluster {
	t.Helper()
	c := connect(t)
	namespaces := c.client.CoreV1().Namespaces()
	agents := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace + "-agents"}}
	if _, err := namespaces.Create(t.Context(), agents, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := namespaces.Delete(context.Background(), agents.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return c
}

// ours are the namespaces of lockchaos.
func (c *cluster) ours() []string { return []string{c.namespace, c.namespace + "-agents"} }

// result is what a run.json says of a scenario.
type result struct{ Name, State, Result, Expectation string }

// run runs lockchaos on the cluster, wants it to end with status 0 and to leave
// no pod, and returns what came of each scenario.
func (c *cluster) run(words ...string) map[string]result {
	c.t.Helper()
	out := c.kept()
	began := time.Now()
	text, err := exec.CommandContext(c.t.Context(), program,
		append([]string{"run", "--runtime", "kubernetes", "--namespace", c.namespace, "--out", out}, words...)...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("lockchaos run %q: %v\n%s", words, err, text)
	}
	c.t.Logf("lockchaos run %q took %v\n%s", words, time.Since(began).Round(time.Second), text)
	c.noPods()
	file, err := os.ReadFile(filepath.Join(out, "latest", "run.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	var told struct{ Scenarios []result }
	if err := json.Unmarshal(file, &told); err != nil {
		c.t.Fatal(err)
	}
	results := map[string]result{}
	for _, r := range told.Scenarios {
		if r.State != "ended" || r.Expectation != "met" {
			c.t.Errorf("%s: %s, expectation %s", r.Name, r.State, r.Expectation)
		}
		results[r.Name] = r
	}
	return results
}

// kept is a folder that stays if the test fails.
func (c *cluster) kept() string {
	c.t.Helper()
	dir, err := os.MkdirTemp("", "lockchaos-kubernetes-")
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if c.t.Failed() {
			c.t.Logf("kept: %s", dir)
		} else if err := os.RemoveAll(dir); err != nil {
			c.t.Error(err)
		}
	})
	return dir
}

// come wants each scenario to have come to what it comes to locally.
func (c *cluster) come(results map[string]result, want map[string]string) {
	c.t.Helper()
	for name, result := range want {
		if got := results[name].Result; got != result {
			c.t.Errorf("%s came to %q, not to %q", name, got, result)
		}
	}
	if len(results) != len(want) {
		c.t.Errorf("there are %d scenarios, not %d: %v", len(results), len(want), results)
	}
}

func names(of map[string]string) []string { return slices.Sorted(maps.Keys(of)) }

// podsOf are the pods of lockchaos.
func (c *cluster) podsOf(ctx context.Context) (all []corev1.Pod, err error) {
	for _, namespace := range c.ours() {
		pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		all = append(all, pods.Items...)
	}
	return all, nil
}

// noPods waits until lockchaos has none. Those of a Job are deleted in the background.
func (c *cluster) noPods() {
	c.t.Helper()
	c.until("no pod of lockchaos is left", func(ctx context.Context) error {
		pods, err := c.podsOf(ctx)
		for _, p := range pods {
			err = errors.Join(err, fmt.Errorf("%s/%s is there: %s", p.Namespace, p.Name, p.Status.Phase))
		}
		return err
	})
}

func (c *cluster) kubectl(words ...string) {
	c.t.Helper()
	c.script(append([]string{"kubectl"}, words...)...)
}

// TestRunsInPods runs scenarios whose locks, servers and faults have little in common.
// It wants them to come to what they come to locally, and lockchaos has expected.
func TestRunsInPods(t *testing.T) {
	c := place(t)
	c.script("images", "postgres")
	want := map[string]string{
		"redis-setnx/none/unfenced":                "pass",
		"redis-setnx/pause-holder/unfenced":        "corrupted",
		"redis-setnx-fenced/pause-holder/fenced":   "contained",
		"redis-watchdog/partition-service/guarded": "pass",
		"redlock/node-wall-forward/unfenced":       "corrupted",
		"etcd-lease/pause-holder/fenced":           "contained",
		"etcd-lease/cut-off-long/unfenced":         "corrupted",
		"pg-lease/pause-holder/fenced":             "contained",
	}
	c.come(c.run(names(want)...), want)
}

// TestNodesArePartitionedInPods cuts the pods of a service from each other.
func TestNodesArePartitionedInPods(t *testing.T) {
	c := place(t)
	if results := c.run("testdata/partition.yaml"); len(results) != 2 {
		t.Errorf("there are %d scenarios, not 2: %v", len(results), results)
	}
}

// TestShardsAreMerged wants one run of what two pods ran.
func TestShardsAreMerged(t *testing.T) {
	c := admin(t)
	c.kubectl("apply", "-k", "../../../deploy/kubernetes") // the account of the shards
	c.namespace = "lockchaos"
	want := map[string]string{
		"redis-setnx/none/unfenced":                "pass",
		"redis-setnx/pause-holder/unfenced":        "corrupted",
		"redis-setnx-fenced/pause-holder/unfenced": "corrupted",
		"redis-setnx-fenced/pause-holder/fenced":   "contained",
	}
	c.come(c.run(append(names(want), "--shards", "2")...), want)
}

// shop has the example application in a namespace of its own.
type shop struct {
	*cluster        // for lockchaos
	app      string // the application's namespace
}

// open brings the application up.
func open(t *testing.T) *shop { return openAs(t, "/k8s") }

// openAs brings it up as a folder of the example has it.
func openAs(t *testing.T, folder string) *shop {
	t.Helper()
	s := &shop{place(t), connect(t).namespace}
	image, err := exec.Command(example + "/image").Output()
	if err != nil {
		t.Fatal(err)
	}
	load := exec.Command(script, "load", "-")
	load.Stdin = bytes.NewReader(image)
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("load the example's image: %v\n%s", err, out)
	}
	all, err := exec.Command(script, "kubectl", "kustomize", example+folder).Output()
	if err != nil {
		t.Fatal(err)
	}
	s.kubectl("apply", "-f", s.moved("all.yaml", all))
	s.rolledOut("ledger", "operator")
	return s
}

// moved is a file with a text that is about this namespace, not the example's.
func (s *shop) moved(name string, text []byte) string {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), name)
	if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte("lockchaos-shop"), []byte(s.app)), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return file
}

// file is a scenario about this namespace.
func (s *shop) file(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.moved(filepath.Base(name), text)
}

// rolledOut waits until Deployments are.
func (s *shop) rolledOut(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.kubectl("-n", s.app, "rollout", "status", "deployment/"+name, "--timeout", limit.String())
	}
}

func TestExampleApplication(t *testing.T) {
	s := open(t)
	s.come(s.run(s.file(example+"/scenario.yaml")), map[string]string{"operator/pause-leader": "corrupted"})
	s.kubectl("-n", s.app, "set", "env", "deployment/ledger", "FENCE=on")
	s.rolledOut("ledger")
	s.come(s.run(s.file(example+"/fenced.yaml")), map[string]string{"operator/pause-leader-fenced": "contained"})
}

// TestPodsOfLeadersEnd deletes, evicts and kills the pods of leaders. Their
// successors are followed, and no payment is made twice.
func TestPodsOfLeadersEnd(t *testing.T) {
	s := open(t)
	s.come(s.run(s.file(example+"/pods.yaml")), map[string]string{"operator/end-leader-pods": "pass"})
}

// TestLeadersOnSeveralNodes has the replicas on two nodes. Leaders are frozen wherever they
// are, and their nodes are drained, cut off from the control plane, and left without a kubelet.
func TestLeadersOnSeveralNodes(t *testing.T) {
	s := openAs(t, "/spread")
	s.come(s.run(s.file(example+"/nodes.yaml")), map[string]string{
		"operator/pause-leader-far": "corrupted", "operator/drain-leader-node": "pass",
		"operator/cut-leader-node": "pass", "operator/stop-leader-kubelet": "pass",
	})
}
