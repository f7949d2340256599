package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/pgurl"
)

var postgresService = Service{
	Program: "postgres",
	Forms:   "postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full",
	schemes: []string{"postgres", "postgresql"},
	open:    openPostgres,
	// no privilege; read-only
	denied: func(err error) string { return or(coded(err, "42501"), coded(err, "25006")) },
	login:  func(err error) bool { return coded(err, "28") != "" },
}

// coded returns the server's answer if its code begins so
// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
func coded(err error, code string) string {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok && strings.HasPrefix(answer.Code, code) {
		return answer.Message
	}
	return ""
}

type postgresServer struct {
	conn    *pgx.Conn
	connect func(ctx context.Context) (*pgx.Conn, error) // once more
}

// The user and the database of an address that is host:port alone: those of the locks.
const (
	pgUser     = "lockchaos"
	pgDatabase = "postgres"
)

func openPostgres(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) (server, error) {
	config, err := pgurl.Config(at.Address(), pgUser, pgDatabase)
	if err != nil {
		return nil, err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.DialFunc = pgconn.DialFunc(dial)
	// the name is looked up where dial dials
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	config.Fallbacks = nil // of sslmode=prefer: without TLS
	if at.Param("sslmode") == "" && at.Scheme() != "" && config.TLSConfig != nil {
		return nil, fmt.Errorf("%s: say how TLS is used: sslmode=verify-full, or sslmode=disable", at)
	}
	connect := func(ctx context.Context) (*pgx.Conn, error) { return pgx.ConnectConfig(ctx, config) }
	conn, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	return &postgresServer{conn, connect}, nil
}

// table is that of the keys of one probe: lockchaos_abcdefgh.
func table(key string) string {
	name := strings.TrimPrefix(key, Key)
	letters, _, _ := strings.Cut(name, "_")
	return Key + letters
}

func (p *postgresServer) prepare(ctx context.Context, prefix string) error {
	_, err := p.conn.Exec(ctx, "CREATE TABLE "+table(prefix)+" (k text PRIMARY KEY, v text)")
	return err
}

// create makes a row. PostgreSQL lets nothing expire: its locks look at the time themselves.
func (p *postgresServer) create(ctx context.Context, key, value string, _ time.Duration) (bool, error) {
	done, err := p.conn.Exec(ctx, "INSERT INTO "+table(key)+" VALUES ($1, $2) ON CONFLICT DO NOTHING", key, value)
	return err == nil && done.RowsAffected() == 1, err
}

func (p *postgresServer) swap(ctx context.Context, key, old, fresh string) (bool, error) {
	done, err := p.conn.Exec(ctx, "UPDATE "+table(key)+" SET v = $3 WHERE k = $1 AND v = $2", key, old, fresh)
	return err == nil && done.RowsAffected() == 1, err
}

func (p *postgresServer) get(ctx context.Context, key string) (value string, err error) {
	err = p.conn.QueryRow(ctx, "SELECT v FROM "+table(key)+" WHERE k = $1", key).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return value, err
}

func (p *postgresServer) clear(ctx context.Context, prefix string, _ []string) error {
	_, err := p.conn.Exec(ctx, "DROP TABLE IF EXISTS "+table(prefix))
	return err
}

func (p *postgresServer) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = p.conn.Close(ctx) // the socket is closed whatever happens
}

// pgAsks are settings that matter to a lock, and what to say of them.
var pgAsks = []struct{ name, setting, safe, warning string }{
	{"persistence", "fsync", "on", "what was committed may be lost when the machine dies: set fsync = on"},
	{"", "synchronous_commit", "", ""},
	{"replication", "synchronous_standby_names", "", ""},
	{"limits", "max_connections", "", ""},
	{"", "statement_timeout", "0", "a statement that waits for a lock is cut off after that"},
	{"", "idle_session_timeout", "0", "the server ends idle sessions after that, and with them the locks that they hold (advisory locks)"},
	{"", "idle_in_transaction_session_timeout", "0", "the server ends transactions that idle after that, and with them the locks that they hold"},
}

// facts asks for settings and for who replicates. It writes nothing.
func (p *postgresServer) facts(ctx context.Context) ([]Fact, error) {
	offset, trip, err := p.clock(ctx)
	if err != nil {
		return nil, err
	}
	var standby bool
	if err := p.conn.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&standby); err != nil {
		return nil, err
	}
	role := Fact{Name: "role", Text: "primary"}
	if standby {
		role.Text, role.Warning = "standby", "a standby takes no locks: give the address of its primary"
	}
	pooler, err := p.pooler(ctx)
	if err != nil {
		return nil, err
	}
	facts := []Fact{{Name: "version", Text: "PostgreSQL " + p.conn.PgConn().ParameterStatus("server_version")}, role, pooler,
		clockFact(offset, trip), {Name: "round trip", Text: trip.Round(time.Microsecond).String()}}
	for _, ask := range pgAsks {
		var value string
		err := p.conn.QueryRow(ctx, "SELECT current_setting($1, true)", ask.setting).Scan(&value)
		if err != nil || value == "" && ask.safe != "" {
			continue // an older server has no such setting
		}
		f := Fact{Name: ask.name, Text: ask.setting + " = " + or(value, "''")}
		if ask.safe != "" && value != ask.safe {
			f.Warning = ask.warning
		}
		facts = append(facts, f)
	}
	return facts, nil
}

func (p *postgresServer) clock(ctx context.Context) (offset, trip time.Duration, err error) {
	for i := range clockTries {
		var at time.Time
		began := time.Now()
		if err := p.conn.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&at); err != nil {
			return 0, 0, err
		}
		if took := time.Since(began); i == 0 || took < trip {
			offset, trip = at.Sub(began.Add(took/2)), took
		}
	}
	return offset, trip, nil
}
