package backends_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/lockchaos/lockchaos/internal/logins"
)

func mariadbAt(t *testing.T, addr string) *sql.DB {
	config := mysql.NewConfig()
	config.User, config.DBName, config.Net, config.Addr = logins.MariaDBUser, logins.MariaDBDatabase, "tcp", addr
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

func asksMariaDB(t *testing.T, addr string) func(context.Context) error {
	db := mariadbAt(t, addr)
	return func(ctx context.Context) error {
		_, err := db.ExecContext(ctx, "DO 1")
		return err
	}
}
