package runtimes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harness"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/docker"
	"github.com/lockchaos/lockchaos/internal/hosts/kubernetes"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// programImage is what the image of lockchaos itself is called among images.
const programImage = "lockchaos"

// kubernetesRuntime is the kubernetes runtime: nodes in pods, or the pods of an
// application of the user's own, and an agent beside them.
type kubernetesRuntime struct {
	Locks
	cluster *kubernetes.Cluster
	nodes   []kubernetes.Node
	images  map[string]string // by what they are for
	app     bool              // some plan is about an application, which is there once
}

// newKubernetesRuntime finds the cluster, removes what earlier runs left, and chooses the images.
func newKubernetesRuntime(ctx context.Context, f Where, settings map[string]string, of Locks, plans []scenarios.Plan,
	say func(string)) (*kubernetesRuntime, error) {
	cluster, err := kubernetes.Connect(ctx, f.Context, f.Namespace)
	if err != nil {
		return nil, err
	}
	c := &kubernetesRuntime{Locks: of, cluster: cluster, images: map[string]string{}}
	if err := cluster.Prepare(ctx); err != nil {
		return nil, err
	}
	removed, err := cluster.Clean(ctx)
	if err != nil {
		return nil, err
	}
	if len(removed) > 0 {
		say("removed what an earlier run left: " + strings.Join(removed, ", "))
	}
	if c.nodes, err = cluster.Nodes(ctx); err != nil {
		return nil, err
	}
	for _, kind := range append(of.neededImages(plans), programImage) {
		c.images[kind] = c.imageOf(settings, kind)
	}
	c.app = slices.ContainsFunc(plans, func(p scenarios.Plan) bool { return p.Scenario.Own() })
	if !slices.ContainsFunc(plans, func(p scenarios.Plan) bool { return c.Skip(p) == "" }) {
		return nil, exit.Misuse(fmt.Errorf("no scenario can be run on the cluster: %s", c.Skip(plans[0])))
	}
	return c, nil
}

// imageOf is the image for a kind: the user's choice, else the one that was made
// without a registry if the nodes have that, else the official one, which they pull.
func (c *kubernetesRuntime) imageOf(settings map[string]string, kind string) string {
	all := candidates(settings, kind)
	for _, image := range all {
		if kubernetes.Has(c.nodes, image) {
			return image
		}
	}
	return all[0]
}

// About names the cluster and the images.
func (c *kubernetesRuntime) About() string {
	parts := []string{"kubernetes: " + c.cluster.Version + " on " + c.cluster.Context}
	for _, kind := range append(ImageKinds(), programImage) {
		if image := c.images[kind]; image != "" {
			parts = append(parts, image)
		}
	}
	return strings.Join(append(parts, "Linux "+c.nodes[0].Kernel), ", ")
}

// Traits: an application is there once, and the nodes stand one scenario a processor.
func (c *kubernetesRuntime) Traits() runs.Traits {
	n := 0
	if c.app {
		return runs.Traits{Most: 1}
	}
	for _, node := range c.nodes {
		n += node.Processors
	}
	return runs.Traits{Most: max(1, n)}
}

// Close does nothing: pods end with the run of their plan.
func (c *kubernetesRuntime) Close() error { return nil }

// Skip: a server that dies is not started again by its pod, and a cluster may forbid faults.
func (c *kubernetesRuntime) Skip(plan scenarios.Plan) string {
	if plan.Scenario.Own() {
		return c.forbidden(plan)
	}
	return unbearable(plan)
}

// permission is something that lockchaos must be allowed to do for a fault.
type permission struct{ verb, resource string }

// granted says which file grants the right.
func (r permission) granted() string {
	if r.resource == "nodes" {
		return "deploy/kubernetes/nodes has a ClusterRole for it"
	}
	return "examples/k8s-app/k8s/lockchaos.yaml has a Role for it"
}

// rights are those that faults need beside what every scenario does.
var rights = map[string][]permission{
	nemesis.KindDeletePod: {{"delete", "pods"}},
	nemesis.KindKillPod:   {{"delete", "pods"}},
	nemesis.KindEvictPod:  {{"create", "pods/eviction"}},
	nemesis.KindDrainNode: {{"create", "pods/eviction"}, {"patch", "nodes"}},
}

