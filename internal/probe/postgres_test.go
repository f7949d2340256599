package probe_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/probe"
	"github.com/lockchaos/lockchaos/internal/probe/probetest"
)

// A PostgreSQL with TLS and passwords is met as its address says, or the error says what to do.
func TestPostgres(t *testing.T) {
	t.Parallel()
	ca, strange := authority.New(t), authority.New(t)
	port := probetest.Postgres(t, ca, "pg.test", "-c", "idle_session_timeout=60s")
	good := endpoint.Files{CACert: ca.File}
	service, _ := probe.Lookup("postgres")
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
	defer cancel()
	const way = "/postgres?sslmode=verify-full"
	at := parsed(t, "postgres://me:pass%2Fword@pg.test:"+port+way, good)
	for name, c := range map[string]struct {
		address string
		files   endpoint.Files
		want    string
	}{
		"as it should be":          {at.URL(), good, ""},
		"another authority":        {at.URL(), endpoint.Files{CACert: strange.File}, "--cacert FILE"},
		"another name":             {"postgres://me:pass%2Fword@other.test:" + port + way, good, "its certificate is for other names (pg.test)"},
		"a wrong password":         {"postgres://me:wrong@pg.test:" + port + way, good, "the user and the password belong into the address"},
		"without TLS":              {"postgres://me:pass%2Fword@pg.test:" + port + "/postgres?sslmode=disable", endpoint.Files{}, "no encryption"},
		"nothing said of TLS":      {"postgres://me:pass%2Fword@pg.test:" + port + "/postgres", good, "say how TLS is used: sslmode=verify-full"},
		"no database":              {"postgres://me:pass%2Fword@pg.test:" + port + "/nowhere?sslmode=verify-full", good, `database "nowhere" does not exist`},
		"a missing right":          {"postgres://reader:pass%2Fword@pg.test:" + port + way, good, "reader may not do what locks need: permission denied"},
		"a standby, say":           {at.URL() + "&options=-c%20default_transaction_read_only%3Don", good, "me may not do what locks need: cannot execute CREATE TABLE in a read-only transaction"},
		"a name that is not known": {"postgres://me:x@pg.invalid:" + port + way, good, "knows no host of that name"},
	} {
		t.Run(name, func(t *testing.T) {
			err := service.Meet(ctx, parsed(t, c.address, c.files), here)
			if c.want == "" && err != nil || !strings.Contains(fmt.Sprint(err), c.want) || strings.Contains(fmt.Sprint(err), "pass/word") {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
	checkFacts(t, ctx, service, at, "version", "PostgreSQL ", "role", "primary", "persistence", "fsync = on", "", "ends idle sessions after that")
	checkRace(t, ctx, service, at, 2)
}
