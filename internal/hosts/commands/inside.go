package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
)

// Asked are the commands that an inner program has asked for. Safe for concurrent use.
type Asked struct {
	mu      sync.Mutex
	out     *json.Encoder
	last    int64
	waiting map[int64]chan Told
}

// NewAsked returns one that asks on out, to which whole lines are written.
func NewAsked(out io.Writer) *Asked {
	return &Asked{out: json.NewEncoder(out), waiting: map[int64]chan Told{}}
}

// Hear hands what outer tells to those who wait for it.
func (a *Asked) Hear(told Told) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.waiting[told.Exec]; c != nil {
		c <- told // it has room for both that may come
	}
}

// begin asks for something; the number is given to it.
func (a *Asked) begin(ask Ask) (id int64, told <-chan Told, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	c := make(chan Told, 2)
	a.waiting[a.last] = c
	ask.Exec = a.last
	return a.last, c, a.out.Encode(ask)
}

// Act has outer do something to a node, and returns what outer answers. A
// caller that gives up waiting does not know whether it is done.
func (a *Asked) Act(ctx context.Context, node, act string, input []byte) (answer []byte, err error) {
	id, told, err := a.begin(Ask{Node: node, Act: act, Input: input})
	defer a.forget(id)
	if err != nil {
		return nil, err
	}
	select {
	case t := <-told:
		switch {
		case t.Failed != "":
			return nil, errors.New(t.Failed)
		case t.Ended == nil:
			return nil, fmt.Errorf("%s of %s was answered as if it were a command", act, node)
		}
		return t.Ended.Stdout, nil
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), a.say(Ask{Exec: id, Drop: true}))
	}
}

// say tells outer more about a command.
func (a *Asked) say(ask Ask) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.out.Encode(ask)
}

// forget is for a command that has ended, or that nobody waits for any more.
func (a *Asked) forget(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

// findStep is the pause between two looks for the process of a command.
const findStep = 5 * time.Millisecond

// Exec runs a command in a node's container, as `docker exec -i` does, and returns how it
// ended. When the command runs ready is called with its process number, on the caller's
// goroutine, and only then it gets its input; it gets none, and is waited for no longer, if
// ready returns an error or ctx ends. A command that ends at once, or can't be started, may be
// one that ready is not called for: its status and output say why. find looks for the process
// where outer does not know its number, and returns 0 while there is none; nil: outer knows.
func (a *Asked) Exec(ctx context.Context, node string, command []string, input []byte, find func() (int, error),
	ready func(pid int) error) (hosts.Executed, error) {
	id, told, err := a.begin(Ask{Node: node, Command: command})
	defer a.forget(id)
	started := func(pid int) error {
		if err := ready(pid); err != nil {
			return err
		}
		return a.say(Ask{Exec: id, Input: input})
	}
	var look <-chan time.Time // while its process is looked for
	for err == nil {
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case t := <-told:
			switch {
			case t.Failed != "":
				return hosts.Executed{}, errors.New(t.Failed)
			case t.Ended != nil:
				return *t.Ended, nil
			case t.PID == Unnumbered:
				look = time.After(0)
			default:
				err = started(t.PID)
			}
		case <-look:
			look = time.After(findStep)
			var pid int
			if pid, err = find(); err == nil && pid != 0 {
				look, err = nil, started(pid)
			}
		}
	}
	if dropped := a.say(Ask{Exec: id, Drop: true}); dropped != nil {
		err = errors.Join(err, fmt.Errorf("tell that nobody waits for a command: %w", dropped))
	}
	return hosts.Executed{}, err
}
