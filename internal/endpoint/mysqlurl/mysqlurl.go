// Package mysqlurl makes the configuration of a MariaDB client of an address: host:port, or
// mysql://user:password@host:port/database?tls=true.
package mysqlurl

import (
	"cmp"
	"fmt"
	"io"
	"log"
	"slices"

	"github.com/go-sql-driver/mysql"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// Config is that of connections. Those to host:port are the user's, to the database, without TLS.
// The server's certificate is verified whenever there is TLS.
func Config(address, user, database string) (*mysql.Config, error) {
	at, err := endpoint.Parse(address)
	if err != nil {
		return nil, err
	}
	if tls := at.Param("tls"); !slices.Contains([]string{"", "true", "false"}, tls) {
		return nil, fmt.Errorf("%s: tls=%s: want true, with which the certificate is verified, or false", at, tls)
	}
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.DBName = "tcp", at.HostPort(), user, database
	c.Logger = log.New(io.Discard, "", 0) // what goes wrong is in the errors
	c.InterpolateParams = true            // one exchange a statement, nothing to prepare
	if at.Scheme() == "" {
		return c, nil
	}
	c.User, c.Passwd = at.Account()
	c.DBName = cmp.Or(at.Database(), database)
	if c.TLS, err = at.TLS(); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return c, nil
}
