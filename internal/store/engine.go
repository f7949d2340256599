package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Spec says which ledger to open.
type Spec struct {
	// Engine is one of Engines.
	Engine string
	// Fencing is the kind of store.
	Fencing Fencing
	// File is the ledger's file, for sqlite.
	File string
	// Addrs are the addresses of the engine's servers, host:port, for the others: one, unless the
	// engine runs on a cluster.
	Addrs []string
	// Name begins everything that the engine keeps there: a prefix of keys, or
	// a schema. Letters, digits and _ only.
	Name string
}

// Engine is an engine that holds a ledger and names itself.
type Engine interface {
	Ledger
	Describer
}

// engine is one way to keep a ledger.
type engine struct {
	// name is also that of the service (package backends) that runs the engine's servers.
	name    string
	open    func(context.Context, Spec) (Engine, error)
	local   bool // it keeps a file, and needs no server
	cluster bool // it may have several servers
	// transactions: its clients can have transactions (Remote.Session)
	transactions bool
}

var engines = []engine{
	{name: "sqlite", open: func(ctx context.Context, s Spec) (Engine,
		error) {
		return OpenSQLite(ctx, s.File, s.Fencing)
	}, local: true},
	{name: "postgres", open: openPostgres, transactions: true},
	{name: "redis", open: openRedis},
	{name: "etcd", open: openEtcd, cluster: true},
	{name: "mariadb", open: openMariaDB, transactions: true},
	{name: "s3", open: openS3},
}

// openLimit bounds the opening of a ledger.
const openLimit = 10 * time.Second

// Engines lists the engines that Open knows.
func Engines() (names []string) {
	for _, e := range engines {
		names = append(names, e.name)
	}
	return names
}

// Open opens a ledger, or makes it. It returns when the engine has answered.
func Open(ctx context.Context, s Spec) (Engine, error) {
	i := slices.IndexFunc(engines, func(e engine) bool { return e.name == s.Engine })
	if i < 0 {
		return nil, fmt.Errorf("no store engine %q; there are %s: %w", s.Engine, strings.Join(Engines(), ", "),
			ErrBadRequest)
	}
	if err := s.validate(engines[i]); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, openLimit, fmt.Errorf("no answer within %v", openLimit))
	defer cancel()
	return engines[i].open(ctx, s)
}

func (s Spec) validate(e engine) error {
	if err := s.Fencing.validFor(s.Engine); err != nil || e.local {
		return err
	}
	word := func(r rune) bool { return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' }
	if s.Name == "" || strings.IndexFunc(s.Name, func(r rune) bool { return !word(r) }) >= 0 {
		return fmt.Errorf("store engine %s: name %q: want small letters, digits and _: %w", s.Engine, s.Name,
			ErrBadRequest)
	}
	if len(s.Addrs) == 0 || len(s.Addrs) > 1 && !e.cluster {
		return fmt.Errorf("store engine %s: %d addresses: it takes one, or more of a cluster: %w", s.Engine,
			len(s.Addrs), ErrBadRequest)
	}
	return nil
}
