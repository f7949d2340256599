package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// DefaultNamespace is where pods are made, if nothing else is said.
const DefaultNamespace = "lockchaos"

// agentSuffix follows the name of the namespace in that of the agents' one.
const agentSuffix = "-agents"

// Cluster is an API server that answers. Safe for concurrent use.
type Cluster struct {
	// Version is what it says of itself: "v1.34.4". Context is what the user's
	// configuration calls it.
	Version, Context string
	// Namespace is for nodes and seats; agents have one of their own beside it.
	Namespace string

	config *rest.Config
	client rest.Interface
	codec  runtime.ParameterCodec
	placed atomic.Uint32 // scenarios that were given a node
}

// connectLimit bounds how long an API server may take to say that it is there.
const connectLimit = 10 * time.Second

// Connect reads the user's configuration as kubectl does (KUBECONFIG,
// ~/.kube/config, a pod's own account) and asks whether the API server answers.
// Names that are "" are those of the configuration, or DefaultNamespace.
func Connect(ctx context.Context, inContext, namespace string) (*Cluster, error) {
	// the library would print on standard error what it returns as an error, too
	utilruntime.ErrorHandlers = nil
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(),
		&clientcmd.ConfigOverrides{CurrentContext: inContext})
	raw, err := loaded.RawConfig()
	if err != nil {
		return nil, fmt.Errorf("read the configuration of kubectl: %w", err)
	}
	config, err := loaded.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no Kubernetes cluster is configured: %w; set KUBECONFIG, or give --context", err)
	}
	c := &Cluster{Context: inContext, Namespace: namespace}
	if c.Context == "" {
		c.Context = raw.CurrentContext
	}
	if c.Context == "" {
		c.Context = "the cluster of this pod"
	}
	if c.Namespace == "" {
		c.Namespace = DefaultNamespace
	}
	if err := c.speak(config); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	text, err := c.client.Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("the cluster at %s does not answer: %w; does kubectl version?", config.Host, err)
	}
	var told version.Info
	if err := json.Unmarshal(text, &told); err != nil {
		return nil, fmt.Errorf("what answers at %s is no API server of Kubernetes: %w", config.Host, err)
	}
	c.Version = told.GitVersion
	return c, nil
}

// speak makes the client, which knows the core of the API alone: a typed client
// of everything would make this program a quarter larger.
func (c *Cluster) speak(config *rest.Config) error {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	version := corev1.SchemeGroupVersion
	config.GroupVersion, config.APIPath = &version, "/api"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.WarningHandler = rest.NoWarnings{}
	config.QPS = -1 // client-go would wait by itself above 5 requests a second
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return fmt.Errorf("the cluster at %s: %w", config.Host, err)
	}
	c.config, c.client, c.codec = config, client, runtime.NewParameterCodec(scheme)
	return nil
}

// agents is the namespace of the agents.
func (c *Cluster) agents() string { return c.Namespace + agentSuffix }

// Prepare makes the two namespaces if they are not there, and if it may. Where
// it may not, they are expected to be there: kubectl apply -k deploy/kubernetes.
func (c *Cluster) Prepare(ctx context.Context) error {
	for name, level := range map[string]string{c.Namespace: "restricted", c.agents(): "privileged"} {
		made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{"pod-security.kubernetes.io/enforce": level}}}
		err := c.client.Post().Resource("namespaces").Body(made).Do(ctx).Error()
		if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsForbidden(err) {
			return fmt.Errorf("make namespace %s: %w", name, err)
		}
	}
	return nil
}

// Node is a node of the cluster on which pods may be placed.
type Node struct {
	Name, Kernel string
	// Processors is how many it has, for pods.
	Processors int
	// Images are the names of some images that it holds; it need not tell of all.
	Images []string
}

// Nodes returns the nodes that are Ready and take pods, in the order of their names.
func (c *Cluster) Nodes(ctx context.Context) (nodes []Node, err error) {
	var list corev1.NodeList
	if err := c.client.Get().Resource("nodes").Do(ctx).Into(&list); err != nil {
		return nil, fmt.Errorf("list the cluster's nodes: %w; deploy/kubernetes has the permissions that lockchaos needs", err)
	}
	for _, n := range list.Items {
		if !takesPods(n) {
			continue
		}
		node := Node{Name: n.Name, Kernel: n.Status.NodeInfo.KernelVersion,
			Processors: int(n.Status.Allocatable.Cpu().Value())}
		for _, image := range n.Status.Images {
			node.Images = append(node.Images, image.Names...)
		}
		nodes = append(nodes, node)
	}
	if len(nodes) == 0 {
		return nil, errors.New("no node of the cluster is Ready, on Linux, and takes pods: kubectl get nodes")
	}
	slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes, nil
}

// takesPods reports whether a node runs Linux, is Ready, and has no taint that keeps pods away.
func takesPods(n corev1.Node) bool {
	if n.Spec.Unschedulable || n.Status.NodeInfo.OperatingSystem != "linux" {
		return false
	}
	for _, t := range n.Spec.Taints {
		if t.Effect != corev1.TaintEffectPreferNoSchedule {
			return false
		}
	}
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// Has reports whether each of the nodes holds an image, as far as they tell.
func Has(nodes []Node, image string) bool {
	if last := image[strings.LastIndexByte(image, '/')+1:]; !strings.ContainsAny(last, ":@") {
		image += ":latest"
	}
	return !slices.ContainsFunc(nodes, func(n Node) bool {
		return !slices.ContainsFunc(n.Images, func(have string) bool {
			return have == image ||
				strings.HasSuffix(have, "/"+image)
		})
	})
}

// May asks whether we may do something to things of a kind in a namespace ("":
// of the cluster), such as "create" to "pods/eviction".
func (c *Cluster) May(ctx context.Context, namespace, verb, resource string) (bool, error) {
	resource, sub, _ := strings.Cut(resource, "/")
	if namespace == "" && resource == "pods" {
		namespace = c.Namespace
	}
	asks := map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]string{
			"namespace": namespace, "verb": verb, "resource": resource, "subresource": sub}}}
	text, err := json.Marshal(asks)
	if err != nil {
		return false, err
	}
	got, err := c.client.Post().AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").SetHeader("Content-Type", "application/json").
		SetHeader("Accept", "application/json").Body(text).DoRaw(ctx)
	if err != nil {
		return false, fmt.Errorf("ask what the cluster allows: %w", err)
	}
	var told struct{ Status struct{ Allowed bool } }
	if err := json.Unmarshal(got, &told); err != nil {
		return false, fmt.Errorf("read what the cluster allows: %w", err)
	}
	return told.Status.Allowed, nil
}
