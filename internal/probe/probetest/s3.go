package probetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/hosts/cache"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// S3 starts an object store with TLS and the bucket locks, and returns its port on this machine.
// Its certificate is for the name. Its key is me.
func S3(t testing.TB, ca *authority.Authority, name string) (port string) {
	t.Helper()
	needed.Later(t, "an object store that must be built")
	program, err := cache.Find("servers", "versitygw")
	if program == "" && err == nil {
		program = needed.Program(t, "versitygw")
	}
	needed.Be(t, err)
	cert, key := ca.Issue(t, name)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "locks"), 0o755); err != nil {
		t.Fatal(err)
	}
	port = FreePort(t)
	Start(t, "127.0.0.1:"+port, exec.Command(program, "--access", "me", "--secret", Secret, "--port", "127.0.0.1:"+port, "--cert", cert,
		"--key", key, "--quiet", "posix", dir))
	return port
}
