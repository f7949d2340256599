//go:build linux

package shell

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/adapted"
	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// pause lies between two attempts to take a key that another holds.
const pause = 50 * time.Millisecond

// Lock is the lock that is made of the commands, to be served as an adapter. fail is told of a
// command that can't be started, which is no answer of the lock, and should end the program.
func (c Commands) Lock(fail func(error)) (adapted.Lock, error) {
	if err := c.Check(); err != nil {
		return adapted.Lock{}, err
	}
	says, err := c.Says()
	return adapted.Lock{Open: func(_ context.Context, config clients.Config) (clients.Lock, error) {
		l := &lock{commands: c, says: says, env: fixed(config), fail: fail,
			lost: make(chan clients.Loss, 100), holds: map[string]*process{}}
		return l.able(), nil
	}}, err
}

// lock is one client of such a lock.
type lock struct {
	commands Commands
	says     adapter.Declaration
	env      []string
	fail     func(error)
	lost     chan clients.Loss
	count    int64 // of grants

	mu    sync.Mutex
	holds map[string]*process // the commands that hold keys, by the values of their grants
}

// grant is what a command must know of one.
type grant struct{ value, output string }

// Declares returns what the lock promises.
func (l *lock) Declares() clients.Declaration {
	return clients.Declaration{Name: l.says.Name, Claims: external.Claims(l.says), Lease: l.says.Lease}
}

// Lost returns the channel of lost-events: a command that holds has ended by itself.
func (l *lock) Lost() <-chan clients.Loss { return l.lost }

// Acquire runs the command again and again until its answer is not that another holds the key.
func (l *lock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	value := rand.Text()
	for {
		began := monotime.Now()
		g := clients.Grant{Key: key, First: began}
		output, err := l.take(ctx, key, value)
		if err == nil {
			return l.granted(g, value, output)
		}
		if !errors.Is(err, clients.ErrBusy) {
			return g, err
		}
		// Another attempt that could not end in time would leave open what is certain now.
		if again := pause + 2*monotime.Since(began); remaining(ctx) < again {
			return clients.Grant{Key: key}, err
		}
		if clients.Wait(ctx, pause) != nil {
			return clients.Grant{Key: key}, err // given up, and the last answer was that another holds it
		}
	}
}

// granted completes a grant. A command that holds may have taken the key at any time since it
// began, so only for others the attempt is known.
func (l *lock) granted(g clients.Grant, value, output string) (clients.Grant, error) {
	g.Secret = grant{value, output}
	token, err := l.token(output)
	if g.Token = token; !l.commands.Holds() {
		g.Attempt = g.First
		return g, err
	}
	if err != nil {
		l.taken(value).kill() // no reply will name the grant
		return g, err
	}
	go l.watch(l.holding(value), g, value)
	return g, nil
}

// token is that of a grant: a number in the first line of the output, if the lock declares tokens.
// Else it numbers the client's grants, so that a late lost-event is not taken for a newer grant's.
func (l *lock) token(output string) (int64, error) {
	if l.says.Token == "none" {
		l.count++
		return l.count, nil
	}
	n, err := strconv.ParseInt(first(output), 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("--declare has a token, and the command of --acquire printed %.40q in the place of a number above 0", first(output))
	}
	return n, nil
}

// take makes one attempt, and returns what the command printed.
func (l *lock) take(ctx context.Context, key, value string) (output string, err error) {
	if l.commands.Holds() {
		return l.hold(ctx, key, value)
	}
	return l.run(ctx, AcquireFlag, l.commands.Acquire, key, grant{value: value}, clients.ErrBusy)
}

// environment are the variables of a command.
func (l *lock) environment(ctx context.Context, key string, g grant) []string {
	all := append([]string{keyVar + "=" + key, grantVar + "=" + g.value, outputVar + "=" + g.output}, l.env...)
	return append(all, within(remaining(ctx))...)
}

// remaining is how long a call may still take.
func remaining(ctx context.Context) time.Duration {
	until, ok := ctx.Deadline()
	if !ok {
		return time.Minute
	}
	return max(time.Until(until), 0)
}

// run runs a command to its end, and returns what it printed. no is what its exit status 1 says.
func (l *lock) run(ctx context.Context, flag, line, key string, g grant, no error) (output string, err error) {
	p, err := start(line, l.environment(ctx, key, g))
	if err != nil {
		l.fail(err)
		return "", err
	}
	_ = p.in.Close() // it is given nothing
	if !p.endsBefore(ctx) {
		p.kill()
		return "", fmt.Errorf("the command of --%s had not ended in its time, and was killed", flag)
	}
	return p.out.whole(), l.outcome(p, flag, no)
}

// outcome is what the end of a command says.
func (l *lock) outcome(p *process, flag string, no error) error {
	switch status := p.cmd.ProcessState.ExitCode(); {
	case p.err != nil:
		return fmt.Errorf("the command of --%s: %w", flag, p.err)
	case status == statusOK:
		return nil
	case status == statusNo && no != nil:
		return no
	case status == statusNoExec || status == statusNoFile:
		err := fmt.Errorf("the command of --%s can't be started here (%s): install what it needs, or give the path", flag, p)
		l.fail(err)
		return err
	}
	return fmt.Errorf("the command of --%s ended with %s", flag, p)
}

func asGrant(g clients.Grant) (grant, error) {
	own, ok := g.Secret.(grant)
	if !ok {
		return grant{}, fmt.Errorf("the grant is not one of this lock's: %w", clients.ErrNotHeld)
	}
	return own, nil
}

// on runs a command about a grant.
func (l *lock) on(ctx context.Context, flag, line string, g clients.Grant) error {
	own, err := asGrant(g)
	if err != nil {
		return err
	}
	_, err = l.run(ctx, flag, line, g.Key, own, clients.ErrNotHeld)
	return err
}

// Release gives the key back.
func (l *lock) Release(ctx context.Context, g clients.Grant) error {
	if l.commands.Holds() {
		return l.letGo(ctx, g)
	}
	return l.on(ctx, ReleaseFlag, l.commands.Release, g)
}

// Close ends the commands that hold.
func (l *lock) Close(ctx context.Context) error {
	l.mu.Lock()
	all := l.holds
	l.holds = map[string]*process{}
	l.mu.Unlock()
	var wait sync.WaitGroup
	for _, p := range all {
		wait.Go(func() { p.end(ctx) })
	}
	wait.Wait()
	return nil
}
