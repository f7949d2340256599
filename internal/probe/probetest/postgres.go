package probetest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/endpoint/pgurl"
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
// machine. Its certificate is for the name. The user me owns it, reader may make no tables.
func Postgres(t testing.TB, ca *authority.Authority, name string, settings ...string) (port string) {
	t.Helper()
	bin, err := backends.FindPostgres()
	needed.Be(t, err)
	dir, own := folder(t, ca, name)
	data, secret := filepath.Join(dir, "data"), filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte(Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := ordinary(t, exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "me", "--auth", "scram-sha-256", "--pwfile", secret,
		"--no-sync"), dir, secret, own[0], own[1]).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rules := filepath.Join(data, "pg_hba.conf")
	if err := os.WriteFile(rules, []byte("hostssl all,replication all all scram-sha-256\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	port = FreePort(t)
	cmd := ordinary(t, exec.Command(filepath.Join(bin, "postgres"), append([]string{"-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "ssl=on", "-c", "ssl_cert_file=" + own[0], "-c", "ssl_key_file=" + own[1]}, settings...)...))
	Start(t, "127.0.0.1:"+port, cmd)
	serves(t, ca, name, port)
	return port
}

// Standby starts a PostgreSQL that follows the one at the port, and returns its own.
func Standby(t testing.TB, ca *authority.Authority, name, primary string) (port string) {
	t.Helper()
	bin, err := backends.FindPostgres()
	needed.Be(t, err)
	dir, own := folder(t, ca, name)
	data := filepath.Join(dir, "data")
	copying := ordinary(t, exec.Command(filepath.Join(bin, "pg_basebackup"), "-d", "host=127.0.0.1 port="+primary+" user=me sslmode=require", "-D", data,
		"-R", "-X", "stream", "-c", "fast", "--no-sync"), dir, own[0], own[1])
	copying.Env = append(os.Environ(), "PGPASSWORD="+Secret, "HOME="+dir) // an ordinary user may not look into another's
	if out, err := copying.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	port = FreePort(t)
	following := ordinary(t, exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "ssl=on", "-c", "ssl_cert_file="+own[0], "-c", "ssl_key_file="+own[1]))
	following.Env = copying.Env
	Start(t, "127.0.0.1:"+port, following)
	return port
}

// folder makes a folder where an ordinary user may enter, who may not enter the test's, with a
// certificate for the name and its key.
func folder(t testing.TB, ca *authority.Authority, name string) (dir string, own []string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "lockchaos-server-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cert, key := ca.Issue(t, name)
	for _, file := range []string{cert, key} {
		text, err := os.ReadFile(file)
		own = append(own, filepath.Join(dir, filepath.Base(file)))
		if err == nil {
			err = os.WriteFile(own[len(own)-1], text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, own
}

// PgBouncer starts a PgBouncer with TLS before the server at the port, which pools by session,
// transaction or statement, and returns its port. Its certificate is for the name. pool is how many
// sessions of the server it has.
func PgBouncer(t testing.TB, ca *authority.Authority, name, server, mode string, pool int) (port string) {
	t.Helper()
	program, err := backends.FindPgBouncer()
	needed.Be(t, err)
	dir, own := folder(t, ca, name)
	port = FreePort(t)
	users, config := filepath.Join(dir, "users.txt"), filepath.Join(dir, "pgbouncer.ini")
	for file, text := range map[string]string{users: "\"me\" \"" + Secret + "\"\n", config: "[databases]\n* = host=127.0.0.1 port=" + server +
		"\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " + port + "\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = " + users +
		"\nserver_tls_sslmode = require\nclient_tls_sslmode = require\nclient_tls_cert_file = " + own[0] + "\nclient_tls_key_file = " + own[1] +
		"\npool_mode = " + mode + "\ndefault_pool_size = " + strconv.Itoa(pool) + "\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	Start(t, "127.0.0.1:"+port, ordinary(t, exec.Command(program, config), dir, users, config, own[0], own[1]))
	return port
}

// Pgpool starts a pgpool-II with TLS before the server at the port, and returns its port. Its
// certificate is for the name. settings are lines of its configuration.
func Pgpool(t testing.TB, ca *authority.Authority, name, server string, settings ...string) (port string) {
	t.Helper()
	program := needed.Program(t, "pgpool")
	dir, own := folder(t, ca, name)
	port = FreePort(t)
	config, rules, users := filepath.Join(dir, "pgpool.conf"), filepath.Join(dir, "pool_hba.conf"), filepath.Join(dir, "pool_passwd")
	lines := append([]string{"backend_clustering_mode = 'raw'", "listen_addresses = '127.0.0.1'", "port = " + port, "pcp_port = " + FreePort(t),
		"pcp_listen_addresses = '127.0.0.1'", "unix_socket_directories = '" + dir + "'", "socket_dir = '" + dir + "'", "pcp_socket_dir = '" + dir + "'", "wd_ipc_socket_dir = '" + dir + "'",
		"pid_file_name = '" + filepath.Join(dir, "pid") + "'", "logdir = '" + dir + "'", "memqcache_oiddir = '" + dir + "'", "num_init_children = 8", "max_pool = 1",
		"backend_hostname0 = '127.0.0.1'", "backend_port0 = " + server, "enable_pool_hba = on", "pool_passwd = 'pool_passwd'", "ssl = on",
		"ssl_cert = '" + own[0] + "'", "ssl_key = '" + own[1] + "'"}, settings...)
	for file, text := range map[string]string{config: strings.Join(lines, "\n") + "\n", rules: "hostssl all all all scram-sha-256\n", users: "me:TEXT" + Secret + "\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	Start(t, "127.0.0.1:"+port, ordinary(t, exec.Command(program, "-n", "-f", config, "-a", rules), dir, config, rules, users, own[0], own[1]))
	return port
}

// serves waits until the server serves, which it does a while after it listens, and makes reader
// and the database locks.
func serves(t testing.TB, ca *authority.Authority, name, port string) {
	t.Helper()
	at, err := endpoint.Parse("postgres://me:pass%2Fword@" + name + ":" + port + "/postgres?sslmode=verify-full")
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgurl.Config(at.With(endpoint.Files{CACert: ca.File}).Address(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	config.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"127.0.0.1"}, nil }
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
	defer cancel()
	for {
		conn, err := pgx.ConnectConfig(ctx, config)
		if err == nil {
			defer conn.Close(ctx)
			if _, err = conn.Exec(ctx, "CREATE ROLE reader LOGIN PASSWORD '"+Secret+"'"); err == nil {
				_, err = conn.Exec(ctx, "CREATE DATABASE locks OWNER me")
			}
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
