package kubernetes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNumbered(t *testing.T) {
	for word, want := range map[string]string{
		"deployment/web": "deployment/web 1", "deployment/web:2": "deployment/web 2", "app=web": "app=web 1", "app=web:12": "app=web 12",
		"deployment/web:0": "", "deployment/web:-1": "", "deployment/web:": "", "deployment/web:x": "", "deployment/web:1:2": "",
	} {
		what, number, err := numbered(word)
		if got := fmt.Sprint(what, " ", number); err == nil && got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v, not %q", word, got, err, want)
		}
	}
}

// ofApp is a pod that runs, of an application.
func ofApp(name, node string, labels ...string) corev1.Pod {
	p := aPod(corev1.PodRunning, runs())
	p.Namespace, p.Name, p.Labels = "shop", name, map[string]string{}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		p.Labels[key] = value
	}
	p.Spec.NodeName, p.Spec.Containers = node, []corev1.Container{{Name: "first"}, {Name: "second"}}
	return p
}

func TestMember(t *testing.T) {
	p := ofApp("web-1", "node-1")
	if m, err := member(p); err != nil || m.container != "first" || m.node != "node-1" {
		t.Errorf("%+v, %v", m, err)
	}
	p.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": "second"}
	if m, err := member(p); err != nil || m.container != "second" {
		t.Errorf("with a default container: %+v, %v", m, err)
	}
	p.Spec.HostNetwork = true
	if _, err := member(p); err == nil || !strings.Contains(err.Error(), "web-1 has the network of its node") {
		t.Errorf("with the node's network: %v", err)
	}
}

func TestFind(t *testing.T) {
	going := ofApp("web-0", "node-1", "app=web")
	going.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	starting := ofApp("web-00", "node-1", "app=web")
	starting.Status.Phase = corev1.PodPending
	shared := ofApp("shared", "node-1", "app=shared")
	shared.Spec.HostNetwork = true
	f := &fake{pods: []corev1.Pod{ofApp("web-2", "node-1", "app=web"), going, starting,
		ofApp("web-1", "node-1", "app=web"), ofApp("far", "node-2", "app=far"), shared},
		deployments: map[string]string{"shop/web": `{"spec":{"selector":{"matchExpressions":[{"key":"app","operator":"In","values":["web"]}]}}}`}}
	c := f.cluster(t)
	for words, want := range map[string]string{
		"deployment/web":                  "web-1",
		"deployment/web deployment/web:2": "web-1 web-2",
		"app=web:2 pod/web-1":             "web-2 web-1",
		"deployment/web:3":                "error: namespace shop has 2 pods of it that run, not 3: kubectl -n shop get pods -l app in (web)",
		"app=nothing":                     "error: app=nothing: namespace shop has 0 pods of it that run, not 1",
		"deployment/none":                 "error: namespace shop has no such deployment",
		"pod/none":                        "error: pod/none: find it in namespace shop",
		"pod/web-00":                      "error: it does not run: phase Pending",
		"job/web":                         "error: a job has no pods that lockchaos could find",
		"pod/shared":                      "error: pod shared has the network of its node",
		"deployment/web app=far":          "web-1 far",
		"deployment/web:x":                "error: is no number of a pod",
		"!=":                              "error: list the pods of namespace shop",
	} {
		all := strings.Fields(words)
		var got []string
		members, err := c.Find(t.Context(), "shop", all, all)
		for i, m := range members {
			if got = append(got, m.pod.Name); m.Name != all[i] {
				t.Errorf("%s is called %s", all[i], m.Name)
			}
		}
		text := strings.Join(got, " ")
		if err != nil {
			text = "error: " + err.Error()
		}
		refused, isRefused := strings.CutPrefix(want, "error: ")
		if isRefused && (err == nil || !strings.Contains(text, refused)) || !isRefused && text != want {
			t.Errorf("%s: %s, not %s", words, text, want)
		}
	}
}

// Members may be on several nodes, unless something is done to them that is done where they are.
func TestTogether(t *testing.T) {
	s := &scenario{node: Node{Name: "node-1"}}
	var members []Member
	for _, p := range []corev1.Pod{ofApp("near", "node-1"), ofApp("far", "node-2")} {
		m, err := member(p)
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, m)
	}
	if err := s.checkOneNode(members); err != nil {
		t.Error(err)
	}
	if s.Together = "hooks are asked there"; s.checkOneNode(members[:1]) != nil {
		t.Error("one on the right node is refused")
	}
	if err := s.checkOneNode(members); err == nil || !strings.Contains(err.Error(),
		"pod far is on node node-2 and others on node-1, and all must be on one: hooks are asked there") {
		t.Errorf("%v", err)
	}
}
