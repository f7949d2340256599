package probetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// ordinary has a command run as an ordinary user: PostgreSQL does not run as root.
func ordinary(t testing.TB, cmd *exec.Cmd, folders ...string) *exec.Cmd {
	t.Helper()
	const nobody = 65534
	if os.Geteuid() == 0 {
		for _, dir := range folders {
			if err := os.Chown(dir, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	cmd.Dir = "/"
	return cmd
}

// Postgres starts a PostgreSQL with TLS alone and passwords by SCRAM, and returns its port on this
// machine. Its certificate is for the name. The user me owns it.
func Postgres(t testing.TB, ca *authority.Authority, name string, settings ...string) (port string) {
	t.Helper()
	cert, key := ca.Issue(t, name)
	bin, err := backends.FindPostgres()
	needed.Be(t, err)
	dir, err := os.MkdirTemp("", "lockchaos-postgres-") // where another user may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data, secret := filepath.Join(dir, "data"), filepath.Join(dir, "secret")
	own := []string{filepath.Join(dir, "cert"), filepath.Join(dir, "key")} // it may not enter the test's folder
	for i, from := range []string{cert, key} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(own[i], text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(secret, []byte(Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := ordinary(t, exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "me", "--auth", "scram-sha-256", "--pwfile", secret,
		"--no-sync"), dir, secret, own[0], own[1]).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rules := filepath.Join(data, "pg_hba.conf")
	if err := os.WriteFile(rules, []byte("hostssl all all all scram-sha-256\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	port = FreePort(t)
	cmd := ordinary(t, exec.Command(filepath.Join(bin, "postgres"), append([]string{"-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "ssl=on", "-c", "ssl_cert_file=" + own[0], "-c", "ssl_key_file=" + own[1]}, settings...)...))
	Start(t, "127.0.0.1:"+port, cmd)
	return port
}
