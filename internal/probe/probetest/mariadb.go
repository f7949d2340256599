package probetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// mariadbUsers makes the database of locks, and the users: me may do anything there, reader may
// not write.
const mariadbUsers = "CREATE DATABASE locks;\nCREATE USER me@'%' IDENTIFIED BY '" + Secret + "' REQUIRE SSL;\n" +
	"GRANT ALL ON locks.* TO me@'%';\nCREATE USER reader@'%' IDENTIFIED BY '" + Secret + "';\nGRANT SELECT ON locks.* TO reader@'%';\n"

// MariaDB starts a MariaDB with TLS and users, and returns its port on this machine. Its
// certificate is for the name.
func MariaDB(t testing.TB, ca *authority.Authority, name string) (port string) {
	t.Helper()
	cert, key := ca.Issue(t, name)
	install, program := needed.Program(t, "mariadb-install-db"), needed.Program(t, "mariadbd", "/usr/sbin/mariadbd")
	dir := t.TempDir()
	data, users := filepath.Join(dir, "data"), filepath.Join(dir, "users.sql")
	if err := os.WriteFile(users, []byte(mariadbUsers), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal",
		"--skip-test-db", "--innodb-log-file-size=4M").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	port = FreePort(t)
	Start(t, "127.0.0.1:"+port, exec.Command(program, "--no-defaults", "--user=root", "--datadir="+data, "--bind-address=127.0.0.1",
		"--port="+port, "--socket="+filepath.Join(dir, "s"), "--init-file="+users, "--skip-name-resolve", "--skip-log-bin",
		"--innodb-buffer-pool-size=16M", "--innodb-log-file-size=4M", "--max-connections=500", "--wait-timeout=60",
		"--tcp-keepalive-time=2", "--tcp-keepalive-interval=1", "--tcp-keepalive-probes=2",
		"--ssl-cert="+cert, "--ssl-key="+key, "--ssl-ca="+ca.File))
	return port
}
