package probe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
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
	servers, err := p.poolServers(ctx)
	if err != nil || len(servers) < 2 {
		return f, true, err
	}
	return f, true, p.balancing(ctx, &f, servers, status)
}

// What a pgpool-II leaves of locks that stands before several servers, each of which has advisory
// locks of its own (https://www.pgpool.net/docs/latest/en/html/runtime-config-load-balancing.html).
const (
	balancesReads = "POOLER: a SELECT that calls no function which writes may be answered by a standby, which is behind: who decides by what it reads may " +
		"decide by what is over. Set load_balance_mode = off, or read in a transaction that has written"
	balancesLocks = "POOLER: an advisory lock is asked of any server, and each server grants it: two clients hold it at the same time. Set load_balance_mode = off, " +
		"or name pg_advisory_lock and pg_try_advisory_lock in write_function_list and not in read_only_function_list"
)

// balancing says which statements go to which of several servers, by the settings and by a trial:
// other clients ask for an advisory lock that this one has.
func (p *postgresServer) balancing(ctx context.Context, f *Fact, servers []string, status map[string]string) error {
	f.Text += fmt.Sprintf("; it stands before %d servers, %s (load_balance_mode %s, read_only_function_list %q, write_function_list %q)", len(servers),
		strings.Join(servers, ", "), onOff(status["load_balance_mode"]), status["read_only_function_list"], status["write_function_list"])
	granted, err := p.grantedTwice(ctx)
	if err != nil {
		return fmt.Errorf("try an advisory lock through pgpool-II: %w", err)
	}
	f.Text += fmt.Sprintf("; %d of %d clients were granted an advisory lock that another had", granted, poolerTries)
	var warnings []string
	if onOff(status["load_balance_mode"]) == "on" {
		warnings = append(warnings, balancesReads)
	}
	if granted > 0 || balanced("pg_try_advisory_lock", status) || balanced("pg_advisory_lock", status) {
		warnings = append(warnings, balancesLocks)
	}
	if f.Warning != "" {
		warnings = append(warnings, f.Warning)
	}
	f.Warning = strings.Join(warnings, ". ")
	return nil
}

// balanced reports whether, by its settings, pgpool-II lets any server answer a SELECT that calls
// the function. Without settings it asks the server whether the function may write, and those for
// advisory locks may.
func balanced(function string, status map[string]string) bool {
	names := func(list string) bool {
		return slices.ContainsFunc(strings.Split(list, ","), func(one string) bool {
			matches, err := regexp.MatchString("^(?:"+strings.TrimSpace(one)+")$", function)
			return err == nil && matches
		})
	}
	reads, writes := status["read_only_function_list"], status["write_function_list"]
	if onOff(status["load_balance_mode"]) != "on" || reads == "" && writes == "" {
		return false
	}
	return reads != "" && names(reads) || writes != "" && !names(writes)
}

// grantedTwice is how many other clients are granted an advisory lock that this one has.
func (p *postgresServer) grantedTwice(ctx context.Context) (times int, err error) {
	key := rand.Int64()
	if _, err := takes(ctx, p.conn, key); err != nil {
		return 0, err
	}
	for range poolerTries {
		other, err := p.connect(ctx)
		if err != nil {
			return times, err
		}
		granted, err := takes(ctx, other, key)
		(&postgresServer{conn: other}).close()
		if err != nil {
			return times, err
		}
		if granted {
			times++
		}
	}
	_, err = p.conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", key)
	return times, err
}

// takes asks for an advisory lock, as pg-advisory does.
func takes(ctx context.Context, c *pgx.Conn, key int64) (granted bool, err error) {
	err = c.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", key).Scan(&granted)
	return granted, err
}

// poolServers are the servers behind a pgpool-II, in its own words.
func (p *postgresServer) poolServers(ctx context.Context) (all []string, err error) {
	rows, err := p.conn.Query(ctx, "SHOW pool_nodes", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return nil, fmt.Errorf("SHOW pool_nodes: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		of := map[string]string{}
		for i, column := range rows.FieldDescriptions() {
			of[column.Name] = string(rows.RawValues()[i])
		}
		all = append(all, fmt.Sprintf("%s:%s (%s, %s)", of["hostname"], of["port"], of["role"], of["status"]))
	}
	return all, rows.Err()
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
