package kubernetes

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

// fake is an API server that knows pods and Deployments.
type fake struct {
	mu          sync.Mutex
	pods        []corev1.Pod
	deployments map[string]string // how each selects its pods, as JSON, by NAMESPACE/NAME
	deleted     []string          // pods, in that order
	nodes       []corev1.Node
	refuses     int // the status with which evictions are refused; 0: they are not
}

// cluster is one whose API server this is.
func (f *fake) cluster(t *testing.T) *Cluster {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	c := &Cluster{Namespace: DefaultNamespace}
	if err := c.speak(&rest.Config{Host: server.URL}); err != nil {
		t.Fatal(err)
	}
	return c
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[2] == "nodes":
		f.serveNodes(w, r, parts[3:])
	case len(parts) == 5 && parts[4] == "pods":
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
		selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
		if err != nil {
			refuse(w, http.StatusBadRequest)
			return
		}
		for _, p := range f.pods {
			if p.Namespace == parts[3] && selector.Matches(labels.Set(p.Labels)) {
				list.Items = append(list.Items, p)
			}
		}
		answer(w, list)
	case len(parts) == 6 && parts[4] == "pods":
		f.pod(w, r.Method, parts[3], parts[5])
	case len(parts) == 7 && parts[6] == "eviction":
		f.evict(w, parts[3], parts[5])
	case len(parts) == 7 && parts[5] == "deployments" && f.deployments[parts[4]+"/"+parts[6]] != "":
		answer(w, json.RawMessage(f.deployments[parts[4]+"/"+parts[6]]))
	default:
		refuse(w, http.StatusNotFound)
	}
}

func (f *fake) pod(w http.ResponseWriter, method, namespace, name string) {
	for i, p := range f.pods {
		if p.Namespace != namespace || p.Name != name {
			continue
		}
		if method == http.MethodDelete {
			f.deleted = append(f.deleted, namespace+"/"+name)
			f.pods = append(f.pods[:i], f.pods[i+1:]...)
		}
		p.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
		answer(w, p)
		return
	}
	refuse(w, http.StatusNotFound)
}

// evict deletes a pod, unless evictions are refused.
func (f *fake) evict(w http.ResponseWriter, namespace, name string) {
	if f.refuses != 0 {
		refuse(w, f.refuses)
		return
	}
	f.pod(w, http.MethodDelete, namespace, name)
}

// serveNodes lists the nodes, or changes one.
func (f *fake) serveNodes(w http.ResponseWriter, r *http.Request, name []string) {
	if len(name) == 1 && r.Method == http.MethodPatch {
		f.node(w, r, name[0])
		return
	}
	answer(w, corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}, Items: f.nodes})
}

// node changes a node as a merge patch says.
func (f *fake) node(w http.ResponseWriter, r *http.Request, name string) {
	var patch struct {
		Metadata struct{ Annotations map[string]*string }
		Spec     struct{ Unschedulable bool }
	}
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.Name != name || json.NewDecoder(r.Body).Decode(&patch) != nil {
			continue
		}
		n.Spec.Unschedulable = patch.Spec.Unschedulable
		for key, value := range patch.Metadata.Annotations {
			if value == nil {
				delete(n.Annotations, key)
			} else {
				n.Annotations[key] = *value
			}
		}
		answer(w, *n)
		return
	}
	refuse(w, http.StatusNotFound)
}

func answer(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(what)
}

func refuse(w http.ResponseWriter, code int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Reason: metav1.StatusReason(strings.ReplaceAll(http.StatusText(code), " ", "")), Code: int32(code)})
}
