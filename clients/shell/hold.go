//go:build linux

package shell

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockchaos/lockchaos/clients"
)

// hold starts the command that holds a key for as long as it runs, and waits until it prints a
// line. It returns what was printed.
func (l *lock) hold(ctx context.Context, key, value string) (output string, err error) {
	p, err := start(l.commands.Acquire, l.environment(ctx, key, grant{value: value}))
	if err != nil {
		l.fail(err)
		return "", err
	}
	select {
	case <-p.out.line:
	case <-p.ended:
	case <-ctx.Done():
	}
	switch {
	case over(p.out.line):
		l.mu.Lock()
		l.holds[value] = p
		l.mu.Unlock()
		return p.out.whole(), nil
	case over(p.ended):
		_ = p.in.Close() // nothing was written to it
		if err := l.outcome(p, AcquireFlag, clients.ErrBusy); err != nil {
			return "", err
		}
		return "", errors.New("the command of --acquire ended with status 0 and had printed no line: " +
			"print one when the key is granted, and run on until it is to be given back")
	}
	asked, cancel := context.WithTimeout(context.WithoutCancel(ctx), kindness)
	defer cancel()
	p.end(asked)
	return "", errors.New("the command of --acquire had neither the key in its time nor an exit status, and was ended")
}

// watch tells of the loss when a command ends by itself that holds.
func (l *lock) watch(p *process, g clients.Grant, value string) {
	<-p.ended
	if l.taken(value) == nil {
		return // it was to end
	}
	_ = p.in.Close() // nothing was written to it
	why := fmt.Sprintf("the command of --acquire, which holds for as long as it runs, has ended: %s", p)
	select {
	case l.lost <- clients.Loss{Key: g.Key, Token: g.Token, Why: why}:
	default: // a reader that is so many behind knows enough
	}
}

// holding is the command that holds a grant; nil: none does.
func (l *lock) holding(value string) *process {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holds[value]
}

// taken takes the command that holds a grant out of those that do; nil: none does.
func (l *lock) taken(value string) *process {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.holds[value]
	delete(l.holds, value)
	return p
}

// letGo ends the command that holds.
func (l *lock) letGo(ctx context.Context, g clients.Grant) error {
	own, err := asGrant(g)
	if err != nil {
		return err
	}
	p := l.taken(own.value)
	if p == nil {
		return clients.ErrNotHeld // it has ended, and that was told
	}
	if !p.end(ctx) {
		return errors.New("the command of --acquire did not end when it was to give the key back, and was killed")
	}
	if p.terminated() { // it has done as it was told
		return nil
	}
	return l.outcome(p, AcquireFlag, nil)
}

// running asks whether the command that holds still runs.
func (l *lock) running(g clients.Grant) error {
	own, err := asGrant(g)
	if err != nil {
		return err
	}
	if l.holding(own.value) == nil {
		return clients.ErrNotHeld
	}
	return nil
}
