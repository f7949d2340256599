package kubernetes

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/lockchaos/lockchaos/internal/hosts/commands"
)

// acting is a scenario on an application of one pod, and what it says on standard error.
func acting(t *testing.T, f *fake, p corev1.Pod) (*scenario, *bytes.Buffer) {
	t.Helper()
	said := &bytes.Buffer{}
	s := &scenario{Cluster: f.cluster(t), places: newPlaces([]Member{{Name: "web", Client: true, pod: p}})}
	s.Stderr = said
	return s, said
}

// act does something to the only pod, and returns what the inner program is answered.
func act(t *testing.T, s *scenario, what string) acted {
	t.Helper()
	ended, err := s.do(t.Context(), commands.Ask{Node: "web", Act: what})
	if err != nil {
		t.Fatal(err)
	}
	var a acted
	if err := json.Unmarshal(ended.Stdout, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// What was done to a pod is read back from the cluster.
func TestActs(t *testing.T) {
	for what, want := range map[string]string{
		actDelete: "pod web-1, UID uid of web-1, was deleted, and the cluster knows it no more",
		actForce:  "pod web-1, UID uid of web-1, was deleted with a grace of 0 s, and the cluster knows it no more",
		actEvict:  "pod web-1, UID uid of web-1, was evicted (the API answered 201), and the cluster knows it no more",
	} {
		p := born("web-1", 0)
		s, _ := acting(t, &fake{pods: []corev1.Pod{p}}, p)
		if a := act(t, s, what); a.Said != want || a.Forbidden != "" {
			t.Errorf("%s: %+v", what, a)
		}
		if a := act(t, s, actReplaced); !strings.HasSuffix(a.Said, "its UID was gone, and it has no controller that would replace it") {
			t.Errorf("%s: %+v", what, a)
		}
	}
}

// A pod that waits for its end says until when.
func TestActWithGrace(t *testing.T) {
	p := born("web-1", 0)
	grace := int64(30)
	s, _ := acting(t, &fake{pods: []corev1.Pod{with(leaving(p), func(p *corev1.Pod) { p.DeletionGracePeriodSeconds = &grace })}}, p)
	said, err := s.readBack(t.Context(), p, "deleted")
	if err != nil || said != "pod web-1, UID uid of web-1, was deleted, and has the deletionTimestamp 1970-01-01T00:16:40Z, a grace of 30 s" {
		t.Errorf("%q, %v", said, err)
	}
	s, _ = acting(t, &fake{pods: []corev1.Pod{p}}, p)
	if said, err := s.readBack(t.Context(), p, "deleted"); err == nil {
		t.Errorf("a pod that goes on was %q", said)
	}
}

// What the cluster forbids is said, and is no error of the run's.
func TestActsThatAreForbidden(t *testing.T) {
	p := born("web-1", 0)
	other := with(p, func(p *corev1.Pod) { p.UID = "another" })
	for name, c := range map[string]struct {
		pods   []corev1.Pod
		refuse int
		want   string
	}{
		"it may not":             {[]corev1.Pod{p}, http.StatusForbidden, "it is not allowed"},
		"another pod":            {[]corev1.Pod{other}, http.StatusConflict, "the pod is another one by now"},
		"there is none of it":    {nil, 0, "the pod is another one by now"},
		"a budget is in the way": {[]corev1.Pod{p}, http.StatusTooManyRequests, "it is not allowed"},
	} {
		s, said := acting(t, &fake{pods: c.pods, refuses: c.refuse}, p)
		if a := act(t, s, actEvict); !strings.Contains(a.Forbidden, c.want) || a.Said != "" ||
			!strings.Contains(said.String(), "the cluster: evict of pod web-1: ") {
			t.Errorf("%s: %+v; it said %q", name, a, said)
		}
	}
}
