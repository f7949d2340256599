package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// filled is a file of testdata with the namespace in it.
func (c *cluster) filled(name, namespace string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		c.t.Fatal(err)
	}
	file := filepath.Join(c.t.TempDir(), name)
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "NAMESPACE", namespace)), 0o644); err != nil {
		c.t.Fatal(err)
	}
	return file
}

// TestHooksThatAreCommands asks an application by commands in its pods: a lock
// in Redis whose lease no freeze prolongs, and a store that takes everything.
func TestHooksThatAreCommands(t *testing.T) {
	c, app := place(t), connect(t)
	c.kubectl("apply", "-f", c.filled("hooks-app.yaml", app.namespace))
	for _, name := range []string{"statefulset/redis", "deployment/app"} {
		c.kubectl("-n", app.namespace, "rollout", "status", name, "--timeout", limit.String())
	}
	pods, err := c.client.CoreV1().Pods(app.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 3 {
		t.Fatalf("%d pods, not 3: %v", len(pods.Items), err)
	}
	c.come(c.run(c.filled("hooks.yaml", app.namespace)), map[string]string{"hooks/pause-holder": "corrupted"})
}
