// Package pgurl makes the configuration of a PostgreSQL client of an address: host:port, or
// postgres://user:password@host:port/database?sslmode=verify-full.
package pgurl

import (
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// Config is that of a connection. One to host:port is the user's, to the database, without TLS.
// What neither says comes from the environment: PGPASSWORD, PGSSLROOTCERT and the like.
func Config(address, user, database string) (*pgx.ConnConfig, error) {
	at, err := endpoint.Parse(address)
	if err != nil {
		return nil, err
	}
	text, f := at.URL(), at.Files()
	if text == "" {
		text = fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", user, at.HostPort(), database)
	}
	for name, file := range map[string]string{"sslrootcert": f.CACert, "sslcert": f.Cert, "sslkey": f.Key} {
		if file != "" { // so the URL has a query
			text += "&" + name + "=" + url.PathEscape(file)
		}
	}
	config, err := pgx.ParseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err) // pgx takes the password out of it
	}
	return config, nil
}
