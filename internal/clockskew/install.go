//go:build linux

package clockskew

import (
	"context"
	"fmt"
	"time"
)

// Install leads the clocks of the process to our code, which shows true time
// until the first Set. The process is stopped for it. It is no error if that
// was done before; the Change then has no Tries.
func (t *Target) Install(ctx context.Context) (Change, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, err := t.install(ctx)
	return c, t.failed("install a clock skew in", err)
}

func (t *Target) install(ctx context.Context) (Change, error) {
	found, err := t.state()
	if err != nil || found.installed {
		return Change{Fast: found.fast}, err
	}
	waits, err := t.waits()
	if err != nil {
		return Change{}, err
	}
	fast := found.fast
	c, err := t.frozen(ctx, func() error {
		// In an order that leaves the process sound wherever it ends.
		if found.written {
			// It cannot be written anew, since a thread may still be inside.
			if err := t.publish(neutral()); err != nil {
				return err
			}
		} else {
			var b []byte
			b, fast = body(t.image, t.layout, t.base, t.at(0))
			if err := t.writeAt(t.at(uint64(len(magic))), b[len(magic):]); err != nil {
				return err
			}
			if err := t.writeAt(t.at(0), b[:len(magic)]); err != nil {
				return err
			}
		}
		if err := t.lead(waits.to(t.at(entryAt(entryCond)))); err != nil {
			return err
		}
		for i, e := range t.layout.entry {
			if e == 0 {
				continue
			}
			if err := t.writeAt(t.base+e, jump(t.base+e, t.at(entryAt(i)))); err != nil {
				return err
			}
		}
		return nil
	})
	c.Fast, c.Waits = fast, len(waits.slots)
	return c, err
}

// Restore takes the skew away: the process's clocks are the vDSO's own again. The
// wall clock jumps to true time, and so does a monotonic clock that is behind; while
// one is ahead Restore returns ErrBackward and changes nothing: Heal is what can be
// done then. The process is stopped for it. It is no error if nothing is installed.
func (t *Target) Restore(ctx context.Context) (Change, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, err := t.restore(ctx)
	return c, t.failed("restore the clocks of", err)
}

func (t *Target) restore(ctx context.Context) (Change, error) {
	found, err := t.state()
	if err != nil || !found.installed {
		return Change{}, err
	}
	if err := t.notAhead(); err != nil {
		return Change{}, err // without a stop
	}
	waits, err := t.waits()
	if err != nil {
		return Change{}, err
	}
	c, err := t.frozen(ctx, func() error {
		if err := t.notAhead(); err != nil {
			return err
		}
		// For threads that are inside.
		if err := t.publish(neutral()); err != nil {
			return err
		}
		if err := t.lead(waits.to(waits.original)); err != nil {
			return err
		}
		for _, e := range t.layout.entry {
			if e == 0 {
				continue
			}
			if err := t.writeAt(t.base+e, t.image[e:e+jumpLen]); err != nil {
				return err
			}
		}
		return nil
	})
	c.Fast, c.Waits = found.fast, len(waits.slots)
	return c, err
}

// notAhead returns an error if any monotonic clock of the target is ahead of true time.
func (t *Target) notAhead() error {
	_, k, err := t.inForce()
	if err != nil {
		return err
	}
	now, err := t.now()
	if err != nil {
		return err
	}
	for id, class := range classOf {
		if gain := k.gained(id, now[id]); class == mono && gain > 0 {
			return fmt.Errorf("%w by %s: Heal, and let the skew stay until the process ends", ErrBackward,
				Clock{Offset: time.Duration(gain)})
		}
	}
	return nil
}

// lead makes calls of pthread_cond_timedwait go where the waits say.
func (t *Target) lead(w waits) error {
	if len(w.slots) == 0 {
		return nil
	}
	if err := t.writeWord(t.at(offOrig), w.original); err != nil {
		return err
	}
	for _, slot := range w.slots {
		if err := t.writeWord(slot, w.target); err != nil {
			return err
		}
	}
	return nil
}
