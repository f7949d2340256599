package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// keepsLocks is what a pgpool-II leaves of advisory locks that does not reset sessions.
const keepsLocks = "POOLER: a session that is handed on keeps its advisory locks: whoever asks for one of a client that has gone waits until another client " +
	"happens to get that session and ends it. Set reset_query_list = 'ABORT; DISCARD ALL', or connection_cache = off"

// unlocks are parts of a reset_query_list that release a session's advisory locks.
var unlocks = []string{"discard all", "pg_advisory_unlock_all"}

// pgpool asks whether a pgpool-II is between, which answers SHOW pool_status itself; false:
// there is none. It tells clients the server's own numbers of sessions, so these do not give it
// away. Each client has a session of its own for as long as it is connected
// (https://www.pgpool.net/docs/latest/en/html/runtime-config-connection-pooling.html).
func (p *postgresServer) pgpool(ctx context.Context) (f Fact, is bool, err error) {
	status, err := p.shown(ctx, "pool_status")
	if _, answered := errors.AsType[*pgconn.PgError](err); answered { // a server, or a pooler, that does not know it
		return f, false, nil
	}
	if err != nil {
		return f, false, fmt.Errorf("SHOW pool_status: %w", err)
	}
	if _, is := status["reset_query_list"]; !is {
		return f, false, nil
	}
	version, err := p.shown(ctx, "pool_version")
	if err != nil {
		return f, false, fmt.Errorf("SHOW pool_version: %w", err)
	}
	name := "pgpool-II"
	for which := range version {
		name += " " + which
	}
	f = Fact{Name: "pooler", Text: fmt.Sprintf("%s, which gives each client a session of its own (connection_cache %s, reset_query_list %q): %s",
		name, onOff(status["connection_cache"]), status["reset_query_list"], poolsSessions)}
	resets := strings.ToLower(status["reset_query_list"])
	if onOff(status["connection_cache"]) == "on" && !strings.Contains(resets, unlocks[0]) && !strings.Contains(resets, unlocks[1]) {
		f.Warning = keepsLocks
	}
	return f, true, nil
}

// onOff is a setting as people write it: pgpool-II tells some of them as numbers.
func onOff(setting string) string {
	switch setting {
	case "0", "off":
		return "off"
	case "1", "on":
		return "on"
	}
	return setting
}

// shown returns the rows of a SHOW of pgpool-II, which answers the simple protocol alone: the
// first column leads to the second, or to "".
func (p *postgresServer) shown(ctx context.Context, what string) (map[string]string, error) {
	rows, err := p.conn.Query(ctx, "SHOW "+what, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		values := rows.RawValues()
		if len(values) == 0 {
			continue
		}
		second := ""
		if len(values) > 1 {
			second = string(values[1])
		}
		all[string(values[0])] = second
	}
	return all, rows.Err()
}
