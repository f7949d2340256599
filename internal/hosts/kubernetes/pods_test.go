package kubernetes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// aPod is one of a phase, with containers in these states.
func aPod(phase corev1.PodPhase, states ...corev1.ContainerState) corev1.Pod {
	var p corev1.Pod
	p.Name, p.Status.Phase, p.Status.PodIP = "pod", phase, "10.0.0.1"
	for _, s := range states {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: main, Image: "some/image", State: s})
	}
	return p
}

func runs() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}

func waits(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "for a cause"}}
}

func terminated(code int32, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message}}
}

// with changes a pod.
func with(p corev1.Pod, change func(*corev1.Pod)) corev1.Pod {
	change(&p)
	return p
}

func TestRunning(t *testing.T) {
	for name, c := range map[string]struct {
		pod  corev1.Pod
		runs bool
		why  string // that it does not
		err  string // that it never will
	}{
		"it runs":            {pod: aPod(corev1.PodRunning, runs()), runs: true},
		"two containers run": {pod: aPod(corev1.PodRunning, runs(), runs()), runs: true},
		"one of two runs":    {pod: aPod(corev1.PodRunning, runs(), waits("ContainerCreating")), why: "phase Running"},
		"it has no address": {pod: with(aPod(corev1.PodRunning, runs()), func(p *corev1.Pod) { p.Status.PodIP = "" }),
			why: "phase Running"},
		"it is being made": {pod: aPod(corev1.PodPending, waits("ContainerCreating")), why: "phase Pending"},
		"its init container runs": {pod: with(aPod(corev1.PodPending, waits("PodInitializing")), func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{State: runs()}}
		}), why: "phase Pending"},
		"no node takes it": {pod: with(aPod(corev1.PodPending), func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
				Reason: "Unschedulable", Message: "0/2 nodes are available"}}
		}), why: "Unschedulable: 0/2 nodes are available"},
		"the image is not there": {pod: aPod(corev1.PodPending, waits("ErrImageNeverPull")),
			err: "pod pod: image some/image: ErrImageNeverPull: for a cause"},
		"the image can't be had":   {pod: aPod(corev1.PodPending, waits("ImagePullBackOff")), err: "ImagePullBackOff"},
		"the image has a bad name": {pod: aPod(corev1.PodPending, waits("InvalidImageName")), err: "InvalidImageName"},
		"the image of its init container can't be had": {pod: with(aPod(corev1.PodPending, waits("PodInitializing")), func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Image: "the/tools", State: waits("ErrImagePull")}}
		}), err: "image the/tools: ErrImagePull"},
		"it ends again and again": {pod: with(aPod(corev1.PodRunning, waits("CrashLoopBackOff")), func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].LastTerminationState = terminated(1, "no such file\n")
		}), err: "CrashLoopBackOff: for a cause; it said: no such file"},
		"it has failed": {pod: aPod(corev1.PodFailed, terminated(3, "out of luck")),
			err: "container main ended with status 3 out of luck"},
		"it has succeeded": {pod: aPod(corev1.PodSucceeded, terminated(0, "")), err: "container main ended with status 0"},
		"it was evicted": {pod: with(aPod(corev1.PodFailed),
			func(p *corev1.Pod) { p.Status.Reason, p.Status.Message = "Evicted", "the node was low on memory" }),
			err: "Evicted the node was low on memory"},
		"it has failed, and nothing is known": {pod: aPod(corev1.PodFailed), err: "phase Failed"},
	} {
		yes, why, err := running(c.pod)
		if yes != c.runs || why != c.why {
			t.Errorf("%s: %v, %q, not %v, %q", name, yes, why, c.runs, c.why)
		}
		if said := errorText(err); (said == "") != (c.err == "") || !strings.Contains(said, c.err) {
			t.Errorf("%s: the error is %q, not %q", name, said, c.err)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestStatusOf(t *testing.T) {
	again := func(p corev1.Pod, first corev1.ContainerState) corev1.Pod {
		return with(p, func(p *corev1.Pod) { p.Status.ContainerStatuses[0].LastTerminationState = first })
	}
	for name, c := range map[string]struct {
		pod    corev1.Pod
		status int
		over   bool
	}{
		"it is about to start":              {pod: aPod(corev1.PodPending)},
		"it runs":                           {pod: aPod(corev1.PodRunning, runs())},
		"it was killed, and heals":          {pod: again(aPod(corev1.PodRunning, runs()), terminated(137, ""))},
		"it was killed, and is to be begun": {pod: again(aPod(corev1.PodRunning, waits("CrashLoopBackOff")), terminated(137, ""))},
		"its container ended, its pod not":  {pod: aPod(corev1.PodRunning, terminated(0, ""))},
		"it has ended well":                 {pod: aPod(corev1.PodSucceeded, terminated(0, "")), over: true},
		"it was killed, and has healed": {pod: again(aPod(corev1.PodSucceeded, terminated(0, "")),
			terminated(137, "")), status: 137, over: true},
		"it has failed": {pod: aPod(corev1.PodFailed, terminated(4, "")), status: 4, over: true},
		"it failed, and failed to heal": {pod: again(aPod(corev1.PodFailed, terminated(5, "")), terminated(4, "")),
			status: 4, over: true},
		"its time was over":                 {pod: aPod(corev1.PodFailed, terminated(0, "")), status: 1, over: true},
		"it has ended, and nothing is told": {pod: aPod(corev1.PodSucceeded)},
	} {
		if status, over := statusOf(c.pod); status != c.status || over != c.over {
			t.Errorf("%s: %d, %v, not %d, %v", name, status, over, c.status, c.over)
		}
	}
}

func TestStartsOf(t *testing.T) {
	for id, want := range map[string]string{"containerd://abc": "abc", "cri-o://abc": "abc", "abc": "", "": ""} {
		p := with(aPod(corev1.PodRunning, runs()), func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].ContainerID, p.Status.ContainerStatuses[0].RestartCount = id, 2
		})
		if got, starts := startsOf(p, main); got != want || starts != 2 {
			t.Errorf("of %q it is %q, after %d", id, got, starts)
		}
		if got, _ := startsOf(p, "another"); got != "" {
			t.Errorf("of another container it is %q", got)
		}
		p.Status.ContainerStatuses[0].State = terminated(0, "")
		if got, _ := startsOf(p, main); got != "" {
			t.Errorf("of one that has ended it is %q", got)
		}
	}
}
