package kubernetes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ofScenario is a pod that we made.
func ofScenario(scenario, role string, phase corev1.PodPhase) corev1.Pod {
	p := aPod(phase)
	p.Namespace, p.Name = DefaultNamespace, scenario+"-"+role
	if role == roleAgent {
		p.Namespace += agentSuffix
	}
	p.Labels = map[string]string{labelScenario: scenario, labelRole: role}
	return p
}

func TestWhatIsOver(t *testing.T) {
	for name, c := range map[string]struct {
		agents []corev1.PodPhase
		going  bool // the agent was deleted, and is still there
		over   bool
	}{
		"its agent is about to start": {agents: []corev1.PodPhase{corev1.PodPending}},
		"its agent runs":              {agents: []corev1.PodPhase{corev1.PodRunning}},
		"nothing is known of it":      {agents: []corev1.PodPhase{corev1.PodUnknown}},
		"its agent has ended well":    {agents: []corev1.PodPhase{corev1.PodSucceeded}, over: true},
		"its agent has failed":        {agents: []corev1.PodPhase{corev1.PodFailed}, over: true},
		"its agent was deleted":       {agents: []corev1.PodPhase{corev1.PodRunning}, going: true, over: true},
		"its agent is no more":        {over: true},
	} {
		pods := []corev1.Pod{ofScenario("x", roleNode, corev1.PodRunning), ofScenario("x", roleSeat, corev1.PodRunning),
			ofScenario("living", roleNode, corev1.PodSucceeded)}
		agents := []corev1.Pod{ofScenario("living", roleAgent, corev1.PodRunning)}
		for _, phase := range c.agents {
			agents = append(agents, ofScenario("x", roleAgent, phase))
		}
		if c.going {
			agents[1].DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
		}
		var want, got []string
		if c.over {
			want = []string{"x-node", "x-seat", "x-agent"}[:2+len(c.agents)]
		}
		for _, p := range whatIsOver(pods, agents) {
			got = append(got, p.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v is over, not %v", name, got, want)
		}
	}
}

// TestCleanRemovesAgentsLast wants what is over to be removed, agents after their
// pods: for as long as pods are there, it can be told whether they are needed.
func TestCleanRemovesAgentsLast(t *testing.T) {
	f := &fake{}
	for i := range 3 {
		id := fmt.Sprintf("over%d", i)
		f.pods = append(f.pods, ofScenario(id, roleAgent, corev1.PodSucceeded),
			ofScenario(id, roleNode, corev1.PodRunning), ofScenario(id, roleSeat, corev1.PodRunning))
	}
	foreign := ofScenario("", "", corev1.PodRunning)
	foreign.Labels = nil
	living := []corev1.Pod{ofScenario("living", roleAgent, corev1.PodRunning), ofScenario("living", roleNode, corev1.PodRunning), foreign}
	f.pods = append(f.pods, living...)
	removed, err := f.cluster(t).Clean(t.Context())
	if err != nil || len(removed) != 9 {
		t.Errorf("removed %v, %v", removed, err)
	}
	if !slices.EqualFunc(f.pods, living, func(a, b corev1.Pod) bool { return a.Name == b.Name }) {
		t.Errorf("%d pods are left", len(f.pods))
	}
	for i, name := range f.deleted {
		if agent := strings.HasPrefix(name, DefaultNamespace+agentSuffix+"/"); agent != (i >= 6) {
			t.Errorf("they were removed in the order %v", f.deleted)
			break
		}
	}
	if removed, err := f.cluster(t).Clean(t.Context()); err != nil || len(removed) > 0 {
		t.Errorf("once more: removed %v, %v", removed, err)
	}
}
