package backends

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockchaos/lockchaos/internal/logins"
)

// PostgresVar names the environment variable that says in which folder postgres and initdb are.
const PostgresVar = "LOCKCHAOS_POSTGRES"

const (
	postgresPort = 5432
)

var postgresProgram = &Program{
	Name: "postgres", Image: "postgres:18", Fix: "apt-get install postgresql, or set " + PostgresVar +
		" to the folder of postgres and initdb",
	found: func(ctx context.Context) (string, error) {
		bin, err := FindPostgres()
		if err != nil {
			return "", err
		}
		return says(ctx, filepath.Join(bin, "postgres"), "--version")
	},
	requests: postgresRequests,
	// SSLRequest, which needs no user:
	// https://www.postgresql.org/docs/current/protocol-message-formats.html
	speech: speech{string(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, 80877103)), func(answer []byte) error {
		if answer[0] == 'S' || answer[0] == 'N' || answer[0] == 'E' {
			return nil
		}
		return errForeign
	}},
}

var postgres = Kind{
	Name:      "postgres",
	About:     "one PostgreSQL server as installed on this machine, its database made anew for each run",
	Nodes:     []NodeSpec{{Name: "postgres-1", Program: postgresProgram, Port: postgresPort}},
	Notes:     []string{"PostgreSQL runs with fsync=off, its data lies in memory; the private network is trusted, without passwords."},
	WallClock: true, // of its own leases there are none: those of tables are rows with a time
	office:    office{"primary", votePostgres},
	expirer:   expirer{end: expirePostgres},
	refuser:   postgresRefuser,
	task:      postgresTask,
	ready:     each((*Node).awaitPostgres),
	back:      (*Node).awaitPostgres,
}

// postgresTask makes a database cluster and runs a server on it. Nothing of it leaves the data
// folder: no socket in /tmp, no shared memory in /dev/shm, which belong to everyone on the machine.
func postgresTask(_ Kind, n NodeSpec, p Place) (Task, error) {
	cluster, access := p.Data+"/cluster", p.Data+"/pg_hba.conf"
	create := []string{"initdb", "--pgdata", cluster, "--username", logins.PostgresUser, "--auth", "trust", "--no-locale",
		"--encoding", "UTF8",
		"--wal-segsize", "1", "--no-sync", "--no-instructions"}
	serve := []string{"postgres", "-D", cluster}
	commit := "off"
	if p.Durable {
		// else what was committed in the last fraction of a second would still
		// be in the server's memory
		commit = "on"
	}
	for _, setting := range []string{
		"listen_addresses=" + p.Listen, "port=" + strconv.Itoa(n.Port), "hba_file=" + access,
		"unix_socket_directories=",
		"max_connections=200", "shared_buffers=16MB", "dynamic_shared_memory_type=mmap", "huge_pages=off",
		"fsync=off", "full_page_writes=off", "synchronous_commit=" + commit, "wal_level=minimal", "max_wal_senders=0",
		"max_wal_size=64MB",
		"min_wal_size=8MB", "jit=off", "logging_collector=off", "log_line_prefix=%m [%p] ",
	} {
		serve = append(serve, "-c", setting)
	}
	t := Task{Files: map[string]string{"pg_hba.conf": "host all all samenet trust\n"}}
	if !p.Contained {
		t.Files["pg_hba.conf"] = "host all " + accountUser + " samenet scram-sha-256\n" + t.Files["pg_hba.conf"]
		t.account = accountOf(logins.PostgresDatabase)
	}
	if p.Contained {
		t.Args, t.Before = postgresFound(serve), [][]string{postgresFound(create)}
		t.User, t.UID = "postgres", 999 // it refuses to run as root
		return t, nil
	}
	bin, err := FindPostgres()
	if err != nil {
		return Task{}, err
	}
	create[0], serve[0] = filepath.Join(bin, create[0]), filepath.Join(bin, serve[0])
	t.Args, t.Before = serve, [][]string{create}
	return t, nil
}

// postgresFound finds a program of PostgreSQL in an image: the project's own
// has them on PATH, Debian's packages do not.
func postgresFound(command []string) []string {
	const script = `for bin in /usr/lib/postgresql/*/bin; do if [ -d "$bin" ]; then PATH="$PATH:$bin"; fi; done; exec "$0" "$@"`
	return append([]string{"sh", "-c", script}, command...)
}

// FindPostgres returns the folder with the programs of the PostgreSQL on this machine:
// that of LOCKCHAOS_POSTGRES, the newest of Debian's packages, or the one on PATH.
func FindPostgres() (bin string, err error) {
	if bin := os.Getenv(PostgresVar); bin != "" {
		if err := bothIn(bin); err != nil {
			return "", fmt.Errorf("%s=%s: %w; give the folder of postgres and initdb", PostgresVar, bin, err)
		}
		return bin, nil
	}
	newest := -1
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well-formed
	for _, dir := range found {
		version, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		if err == nil && version > newest && bothIn(dir) == nil {
			newest, bin = version, dir
		}
	}
	if bin != "" {
		return bin, nil
	}
	if path, err := exec.LookPath("postgres"); err == nil && bothIn(filepath.Dir(path)) == nil {
		return filepath.Dir(path), nil
	}
	return "", &Lack{"PostgreSQL was not found on this machine",
		"apt-get install postgresql, or set " + PostgresVar + " to the folder of postgres and initdb"}
}

func bothIn(dir string) error {
	for _, program := range []string{"postgres", "initdb"} {
		if _, err := exec.LookPath(filepath.Join(dir, program)); err != nil {
			return err
		}
	}
	return nil
}

// awaitPostgres returns when the server runs a transaction, and learns its version.
func (n *Node) awaitPostgres(ctx context.Context) error {
	return n.await(ctx, func(ctx context.Context) error {
		conn, err := dialPostgres(ctx, n.Addr)
		if n.ownLogin && refusesUser(err) {
			n.Version = "(unknown: it refuses " + logins.PostgresUser + ")"
			return nil // it serves
		}
		if refusesUser(err) {
			return refusal{fmt.Errorf("%w; it is to have the user %s and the database %s, and a password is taken from PGPASSWORD", err, logins.PostgresUser, logins.PostgresDatabase)}
		}
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		n.Version, _, _ = strings.Cut(conn.PgConn().ParameterStatus("server_version"), " ")
		if n.Version == "" {
			return errors.New("it tells no server_version")
		}
		if err := n.allowPostgres(ctx, conn); err != nil {
			return err
		}
		var one int
		return conn.QueryRow(ctx, "SELECT 1").Scan(&one)
	})
}

// refusesUser reports whether a server serves, and does not let the user that
// locks are in (class 28), or has not their database (3D000):
// https://www.postgresql.org/docs/current/errcodes-appendix.html
func refusesUser(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (strings.HasPrefix(refused.Code, "28") || refused.Code == "3D000")
}

// dialPostgres connects to the database that locks use.
func dialPostgres(ctx context.Context, addr string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", logins.PostgresUser, addr,
		logins.PostgresDatabase))
	if err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, config)
}
