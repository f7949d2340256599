// Package cluster tries what lockchaos needs of Kubernetes on the cluster of
// scripts/kubernetes. `make test-kubernetes` brings one up and takes it down.
// It is a package of tests alone, beside the one that builds Kubernetes, so
// that neither Kubernetes nor client-go is linked into the other.
package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
)

const script = "../../../scripts/kubernetes"

// limit is long, for machines that have much else to do. What is waited for is a condition.
const limit = 3 * time.Minute

type cluster struct {
	t         *testing.T
	config    *rest.Config
	client    *kubernetes.Clientset
	namespace string
}

// admin skips where KUBECONFIG is not that of scripts/kubernetes: other
// clusters have other work to do.
func admin(t *testing.T) *cluster {
	t.Helper()
	file, err := clientcmd.LoadFromFile(os.Getenv("KUBECONFIG"))
	if err != nil || file.CurrentContext != "lockchaos" {
		message := `KUBECONFIG is not that of a cluster of scripts/kubernetes: run make test-kubernetes`
		if os.Getenv("LOCKCHAOS_REQUIRE") == "all" {
			t.Fatal(message)
		}
		t.Skip(message)
	}
	config, err := clientcmd.NewDefaultClientConfig(*file, nil).ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1 // client-go waits by itself above 5 requests a second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{t: t, config: config, client: client}
}

