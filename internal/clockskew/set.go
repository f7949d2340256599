//go:build linux

package clockskew

import (
	"context"
	"encoding/binary"
	"fmt"
)

// Set makes the process see s from now on. It takes microseconds and stops nothing,
// but where the monotonic rate falls: then the process is stopped for it. A monotonic
// offset lower than the present one is ErrBackward; to change one clock and keep the
// other, whatever it has gained by now, use Adjust. A strobe is a loop over Set.
//
// What waits in the kernel notices nothing: a sleep, an epoll or a timer ends
// when it would have ended, and only then the program looks at its clock again.
func (t *Target) Set(ctx context.Context, s Skew) error {
	return t.Adjust(ctx, func(Skew) Skew { return s })
}

// Adjust makes the process see what f makes of the present skew. A clock that f
// leaves as it is goes on without a break. f may be called more than once.
func (t *Target) Adjust(ctx context.Context, f func(Skew) Skew) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed("set the clocks of", t.adjust(ctx, f))
}

// Heal ends the fault: the wall clock is true again, and the monotonic clock runs at
// the true rate, but keeps what it gained or lost. The process stays as installed.
func (t *Target) Heal(ctx context.Context) error {
	return t.Adjust(ctx, func(s Skew) Skew { return Skew{Mono: Clock{Offset: s.Mono.Offset}} })
}

// Now returns what the process sees now, compared with the true clocks, as the
// page in the process has it.
func (t *Target) Now() (Skew, error) {
	s, err := t.skew()
	return s, t.failed("read the skew of", err)
}

func (t *Target) skew() (Skew, error) {
	if err := t.needInstalled(); err != nil {
		return Skew{}, err
	}
	_, k, err := t.inForce()
	if err != nil {
		return Skew{}, err
	}
	now, err := t.now()
	return k.skew(now), err
}

func (t *Target) adjust(ctx context.Context, f func(Skew) Skew) error {
	if err := t.needInstalled(); err != nil {
		return err
	}
	n, slower, err := t.following(f)
	if err != nil {
		return err
	}
	if !slower {
		return t.publish(n)
	}
	// Between our look at the clock and the switch readers went on at the old
	// rate, and would be ahead of the new line.
	_, err = t.frozen(ctx, func() error {
		n, _, err := t.following(f)
		if err != nil {
			return err
		}
		return t.publish(n)
	})
	return err
}

// following computes the bank that follows the one in force, and reports whether
// the monotonic clock will run slower.
func (t *Target) following(f func(Skew) Skew) (n bank, slower bool, err error) {
	_, k, err := t.inForce()
	if err != nil {
		return n, false, err
	}
	now, err := t.now()
	if err != nil {
		return n, false, err
	}
	was := k.skew(now)
	want := f(was)
	if err := want.check(); err != nil {
		return n, false, err
	}
	if want.Mono.Offset < was.Mono.Offset {
		return n, false, fmt.Errorf("%w: from %v to %v from true time; the lowest that can be set is what it has: use Adjust",
			ErrBackward, was.Mono.Offset, want.Mono.Offset)
	}
	n = k.next(now, want)
	return n, n.rate[mono] < k.rate[mono], nil
}

func (t *Target) needInstalled() error {
	found, err := t.state()
	if err == nil && !found.installed {
		return fmt.Errorf("%w: Install first", ErrNotInstalled)
	}
	return err
}

// inForce reads the bank in force and its number.
func (t *Target) inForce() (seq uint64, k bank, err error) {
	b, err := t.readAt(t.at(offSeq), offBank+2*bankSize-offSeq)
	if err != nil {
		return 0, k, err
	}
	seq = binary.LittleEndian.Uint64(b)
	return seq, decodeBank(b[offBank-offSeq+int(seq&1)*bankSize:]), nil
}

// publish writes a bank where no reader looks, and then switches to it.
func (t *Target) publish(k bank) error {
	seq, _, err := t.inForce()
	if err != nil {
		return err
	}
	seq++
	if err := t.writeAt(t.at(offBank+(seq&1)*bankSize), k.encode()); err != nil {
		return err
	}
	return t.writeWord(t.at(offSeq), seq)
}
