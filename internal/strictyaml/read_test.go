package strictyaml_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/strictyaml"
)

// TestReadFile reads a file of the greatest length, and refuses one without an end.
func TestReadFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "long.yaml")
	if err := os.WriteFile(file, make([]byte, strictyaml.Most), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := strictyaml.ReadFile(file); err != nil || len(text) != strictyaml.Most {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if _, err := strictyaml.ReadFile("/dev/zero"); err == nil || !strings.Contains(err.Error(), "/dev/zero is longer than 4 MiB") {
		t.Error(err)
	}
	if _, err := strictyaml.ReadFile(file + ".not"); !os.IsNotExist(err) {
		t.Error(err)
	}
}