// forbidden says what the cluster does not allow of a plan about an application;
// "": all is allowed. One that does not tell is not believed to forbid it.
func (c *kubernetesRuntime) forbidden(plan scenarios.Plan) string {
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	for _, f := range plan.Scenario.Faults {
		for _, one := range f.Singles() {
			for _, r := range rights[one.Kind] {
				may, err := c.cluster.May(ctx, plan.Scenario.App.Namespace, r.verb, r.resource)
				if err == nil && !may {
					return fmt.Sprintf("%s: the cluster does not allow to %s %s in namespace %s; %s", one.Kind, r.verb,
						r.resource, plan.Scenario.App.Namespace, r.granted())
				}
			}
		}
	}
	return ""
}

// askLimit bounds how long a cluster may take to say what it allows.
const askLimit = 10 * time.Second

// Run makes the pods of the plan, or finds those of the application, and runs the plan beside them.
func (c *kubernetesRuntime) Run(ctx context.Context, plan scenarios.Plan, dir string, stdout, stderr io.Writer) error {
	spec := kubernetes.Spec{Image: c.images[programImage], Args: []string{ScenarioVerb, kubernetes.Folder}, Dir: dir,
		Logs: filepath.Join(dir, reports.LogFolder),
		Data: docker.DataDir, On: c.nodes, Length: plan.Scenario.Duration.Std(), Stdout: stdout, Stderr: stderr}
	if plan.Scenario.Own() {
		var words, names []string
		for _, p := range possible.AppPlaces(plan.Scenario.App) {
			words, names = append(words, p.Member), append(names, p.Name)
		}
		var err error
		if spec.Members, err = c.cluster.Find(ctx, plan.Scenario.App.Namespace, words, names); err != nil {
			return err
		}
		if plan.Scenario.App.Hooks.Given() || plan.Scenario.App.Log.File != "" {
			spec.Together = "hooks, and logs in files, are read on their node"
		}
		for i, p := range possible.AppPlaces(plan.Scenario.App) {
			spec.Members[i].Client = p.Role == possible.RoleClient
		}
		return c.cluster.Run(ctx, spec)
	}
	for _, k := range c.servicesOf(plan) {
		for _, n := range k.Nodes {
			server, err := c.server(k, n)
			if err != nil {
				return err
			}
			spec.Servers = append(spec.Servers, server)
		}
	}
	spec.Seats = harness.Seats(plan)
	return c.cluster.Run(ctx, spec)
}

// server is a node of a service, in a pod.
func (c *kubernetesRuntime) server(k backends.Kind, n backends.NodeSpec) (kubernetes.Server, error) {
	somewhere := map[string]string{}
	for _, other := range k.Nodes {
		somewhere[other.Name] = "127.0.0.1"
	}
	t, err := ContainerTask(k, n.Name, somewhere) // for its user's number, which no address changes
	return kubernetes.Server{Name: n.Name, Image: c.images[n.Program.Name], UID: t.UID,
		Task: func(addrs map[string]string) (kubernetes.Task, error) {
			t, err := ContainerTask(k, n.Name, addrs)
			return kubernetes.Task{Command: t.Command, Env: t.Env}, err
		}}, err
}

// runPod runs a plan beside pods, which outer made or found.
func runPod(ctx context.Context, cfg harness.Config) (err error) {
	if rescued, err := kubernetes.Rescued(func(name string,
		h *hosts.Host) error {
		return heal(ctx, name, h, os.Stderr)
	}); rescued {
		return err
	}
	ctx, joined, err := kubernetes.Join(ctx, os.Stdout)
	defer func() { err = errors.Join(err, joined.Close()) }()
	if err != nil {
		return err
	}
	if err := healLeftovers(ctx, joined.Nodes, os.Stderr); err != nil {
		return err
	}
	if joined.Helper() {
		return help(ctx, cfg, joined)
	}
	app, err := inCluster(ctx, joined)
	if err != nil {
		return err
	}
	return runApp(ctx, with(cfg, joined.Joined), app)
}
