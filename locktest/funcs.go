package locktest

import (
	"context"
	"errors"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Funcs is a lock made of functions, for libraries that have a simple one:
// lock, unlock. What it can't say (how long a grant is valid, when the attempt
// that succeeded began, that a grant was lost) is not held against the library,
// and lets less be explained; a clients.Lock of your own can.
//
// An error that is, or wraps, clients.ErrBusy (another holds the key, and nothing of this
// attempt is left in the service) or clients.ErrNotHeld (the service said that the grant
// is no longer ours) is definite: the call had no effect and never will have. It is always
// right to return any other error for what is not that certain, a timeout above all.
type Funcs struct {
	// Acquire waits for the key until ctx is done. The token is 0 if the lock has none.
	Acquire func(ctx context.Context, key string) (token int64, err error)
	// Release gives the key back.
	Release func(ctx context.Context, key string) error
	// Held reports whether the key is still ours; nil: the library can't be asked. See Lock.
	Held func(ctx context.Context, key string) error
	// Close gives up connections and sessions; nil: there are none.
	Close func(ctx context.Context) error
}

// Lock returns the lock. It is a clients.Holder if there is Held.
func (f Funcs) Lock() (clients.Lock, error) {
	if f.Acquire == nil || f.Release == nil {
		return nil, errors.New("locktest.Funcs: a lock needs Acquire and Release")
	}
	if f.Held != nil {
		return askable{simple{f}}, nil
	}
	return simple{f}, nil
}

type simple struct{ f Funcs }

func (l simple) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	// whatever the library sends, it sends later
	g := clients.Grant{Key: key, First: monotime.Now()}
	var err error
	g.Token, err = l.f.Acquire(ctx, key)
	return g, err
}

func (l simple) Release(ctx context.Context, g clients.Grant) error { return l.f.Release(ctx, g.Key) }

func (l simple) Close(ctx context.Context) error {
	if l.f.Close == nil {
		return nil
	}
	return l.f.Close(ctx)
}

// askable is a simple lock that can be asked.
type askable struct{ simple }

func (l askable) Held(ctx context.Context, g clients.Grant) error { return l.f.Held(ctx, g.Key) }