// connect is admin with a namespace, which is deleted at the end.
func connect(t *testing.T) *cluster {
	t.Helper()
	c := admin(t)
	namespace, err := c.client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.namespace = namespace.Name
	t.Cleanup(func() {
		if err := c.client.CoreV1().Namespaces().Delete(context.Background(), c.namespace, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return c
}

// until waits for a condition, and says at the end what was missing.
func (c *cluster) until(what string, holds func(context.Context) error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), limit)
	defer cancel()
	began := time.Now()
	for {
		err := holds(ctx)
		if err == nil {
			c.t.Logf("%s after %v", what, time.Since(began).Round(10*time.Millisecond))
			return
		}
		select {
		case <-ctx.Done():
			c.t.Fatalf("%s: not after %v: %v", what, limit, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// apply creates what one document of YAML describes.
func (c *cluster) apply(text string) {
	c.t.Helper()
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(text), nil, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	var options metav1.CreateOptions
	switch o := object.(type) {
	case *corev1.Service:
		_, err = c.client.CoreV1().Services(c.namespace).Create(c.t.Context(), o, options)
	case *appsv1.StatefulSet:
		_, err = c.client.AppsV1().StatefulSets(c.namespace).Create(c.t.Context(), o, options)
	case *batchv1.Job:
		_, err = c.client.BatchV1().Jobs(c.namespace).Create(c.t.Context(), o, options)
	default:
		err = fmt.Errorf("apply does not know %T", o)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// exec runs a command in a pod: through the API server, the kubelet and containerd.
func (c *cluster) exec(ctx context.Context, pod string, command ...string) (string, error) {
	request := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(c.namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(c.config, "GET", request.URL().String())
	if err != nil {
		return "", err
	}
	var out, errs bytes.Buffer
	if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &errs}); err != nil {
		return "", fmt.Errorf("%q in %s: %w: %s", command, pod, err, errs.Bytes())
	}
	return out.String(), nil
}

func (c *cluster) logs(ctx context.Context, pod string) (string, error) {
	stream, err := c.client.CoreV1().Pods(c.namespace).GetLogs(pod, &corev1.PodLogOptions{}).Stream(ctx)
	if err != nil {
		return "", err
	}
	defer stream.Close()
	text, err := io.ReadAll(stream)
	return string(text), err
}

// node is nil when a node's Ready has the status.
func (c *cluster) node(ctx context.Context, name string, status corev1.ConditionStatus) error {
	node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == status {
			return nil
		}
	}
	return fmt.Errorf("%s has %+v", name, node.Status.Conditions)
}

func (c *cluster) script(arguments ...string) {
	c.t.Helper()
	began := time.Now()
	out, err := exec.Command(script, arguments...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("scripts/kubernetes %q: %v\n%s", arguments, err, out)
	}
	c.t.Logf("scripts/kubernetes %q took %v", arguments, time.Since(began).Round(10*time.Millisecond))
}

func TestNodesAreReady(t *testing.T) { admin(t).nodesAreReady() }

func (c *cluster) nodesAreReady() {
	c.t.Helper()
	for _, name := range []string{"node-1", "node-2"} {
		c.until(name+" is Ready", func(ctx context.Context) error { return c.node(ctx, name, corev1.ConditionTrue) })
	}
}

const (
	headless = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: None, selector: {app: web}, ports: [{port: 8080}]}
`
	balanced = `
apiVersion: v1
kind: Service
metadata: {name: any}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`
	// Each pod serves its own name.
	web = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  replicas: 2
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]
      containers:
      - name: web
        image: lockchaos-local/busybox
        imagePullPolicy: Never
        command: [sh, -c, 'hostname >/tmp/index.html; echo "$(hostname) serves"; exec httpd -f -p 8080 -h /tmp']
        readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
`
	job = `
apiVersion: batch/v1
kind: Job
metadata: {name: shards}
spec:
  completionMode: Indexed
  completions: 2
  parallelism: 2
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: shard
        image: lockchaos-local/lockchaos
        imagePullPolicy: Never
        command: [sh, -c, 'echo "shard $JOB_COMPLETION_INDEX"; exec lockchaos --version']
`
)

// serve applies the StatefulSet and returns once both pods are ready.
func (c *cluster) serve() {
	c.t.Helper()
	c.apply(headless)
	c.apply(balanced)
	c.apply(web)
	c.ready()
}

func (c *cluster) ready() {
	c.t.Helper()
	c.until("two pods of the StatefulSet are ready", func(ctx context.Context) error {
		set, err := c.client.AppsV1().StatefulSets(c.namespace).Get(ctx, "web", metav1.GetOptions{})
		if err == nil && set.Status.ReadyReplicas != 2 {
			err = fmt.Errorf("%d are", set.Status.ReadyReplicas)
		}
		return err
	})
}

// answer waits until a pod that asks a name is told one of the names of pods.
func (c *cluster) answer(pod, host, port string, want ...string) {
	c.t.Helper()
	c.until(fmt.Sprintf("%s is told by %s that it is one of %v", pod, host, want), func(ctx context.Context) error {
		// By nc: wget of Debian's static busybox dies of a segmentation fault.
		got, err := c.exec(ctx, pod, "timeout", "5", "sh", "-c", `printf 'GET / HTTP/1.0\r\n\r\n' | nc "$0" "$1"`, host, port)
		if err != nil {
			return err
		}
		lines := strings.Fields(got)
		if len(lines) == 0 || !slices.Contains(want, lines[len(lines)-1]) {
			return fmt.Errorf("%s says %q", host, got)
		}
		return nil
	})
}

func TestPodsFindEachOther(t *testing.T) {
	c := connect(t)
	c.serve()
	nodes := map[string]bool{}
	for _, name := range []string{"web-0", "web-1"} {
		pod, err := c.client.CoreV1().Pods(c.namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		nodes[pod.Spec.NodeName] = true
		logs, err := c.logs(t.Context(), name)
		if err != nil || logs != name+" serves\n" {
			t.Errorf("logs of %s: %q, %v", name, logs, err)
		}
	}
	if len(nodes) != 2 {
		t.Errorf("both pods are on %v", nodes)
	}
	c.answer("web-0", "web-1.web."+c.namespace+".svc.cluster.local", "8080", "web-1")
	c.answer("web-1", "web-0.web", "8080", "web-0")
	c.answer("web-0", "web", "8080", "web-0", "web-1")
	c.answer("web-1", "any", "80", "web-0", "web-1")
	if _, err := c.exec(t.Context(), "web-0", "false"); err == nil {
		t.Error("a command that fails in a pod is told as one that does not")
	}
}

func TestIndexedJobRunsLockchaos(t *testing.T) {
	c := connect(t)
	c.apply(job)
	c.until("two shards have ended well", func(ctx context.Context) error {
		job, err := c.client.BatchV1().Jobs(c.namespace).Get(ctx, "shards", metav1.GetOptions{})
		if err == nil && job.Status.Failed > 0 {
			t.Fatalf("shards failed: %+v", job.Status)
		}
		if err == nil && job.Status.Succeeded != 2 {
			err = fmt.Errorf("%+v", job.Status)
		}
		return err
	})
	pods, err := c.client.CoreV1().Pods(c.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "job-name=shards"})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, pod := range pods.Items {
		logs, err := c.logs(t.Context(), pod.Name)
		if err != nil {
			t.Fatal(err)
		}
		first, rest, _ := strings.Cut(logs, "\n")
		said = append(said, first)
		if !strings.HasPrefix(rest, "lockchaos") {
			t.Errorf("a shard said %q", logs)
		}
	}
	slices.Sort(said)
	if !slices.Equal(said, []string{"shard 0", "shard 1"}) {
		t.Errorf("shards said %q", said)
	}
}

func TestPartitionHeals(t *testing.T) {
	c := connect(t)
	c.serve()
	c.script("on", "node-2", "nft", "add table netdev cut; add chain netdev cut in { type filter hook ingress device eth0 priority 0; policy drop; }")
	heal := sync.OnceFunc(func() { c.script("on", "node-2", "nft", "delete table netdev cut") })
	t.Cleanup(heal)
	c.until("node-2 is Unknown", func(ctx context.Context) error { return c.node(ctx, "node-2", corev1.ConditionUnknown) })
	heal()
	c.until("node-2 is Ready", func(ctx context.Context) error { return c.node(ctx, "node-2", corev1.ConditionTrue) })
	c.ready()
	c.answer("web-0", "web-1.web", "8080", "web-1")
}

func TestNodeIsKilledAndStarted(t *testing.T) {
	c := connect(t)
	c.serve()
	c.script("kill", "node-2")
	c.until("node-2 is Unknown", func(ctx context.Context) error { return c.node(ctx, "node-2", corev1.ConditionUnknown) })
	c.script("up")
	c.until("node-2 is Ready", func(ctx context.Context) error { return c.node(ctx, "node-2", corev1.ConditionTrue) })
	c.ready()
	c.answer("web-0", "web-1.web", "8080", "web-1")
	c.answer("web-1", "web-0.web", "8080", "web-0")
	c.script("up") // once more, for nothing
	c.answer("web-1", "web-0.web", "8080", "web-0")
}

// TestControlIsKilled is the last of those about the cluster itself: with the control plane
// its memory goes, and the cluster begins anew. A node that is frozen dies with the rest.
func TestControlIsKilled(t *testing.T) {
	c := admin(t)
	c.script("kill", "control")
	if err := os.WriteFile("/sys/fs/cgroup/freezer/lockchaos-kubernetes/node-2/freezer.state", []byte("FROZEN"), 0o644); err != nil {
		t.Fatal(err)
	}
	c.script("up")
	admin(t).nodesAreReady()
}
