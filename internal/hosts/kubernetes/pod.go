package kubernetes

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
)

// The labels of what we make: whose it is, of which scenario, and what it is there for.
const (
	labelScenario = "lockchaos/scenario"
	labelRole     = "lockchaos/role"

	roleNode  = "node"
	roleSeat  = "seat"
	roleAgent = "agent"
)

const (
	// program is this program in its image, which is also the image's entry point.
	program = "lockchaos"
	// toolsDir is where a node's pod has the program that waits for its
	// addresses, scenarioDir the agent's folder for the scenario.
	toolsDir    = "/lockchaos-tools"
	scenarioDir = "/scenario"
	agentData   = "/data"
	// main is the container of a pod of ours that matters.
	main = "main"
	// nobody is the user of pods that need no other.
	nobody = 65532
	// hostLabel names a node in selectors.
	hostLabel = "kubernetes.io/hostname"
)

// agentCapabilities are what the inner program needs beside what every
// container has; see package hosts.
var agentCapabilities = []corev1.Capability{"SYS_ADMIN", "NET_ADMIN", "NET_RAW", "SYS_PTRACE", "KILL", "SYS_CHROOT"}

// pod is what all pods of a scenario have in common.
func (s *scenario) pod(role, name string) *corev1.Pod {
	none, grace := false, int64(0)
	limit := int64(s.limit().Seconds())
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "lockchaos-" + s.id + "-" + name,
			Labels: map[string]string{labelScenario: s.id, labelRole: role}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{hostLabel: s.node.Name}, RestartPolicy: corev1.RestartPolicyNever,
			AutomountServiceAccountToken: &none, EnableServiceLinks: &none, TerminationGracePeriodSeconds: &grace,
			// Whatever happens to us, it ends some day.
			ActiveDeadlineSeconds: &limit,
		},
	}
}

// restricted puts a pod under the restricted Pod Security Standard, with all its containers.
func restricted(p *corev1.Pod) {
	yes, no, user := true, false, int64(nobody)
	p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user,
		FSGroup:        &user,
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
	for _, all := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range all {
			all[i].SecurityContext = &corev1.SecurityContext{AllowPrivilegeEscalation: &no,
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
		}
	}
}

// memory is a volume in memory.
func memory(name string) corev1.Volume {
	inMemory := &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: inMemory}}
}

// container is the container that matters, of which little is asked so that it
// is placed on a node that has much to do.
func container(image string, command ...string) corev1.Container {
	return corev1.Container{Name: main, Image: image, Command: command, ImagePullPolicy: corev1.PullIfNotPresent,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi")}}}
}

// nodePod is the pod of a server, which waits to be told what to run.
func (s *scenario) nodePod(n Server) *corev1.Pod {
	p := s.pod(roleNode, n.Name)
	tools := corev1.VolumeMount{Name: "tools", MountPath: toolsDir}
	first := container(s.Image, program, podArg, podCopy, toolsDir+"/"+program)
	first.Name, first.VolumeMounts = "tools", []corev1.VolumeMount{tools}
	c := container(n.Image, toolsDir+"/"+program, podArg, podServe)
	c.Stdin, c.StdinOnce, c.WorkingDir = true, true, "/"
	c.VolumeMounts = []corev1.VolumeMount{tools, {Name: "data", MountPath: s.Data}, {Name: "tmp", MountPath: "/tmp"}}
	p.Spec.InitContainers, p.Spec.Containers = []corev1.Container{first}, []corev1.Container{c}
	p.Spec.Volumes = []corev1.Volume{{Name: "tools",
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}, memory("data"), memory("tmp")}
	restricted(p)
	if n.UID != 0 {
		p.Spec.SecurityContext.RunAsUser = &n.UID
	}
	return p
}

// seatPod holds a network and does nothing.
func (s *scenario) seatPod(i int) *corev1.Pod {
	p := s.pod(roleSeat, fmt.Sprintf("seat-%d", i+1))
	p.Spec.Containers = []corev1.Container{container(s.Image, program, podArg, podIdle)}
	restricted(p)
	return p
}

// agentPod is the inner program's, or a helper's on another node. Its container is
// started again when it was killed, to heal. Nothing that becomes of a node ends it.
func (s *scenario) agentPod(node string) *corev1.Pod {
	p := s.pod(roleAgent, roleAgent)
	p.Name = s.agentName(node)
	p.Spec.NodeSelector[hostLabel] = node
	p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	p.Spec.HostPID, p.Spec.RestartPolicy = true, corev1.RestartPolicyOnFailure
	grace := int64(agent.Grace.Seconds()) // what ends it, an eviction say, lets it heal
	p.Spec.TerminationGracePeriodSeconds = &grace
	c := container(s.Image, append([]string{program}, s.Args...)...)
	name, data, _ := strings.Cut(hosts.AgentEnv(agentData), "=")
	c.Env = []corev1.EnvVar{{Name: name, Value: data}, {Name: agentVar, Value: "1"}, {Name: "HOME", Value: "/tmp"}}
	// Its input ends when our connection does, even by our death.
	c.Stdin, c.StdinOnce = true, true
	c.SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: agentCapabilities},
		RunAsUser: new(int64)}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "scenario", MountPath: scenarioDir},
		{Name: "data", MountPath: agentData}, {Name: "tmp", MountPath: "/tmp"}}
	p.Spec.Containers = []corev1.Container{c}
	p.Spec.Volumes = []corev1.Volume{memory("scenario"), memory("data"), memory("tmp")}
	return p
}
