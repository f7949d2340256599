package backends

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Account is whom a client may log in as that insists on a user and a password.
// Others go on without one: the private network is trusted.
type Account struct {
	User, Password string
	// Database is the one that it is for; of Redis the number.
	Database string
}

// The user and the password of every service's account. They are no secret: the
// servers are the run's own, and nobody else reaches them.
const (
	accountUser     = "lockchaos_login"
	accountPassword = "lockchaos_password"
)

func accountOf(database string) *Account { return &Account{accountUser, accountPassword, database} }

// Account is one with a password that the service lets in; nil: it has none
// that lockchaos knows of, as a service that somebody else set up.
func (s *Service) Account() *Account {
	for _, n := range s.Nodes {
		if !n.spec.Behind {
			return n.task.account
		}
	}
	return nil
}

// redisUser is the line of a configuration that makes the account at a program of
// this machine, and "" for one from before Redis 6, which knows no users. Channels
// have rules since 6.2. In a container there is none, as nobody is told of it there.
func redisUser(program string, p Place) string {
	if p.Contained {
		return ""
	}
	line := "user " + accountUser + " on >" + accountPassword + " ~* +@all"
	switch major, minor := redisVersion(program); {
	case major < 6:
		return ""
	case major > 6 || minor >= 2:
		line += " &*"
	}
	return line + "\n"
}

// redisVersions remembers what a program says of its version, which is asked for before each start.
var redisVersions sync.Map

// redisVersion asks a program for its version. An answer that cannot be read is
// 0.0, which has no account.
func redisVersion(program string) (major, minor int) {
	said, known := redisVersions.Load(program)
	if !known {
		// a program that does not start says so when it is started
		said, _ = says(context.Background(), program, "--version")
		redisVersions.Store(program, said)
	}
	_, number, _ := strings.Cut(said.(string), " v=")
	_, _ = fmt.Sscanf(number, "%d.%d", &major, &minor)
	return major, minor
}

// mariadbLogin makes the account's user, as able as the one without a password: a statement a line.
const mariadbLogin = "CREATE USER IF NOT EXISTS '" + accountUser + "'@'%' IDENTIFIED BY '" + accountPassword +
	"';\nGRANT ALL ON *.* TO '" + accountUser + "'@'%';\n"

// postgresLogin makes the account's role, as able as the one without a
// password, at the server's first start.
const postgresLogin = `DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '` + accountUser + `') THEN
CREATE ROLE ` + accountUser + ` SUPERUSER LOGIN PASSWORD '` + accountPassword + `'; END IF; END $$`

// allowPostgres makes the account's role. It is on disk when that is answered,
// so a server that is killed still has it.
func (n *Node) allowPostgres(ctx context.Context, conn *pgx.Conn) error {
	if n.task.account == nil {
		return nil
	}
	for _, statement := range []string{"SET synchronous_commit = on", "SET password_encryption = 'scram-sha-256'",
		postgresLogin} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("make the account %s: %w", accountUser, err)
		}
	}
	return nil
}
