package backends

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockchaos/lockchaos/internal/logins"
)

const mariadbPort = 3306

// mariadbInstall says how MariaDB comes onto a machine.
const mariadbInstall = "apt-get install mariadb-server"

var mariadbProgram = &Program{
	Name: "mariadb", Image: "mariadb:10.11", Fix: mariadbInstall, requests: mariadbRequests,
	found: func(ctx context.Context) (string, error) {
		if _, err := onPath("mariadb-install-db", mariadbInstall); err != nil {
			return "", err
		}
		program, err := onPath("mariadbd", mariadbInstall)
		if err != nil {
			return "", err
		}
		return says(ctx, program, "--version")
	},
	// A server speaks first: https://mariadb.com/kb/en/connection/#initial-handshake-packet
	speech: speech{"", func(answer []byte) error {
		if len(answer) > 5 && answer[3] == 0 && (answer[4] == 10 || answer[4] == 0xff) {
			return nil
		}
		return errForeign
	}},
}

var mariadb = Kind{
	Name:  "mariadb",
	About: "one MariaDB server as installed on this machine, its database made anew for each run",
	Nodes: []NodeSpec{{Name: "mariadb-1", Program: mariadbProgram, Port: mariadbPort}},
	Notes: []string{
		"MariaDB's data lies in memory; the private network is trusted, without passwords.",
		"It sends a keepalive when it has heard nothing for 2 s, and ends a connection after two that are not answered, a second apart.",
	},
	WallClock: true, // of its own leases there are none: those of tables are rows with a time
	expirer:   expirer{end: expireMariaDB},
	refuser:   mariadbRefuser,
	task:      mariadbTask,
	ready:     each((*Node).awaitMariaDB),
	back:      (*Node).awaitMariaDB,
}

// mariadbAccount makes the database, and the user who may do anything there: a statement a line.
const mariadbAccount = "CREATE DATABASE IF NOT EXISTS " + logins.MariaDBDatabase + ";\nCREATE USER IF NOT EXISTS '" +
	logins.MariaDBUser + "'@'%';\nGRANT ALL ON *.* TO '" + logins.MariaDBUser + "'@'%';\n"

// mariadbAdmin is who makes the server read-only.
const mariadbAdmin = "lockchaos_admin"

// mariadbBound are statements by which a read-only server refuses the user's
// writes, too. It takes those of a user who may make it read-only, and before 10.11
// those of one with SUPER (https://mariadb.com/kb/en/grant/#read_only-admin).
func mariadbBound(user string) string {
	return fmt.Sprintf("REVOKE /*M!100502 READ ONLY ADMIN, */ SUPER ON *.* FROM '%[1]s'@'%%';\nGRANT PROCESS /*M!101100 , SUPER */ ON *.* TO '%[1]s'@'%%';\n", user)
}

func mariadbTask(k Kind, n NodeSpec, p Place) (Task, error) {
	files := p.Data + "/files"
	create := []string{"mariadb-install-db", "--no-defaults", "--datadir=" + files,
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
		"--innodb-log-file-size=4M"}
	// Both keep what is temporary under names made of process numbers, which
	// other sandboxes have as well: not in /tmp.
	t := Task{Env: []string{"TMPDIR=" + p.Data}, Files: map[string]string{"account.sql": mariadbAccount},
		Before: [][]string{create}, Args: []string{"mariadbd", "--no-defaults", "--user=root", "--datadir=" + files,
			"--bind-address=" + p.Listen, "--port=" + strconv.Itoa(n.Port), "--socket=" + p.Data + "/socket",
			"--pid-file=" + p.Data + "/pid", "--init-file=" + p.Data + "/account.sql",
			"--skip-name-resolve", "--skip-log-bin", "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=4M",
			"--key-buffer-size=1M", "--max-connections=500",
			// a transaction is in a file when it is answered, and not forced to disk
			"--innodb-flush-log-at-trx-commit=2",
			"--tcp-keepalive-time=2", "--tcp-keepalive-interval=1", "--tcp-keepalive-probes=2"}}
	if p.Contained {
		return t, nil
	}
	t.Files["account.sql"] += mariadbLogin
	if k.Refuses() {
		t.Files["account.sql"] += mariadbBound(logins.MariaDBUser) + mariadbBound(accountUser) +
			"CREATE USER IF NOT EXISTS '" + mariadbAdmin + "'@'%';\nGRANT ALL ON *.* TO '" + mariadbAdmin + "'@'%';\n"
	}
	t.account = accountOf(logins.MariaDBDatabase)
	var err error
	if create[0], err = onPath("mariadb-install-db", mariadbInstall); err == nil {
		t.Args[0], err = onPath("mariadbd", mariadbInstall)
	}
	return t, err
}

