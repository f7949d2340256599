package backends

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/lockchaos/lockchaos/internal/logins"
)

const (
	pgbouncerPort = 6432
	// pgbouncerPool is how many connections to the server the pool may have:
	// enough for every client to wait in a transaction of its own.
	pgbouncerPool = 180
	// pgbouncerLockTimeout is the lock_timeout of the pool's connections, which a client cannot
	// set for them: for how long the locks of package clients/postgres let a statement wait.
	pgbouncerLockTimeout = "100"
)

// pgbouncerProgram is PgBouncer, whose project publishes no image: this is the
// one that most use. The node behind it counts what is asked.
var pgbouncerProgram = &Program{
	Name: "pgbouncer", Image: "edoburu/pgbouncer:latest", Fix: "apt-get install pgbouncer",
	found: func(ctx context.Context) (string, error) {
		program, err := FindPgBouncer()
		if err != nil {
			return "", err
		}
		return says(ctx, program, "--version")
	},
	requests: func(context.Context, string) (int64, error) { return 0, nil },
}

// pgbouncer is PostgreSQL as many applications reach it: through a pooler that
// gives a client a connection to the server for one transaction at a time
// (https://www.pgbouncer.org/features.html, "SQL feature map for pooling modes").
var pgbouncer = Kind{
	Name:  "postgres-pgbouncer",
	About: "one PostgreSQL server behind PgBouncer, which pools its connections by transaction",
	Nodes: []NodeSpec{
		{Name: "postgres-1", Program: postgresProgram, Port: postgresPort, Behind: true},
		{Name: "pgbouncer-1", Program: pgbouncerProgram, Port: pgbouncerPort},
	},
	Notes: append([]string{
		"PgBouncer pools by transaction (pool_mode=transaction): what a client asks outside of a transaction may run on another connection each time.",
	}, postgres.Notes...),
	WallClock: true,
	office:    office{"primary", votePostgres},
	task:      pgbouncerTask,
	ready:     awaitPgBouncer,
	back:      (*Node).awaitPostgres,
}

func pgbouncerTask(k Kind, n NodeSpec, p Place) (Task, error) {
	if n.Program == postgresProgram {
		return postgresTask(k, n, p)
	}
	t := Task{Args: []string{"pgbouncer", p.Data + "/pgbouncer.ini"},
		Files: map[string]string{"pgbouncer.ini": pgbouncerConfig(k.Nodes[0], n, p)}}
	if p.Contained {
		t.User = "postgres" // it refuses to run as root
		return t, nil
	}
	program, err := FindPgBouncer()
	t.Args[0] = program
	return t, err
}

// FindPgBouncer returns the path of the PgBouncer on this machine.
func FindPgBouncer() (string, error) {
	return onPath("pgbouncer", "apt-get install pgbouncer")
}

func pgbouncerConfig(server, n NodeSpec, p Place) string {
	return strings.Join([]string{
		"[databases]",
		fmt.Sprintf("%s = host=%s port=%d dbname=%s user=%s connect_query='SET lock_timeout = %s'",
			logins.PostgresDatabase, p.Peers[server.Name], server.Port, logins.PostgresDatabase, logins.PostgresUser, pgbouncerLockTimeout),
		"[pgbouncer]",
		"listen_addr = " + p.Listen,
		"listen_port = " + strconv.Itoa(n.Port),
		"unix_socket_dir =",
		"auth_type = any", // the private network is trusted
		"stats_users = " + logins.PostgresUser,
		"pool_mode = transaction",
		"max_client_conn = 1000",
		fmt.Sprintf("default_pool_size = %d", pgbouncerPool),
		// What clients ask of their own connection has no meaning for those of the pool.
		"ignore_startup_parameters = lock_timeout,tcp_keepalives_idle,tcp_keepalives_interval,tcp_keepalives_count,tcp_user_timeout,extra_float_digits",
		// A client that has vanished is given up as the server would: see package clients/postgres.
		"tcp_keepidle = 1", "tcp_keepintvl = 1", "tcp_keepcnt = 2",
	}, "\n") + "\n"
}

// awaitPgBouncer returns when a transaction runs through the pool, and learns the versions.
func awaitPgBouncer(ctx context.Context, nodes []*Node) error {
	if err := nodes[0].awaitPostgres(ctx); err != nil {
		return err
	}
	pooler := nodes[1]
	if err := pooler.awaitPostgres(ctx); err != nil {
		return err
	}
	return pooler.await(ctx, pooler.asksPgBouncer)
}

// asksPgBouncer asks the pooler itself for its version. Its console speaks the
// simple protocol only.
func (n *Node) asksPgBouncer(ctx context.Context) error {
	config, err := pgx.ParseConfig(fmt.Sprintf("postgres://%s@%s/pgbouncer?sslmode=disable", logins.PostgresUser, n.Addr))
	if err != nil {
		return err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return conn.QueryRow(ctx, "SHOW VERSION").Scan(&n.Version)
}
