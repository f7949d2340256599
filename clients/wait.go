package clients

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/internal/monotime"
)

// ErrOpen: a request was sent and not answered.
var ErrOpen = errors.New("a request was not answered, it may have been carried out")

// Attempts makes attempts to acquire a key under a session, until one succeeds, one is refused
// (ErrBusy, or an error of refused) or ctx is done. An attempt that failed with ErrOpen gave its
// session up, so what it left is no grant of a later one. It may be granted yet, though: then the
// key is not busy for certain, and the error is ErrOpen. The grant of a failure has the start of
// the first such attempt.
func Attempts(ctx context.Context, key string, pause time.Duration, attempt func() (Grant, error),
	refused ...error) (Grant, error) {
	failed, err := Grant{Key: key}, ctx.Err()
	for ctx.Err() == nil {
		start := monotime.Now()
		var g Grant
		if g, err = attempt(); err == nil {
			return g, nil
		}
		if failed.First == 0 && errors.Is(err, ErrOpen) {
			failed.First = start
		}
		if slices.ContainsFunc(append(refused, ErrBusy), func(end error) bool { return errors.Is(err, end) }) {
			break
		}
		_ = Wait(ctx, pause)
	}
	if failed.First != 0 && errors.Is(err, ErrBusy) {
		err = ErrOpen
	}
	return failed, err
}

// Wait is what a lock does between two tries: it returns nil after d, or the context's error as
// soon as that has ended. A loop that looks at its context anyway need not look at the error.
func Wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