// openMariaDB prepares connections to a server, as the user of the locks.
func openMariaDB(addr string) (*sql.DB, error) { return openMariaDBAs(logins.MariaDBUser, addr) }

// openMariaDBAs prepares connections to a server, as a user without a password.
func openMariaDBAs(user, addr string) (*sql.DB, error) {
	config := mysql.NewConfig()
	config.User, config.DBName, config.Net, config.Addr = user, logins.MariaDBDatabase, "tcp", addr
	config.InterpolateParams = true
	config.Logger = log.New(io.Discard, "", 0) // what goes wrong is in the errors
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// awaitMariaDB returns when the server lets the user of the locks in, and learns its version.
func (n *Node) awaitMariaDB(ctx context.Context) error {
	return n.await(ctx, func(ctx context.Context) error {
		db, err := openMariaDB(n.Addr)
		if err != nil {
			return err
		}
		defer db.Close()
		var version string
		err = db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version)
		if _, refused := errors.AsType[*mysql.MySQLError](err); refused && n.ownLogin {
			n.Version = "(unknown: it refuses " + logins.MariaDBUser + ")"
			return nil // it serves
		}
		if err != nil {
			return err
		}
		number, _, _ := bytes.Cut([]byte(version), []byte("-"))
		n.Version = string(number)
		return nil
	})
}

// mariadbRequests asks for the statements that clients have sent
// (https://mariadb.com/kb/en/server-status-variables/#questions).
func mariadbRequests(ctx context.Context, addr string) (count int64, err error) {
	db, err := openMariaDB(addr)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	var name string
	err = db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&name, &count)
	return count, err
}

const (
	// What a connection has is looked at before it is killed: it may be gone at once.
	mariadbConnections = "SELECT id FROM information_schema.processlist WHERE host LIKE CONCAT(?, ':%') AND id <> CONNECTION_ID()"
	mariadbGone        = "SELECT count(*) FROM information_schema.processlist WHERE id = ?"
)

// expireMariaDB kills the client's connections, which the server knows by their
// address, and returns when they have ended, with their transactions and their locks.
func expireMariaDB(ctx context.Context, s *Service, c Client) (ended []string, err error) {
	for _, n := range s.Nodes {
		killed, err := n.killMariaDB(ctx, c)
		if err != nil {
			return nil, n.failed(err)
		}
		ended = append(ended, killed...)
	}
	return ended, nil
}

// killMariaDB kills the client's connections to one server.
func (n *Node) killMariaDB(ctx context.Context, c Client) (ended []string, err error) {
	db, err := openMariaDB(n.Addr)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	rows, err := db.QueryContext(ctx, mariadbConnections, c.Addr.String())
	if err != nil {
		return nil, err
	}
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, id := range ids {
		const noSuchThread = 1094
		_, err := db.ExecContext(ctx, "KILL CONNECTION "+strconv.FormatInt(id, 10))
		if refused, ok := errors.AsType[*mysql.MySQLError](err); ok && refused.Number == noSuchThread {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("KILL CONNECTION %d: %w", id, err)
		}
		if err := mariadbEnded(ctx, db, id); err != nil {
			return nil, err
		}
		ended = append(ended, fmt.Sprintf("MariaDB killed connection %d; it is not among its threads any more", id))
	}
	return ended, nil
}

func mariadbEnded(ctx context.Context, db *sql.DB, id int64) error {
	for step := firstStep; ; step = longer(step) {
		var left int
		if err := db.QueryRowContext(ctx, mariadbGone, id).Scan(&left); err != nil {
			return fmt.Errorf("information_schema.processlist: %w", err)
		}
		if left == 0 {
			return nil
		}
		select {
		case <-time.After(step):
		case <-ctx.Done():
			return fmt.Errorf("connection %d goes on after it was killed: %w", id, context.Cause(ctx))
		}
	}
}
