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
	// Addrs are the addresses of the engine's servers, host:port, for the others. postgres and redis have one.
	Addrs []string
	// Name begins everything that the engine keeps there: a prefix of keys, or a schema. Letters, digits and _ only.
	Name string
}

// Engine is an engine that holds a ledger and names itself.
type Engine interface {
	Ledger
	Describer
}

var engines = []struct {
	name string
	open func(context.Context, Spec) (Engine, error)
}{
	{"sqlite", func(ctx context.Context, s Spec) (Engine, error) { return OpenSQLite(ctx, s.File, s.Fencing) }},
	{"postgres", openPostgres},
	{"redis", openRedis},
	{"etcd", openEtcd},
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
	if err := s.validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, openLimit, fmt.Errorf("no answer within %v", openLimit))
	defer cancel()
	for _, e := range engines {
		if e.name == s.Engine {
			return e.open(ctx, s)
		}
	}
	return nil, fmt.Errorf("no store engine %q; there are %s: %w", s.Engine, strings.Join(Engines(), ", "), ErrBadRequest)
}

func (s Spec) validate() error {
	if err := s.Fencing.validFor(s.Engine); err != nil {
		return err
	}
	if s.Engine == "sqlite" || !slices.Contains(Engines(), s.Engine) {
		return nil
	}
	word := func(r rune) bool { return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' }
	if s.Name == "" || strings.IndexFunc(s.Name, func(r rune) bool { return !word(r) }) >= 0 {
		return fmt.Errorf("store engine %s: name %q: want small letters, digits and _: %w", s.Engine, s.Name, ErrBadRequest)
	}
	if len(s.Addrs) == 0 || len(s.Addrs) > 1 && s.Engine != "etcd" {
		return fmt.Errorf("store engine %s: %d addresses: it takes one (etcd: one or more): %w", s.Engine, len(s.Addrs), ErrBadRequest)
	}
	return nil
}
