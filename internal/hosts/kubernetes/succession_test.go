package kubernetes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// begun is when a run on an application began.
var begun = time.Unix(1000, 0)

// born is a pod of an application, made so many seconds after the run began.
func born(name string, after int64) corev1.Pod {
	p := ofApp(name, "node-1", "app=web")
	p.UID, p.CreationTimestamp = types.UID("uid of "+name), metav1.Unix(begun.Unix()+after, 0)
	return p
}

func leaving(p corev1.Pod) corev1.Pod {
	p.DeletionTimestamp = &metav1.Time{Time: begun}
	return p
}

// Another pod takes the place of one that ends, once, in the order in which
// they came; who was there before takes none.
func TestSuccession(t *testing.T) {
	from := source{namespace: "shop", selector: "app=web"}
	var members []Member
	for _, name := range []string{"web", "web-2"} {
		members = append(members, Member{Name: name, Client: true, pod: born("first-"+name, -9), source: from})
	}
	members = append(members, Member{Name: "redis", pod: born("redis", -9), source: source{namespace: "shop", name: "redis"}})
	p := newPlaces(members)
	p.since = begun
	a, b, third := members[0].pod, members[1].pod, born("third", -5)
	starting := with(born("c", 2), func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending })
	for i, c := range []struct {
		pods []corev1.Pod
		want string
	}{
		{[]corev1.Pod{a, b, third}, ""},
		{[]corev1.Pod{a, b, third, born("surge", 1)}, ""}, // nobody's place is free
		{[]corev1.Pod{leaving(a), b, third, starting}, "-web"},
		// while the one before runs still
		{[]corev1.Pod{leaving(a), b, third, born("c", 2)}, "web~2=c"},
		{[]corev1.Pod{leaving(a), b, born("c", 2), born("d", 3)}, ""},
		{[]corev1.Pod{b, leaving(born("c", 2)), leaving(born("d", 3))}, "-web~2"},
		{[]corev1.Pod{born("e", 4), born("f", 5)}, "-web-2 web-2~2=e web~3=f"},
		{[]corev1.Pod{born("e", 4), born("f", 5)}, ""},
	} {
		leave, come := p.update(c.pods, from)
		var got []string
		for _, h := range leave {
			got = append(got, "-"+h.Name)
		}
		for _, h := range come {
			got = append(got, fmt.Sprintf("%s=%s", h.Name, h.pod.Name))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("step %d: %q, not %q", i, text, c.want)
		}
	}
	if next, ok := p.after("web"); !ok || next.Name != "web~2" || p.before(p.all[3]) != "web" {
		t.Errorf("after web comes %+v, %v", next, ok)
	}
	if leave, come := p.update(nil, source{namespace: "shop", name: "redis"}); len(leave)+len(come) != 0 {
		t.Error("a pod that is no client's is followed")
	}
}
