package runs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCrashIsTold: when lockchaos itself crashes inside, the reason says so, and how.
func TestCrashIsTold(t *testing.T) {
	s := &Run{Settings: Settings{Tool: NewTool("", "lockchaos", nil)}}
	log := filepath.Join(t.TempDir(), "harness.log")
	ended := exec.Command("sh", "-c", "exit 2").Run()
	var exit *exec.ExitError
	if !errors.As(ended, &exit) {
		t.Fatal(ended)
	}
	for text, defect := range map[string]bool{"started\npanic: out of luck\n\ngoroutine 1": true,
		"fatal error: out of memory": true, "no panic: all is well": false} {
		if err := os.WriteFile(log, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got := s.reason(ended, "", log, "the end").Error()
		if strings.Contains(got, "a defect in lockchaos itself") != defect || !strings.Contains(got, log) || defect &&
			!strings.Contains(got, "out of") {
			t.Errorf("%q: %s", text, got)
		}
	}
}
