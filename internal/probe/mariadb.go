package probe

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/mysqlurl"
)

var mariadbService = Service{
	Program: "mariadb",
	Forms:   "mysql://USER:PASSWORD@HOST:PORT/DATABASE?tls=true",
	schemes: []string{"mysql"},
	open:    openMariaDB,
	// no right on a database, on a table, no privilege; read-only
	denied: func(err error) string { return numbered(err, 1044, 1142, 1227, 1290, 1836) },
	login:  func(err error) bool { return numbered(err, 1045, 1698) != "" },
}

// numbered returns the server's answer if its number is one of these
// (https://mariadb.com/kb/en/mariadb-error-codes/).
func numbered(err error, numbers ...uint16) string {
	if answer, ok := errors.AsType[*mysql.MySQLError](err); ok && slices.Contains(numbers, answer.Number) {
		return answer.Message
	}
	return ""
}

type mariadbServer struct{ db *sql.DB }

// mariadbLocks is the user, and the database, of an address that is host:port alone.
const mariadbLocks = "lockchaos"

func openMariaDB(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) (server, error) {
	config, err := mysqlurl.Config(at.Address(), mariadbLocks, mariadbLocks)
	if err != nil {
		return nil, err
	}
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) { return dial(ctx, network, addr) }
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	m := &mariadbServer{sql.OpenDB(connector)}
	m.db.SetMaxOpenConns(1)
	if err := m.db.PingContext(ctx); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *mariadbServer) prepare(ctx context.Context, prefix string) error {
	_, err := m.db.ExecContext(ctx, "CREATE TABLE "+table(prefix)+" (k varchar(100) PRIMARY KEY, v varchar(100)) ENGINE=InnoDB")
	return err
}

// create makes a row. MariaDB lets nothing expire: its locks look at the time themselves.
func (m *mariadbServer) create(ctx context.Context, key, value string, _ time.Duration) (bool, error) {
	return m.changes(ctx, "INSERT IGNORE INTO "+table(key)+" VALUES (?, ?)", key, value)
}

func (m *mariadbServer) swap(ctx context.Context, key, old, fresh string) (bool, error) {
	return m.changes(ctx, "UPDATE "+table(key)+" SET v = ? WHERE k = ? AND v = ?", fresh, key, old)
}

// changes reports whether a statement has changed a row.
func (m *mariadbServer) changes(ctx context.Context, statement string, args ...any) (bool, error) {
	done, err := m.db.ExecContext(ctx, statement, args...)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n == 1, err
}

func (m *mariadbServer) get(ctx context.Context, key string) (value string, err error) {
	err = m.db.QueryRowContext(ctx, "SELECT v FROM "+table(key)+" WHERE k = ?", key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

func (m *mariadbServer) clear(ctx context.Context, prefix string, _ []string) error {
	_, err := m.db.ExecContext(ctx, "DROP TABLE IF EXISTS "+table(prefix))
	return err
}

func (m *mariadbServer) close() { _ = m.db.Close() }

// shortIdle is how short a time of idleness is worth a word.
const shortIdle = 10 * time.Minute

// facts asks for variables. It writes nothing.
func (m *mariadbServer) facts(ctx context.Context) ([]Fact, error) {
	offset, trip, err := m.clock(ctx)
	if err != nil {
		return nil, err
	}
	var version, written string
	var readOnly bool
	var connections, idle int64
	row := m.db.QueryRowContext(ctx, "SELECT VERSION(), @@read_only, @@innodb_flush_log_at_trx_commit, @@max_connections, @@wait_timeout")
	if err := row.Scan(&version, &readOnly, &written, &connections, &idle); err != nil {
		return nil, err
	}
	role := Fact{Name: "role", Text: "writable"}
	if readOnly {
		role.Text, role.Warning = "read-only", "a read-only server takes no locks: give the address of its primary"
	}
	kept := Fact{Name: "persistence", Text: "innodb_flush_log_at_trx_commit = " + written}
	if written != "1" {
		kept.Warning = "what was committed in the last second may be lost when the machine dies: set it to 1"
	}
	limit := Fact{Name: "limits", Text: fmt.Sprintf("max_connections = %d, wait_timeout = %d s", connections, idle)}
	if time.Duration(idle)*time.Second < shortIdle {
		limit.Warning = "the server ends connections that idle for wait_timeout, and with them the locks that they hold (GET_LOCK)"
	}
	return []Fact{{Name: "version", Text: version}, role, m.cluster(ctx), clockFact(offset, trip),
		{Name: "round trip", Text: trip.Round(time.Microsecond).String()}, kept, limit}, nil
}

// cluster says whether the server is a node of a Galera cluster.
func (m *mariadbServer) cluster(ctx context.Context) Fact {
	f := Fact{Name: "replication", Text: "no Galera cluster"}
	var name, size string
	err := m.db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'wsrep_cluster_size'").Scan(&name, &size)
	if err == nil && size != "0" {
		f.Text = "a Galera cluster of " + size
		f.Warning = "GET_LOCK and row locks of one node are unknown to the others: have all clients use one node"
	}
	return f
}

func (m *mariadbServer) clock(ctx context.Context) (offset, trip time.Duration, err error) {
	for i := range clockTries {
		var micros int64
		began := time.Now()
		if err := m.db.QueryRowContext(ctx, "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)").Scan(&micros); err != nil {
			return 0, 0, err
		}
		if took := time.Since(began); i == 0 || took < trip {
			offset, trip = time.UnixMicro(micros).Sub(began.Add(took/2)), took
		}
	}
	return offset, trip, nil
}
