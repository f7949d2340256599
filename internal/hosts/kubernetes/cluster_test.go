package kubernetes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestHas(t *testing.T) {
	both := []Node{
		{Name: "1", Images: []string{"docker.io/lockchaos-local/redis:latest", "registry.example:5000/etcd:v3",
			"docker.io/library/only:latest"}},
		{Name: "2", Images: []string{"docker.io/lockchaos-local/redis:latest", "registry.example:5000/etcd:v3",
			"docker.io/library/redis@sha256:12"}},
	}
	for image, want := range map[string]bool{
		"lockchaos-local/redis":         true,
		"lockchaos-local/redis:latest":  true,
		"lockchaos-local/redis:7":       false,
		"local/redis":                   false, // a part of a name is none
		"redis":                         true,  // as docker.io/lockchaos-local/redis ends
		"etcd:v3":                       true,
		"registry.example:5000/etcd:v3": true,
		"registry.example:5000/etcd":    false, // that has no tag; the colon is the port's
		"only":                          false, // on one of them
		"redis@sha256:12":               false,
		"nothing":                       false,
	} {
		if got := Has(both, image); got != want {
			t.Errorf("%s: %v", image, got)
		}
	}
	if !Has(both[1:], "redis@sha256:12") {
		t.Error("an image is not known by its digest")
	}
}

func TestTakesPods(t *testing.T) {
	ready := func(change func(*corev1.Node)) corev1.Node {
		var n corev1.Node
		n.Status.NodeInfo.OperatingSystem = "linux"
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		change(&n)
		return n
	}
	taint := func(effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "x", Effect: effect}} }
	}
	for name, c := range map[string]struct {
		change func(*corev1.Node)
		want   bool
	}{
		"it is Ready":            {func(*corev1.Node) {}, true},
		"it prefers no pods":     {taint(corev1.TaintEffectPreferNoSchedule), true},
		"a taint keeps new ones": {taint(corev1.TaintEffectNoSchedule), false},
		"a taint keeps all away": {taint(corev1.TaintEffectNoExecute), false},
		"it is cordoned":         {func(n *corev1.Node) { n.Spec.Unschedulable = true }, false},
		"it runs Windows":        {func(n *corev1.Node) { n.Status.NodeInfo.OperatingSystem = "windows" }, false},
		"it is not Ready":        {func(n *corev1.Node) { n.Status.Conditions[1].Status = corev1.ConditionFalse }, false},
		"it is Unknown":          {func(n *corev1.Node) { n.Status.Conditions[1].Status = corev1.ConditionUnknown }, false},
		"nothing is said of it":  {func(n *corev1.Node) { n.Status.Conditions = nil }, false},
	} {
		if got := takesPods(ready(c.change)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
