package kubernetes

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func aNode(name, by string) corev1.Node {
	n := corev1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}}
	if by != "" {
		n.Annotations[cordoned], n.Spec.Unschedulable = by, true
	}
	return n
}

// A drained node takes no pods until it is uncordoned; a budget that keeps the
// pod keeps the node as it was.
func TestDrain(t *testing.T) {
	p := born("web-1", 0)
	f := &fake{pods: []corev1.Pod{p}, nodes: []corev1.Node{aNode("node-1", "")}}
	s, _ := acting(t, f, p)
	s.id = "me"
	s.places.all[0].node = "node-1"
	if a := act(t, s, actDrain); !strings.HasPrefix(a.Said, "node node-1 was cordoned; pod web-1, UID uid of web-1, was evicted") {
		t.Errorf("%+v", a)
	}
	if n := f.nodes[0]; !n.Spec.Unschedulable || n.Annotations[cordoned] != "me" {
		t.Errorf("it is %+v, %v", n.Spec, n.Annotations)
	}
	if a := act(t, s, actUncordon); a.Said != "node node-1 takes pods again" || f.nodes[0].Spec.Unschedulable ||
		len(f.nodes[0].Annotations) != 0 {
		t.Errorf("%+v, and it is %+v", a, f.nodes[0])
	}
	f.pods, f.refuses = []corev1.Pod{p}, 403
	if a := act(t, s, actDrain); a.Forbidden == "" || f.nodes[0].Spec.Unschedulable {
		t.Errorf("%+v, and it is %+v", a, f.nodes[0])
	}
}

// What a run that is over has cordoned is uncordoned by the next one; what others have is left.
func TestUncordonLeft(t *testing.T) {
	f := &fake{nodes: []corev1.Node{aNode("free", ""), aNode("left", "dead"), aNode("used", "alive")}}
	byHand := aNode("by hand", "")
	byHand.Spec.Unschedulable = true
	f.nodes = append(f.nodes, byHand)
	names, err := f.cluster(t).uncordonLeft(t.Context(), map[string]bool{"alive": true})
	if err != nil || !slices.Equal(names, []string{"the cordon of node left"}) {
		t.Errorf("%q, %v", names, err)
	}
	for i, want := range []bool{false, false, true, true} {
		if n := f.nodes[i]; n.Spec.Unschedulable != want {
			t.Errorf("node %s takes no pods: %v", n.Name, !want)
		}
	}
}
