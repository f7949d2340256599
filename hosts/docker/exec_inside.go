package docker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/lockchaos/lockchaos/hosts"
)

// asked are the commands that the agent has asked outer to run, who alone speaks to the engine.
type asked struct {
	mu      sync.Mutex
	out     *json.Encoder
	last    int64
	waiting map[int64]chan execTold
}

func newAsked(out io.Writer) *asked {
	return &asked{out: json.NewEncoder(out), waiting: map[int64]chan execTold{}}
}

// listen hands what outer tells to those who wait for it, until the input ends.
func (a *asked) listen(in *bufio.Reader) error {
	lines := json.NewDecoder(in)
	for {
		var told execTold
		if err := lines.Decode(&told); err != nil {
			return err
		}
		a.mu.Lock()
		if c := a.waiting[told.Exec]; c != nil {
			c <- told // it has room for both that may come
		}
		a.mu.Unlock()
	}
}

// begin asks for a command.
func (a *asked) begin(node string, command []string) (id int64, told <-chan execTold, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	c := make(chan execTold, 2)
	a.waiting[a.last] = c
	return a.last, c, a.out.Encode(execAsk{Exec: a.last, Node: node, Command: command})
}

// say tells outer more about a command.
func (a *asked) say(ask execAsk) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.out.Encode(ask)
}

// forget is for a command that has ended, or that nobody waits for any more.
func (a *asked) forget(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

// Exec runs a command in a node's container, as `docker exec -i` does, and returns how it ended. When the command runs ready is called with its process number, on
// the caller's goroutine, and only then it gets its input; it gets none, and is waited for no longer, if ready returns an error or ctx ends. A command that ends
// at once, or can't be started, may be one that ready is not called for: its status and output say why.
func (j *Joined) Exec(ctx context.Context, node string, command []string, input []byte, ready func(pid int) error) (hosts.Executed, error) {
	id, told, err := j.asked.begin(node, command)
	defer j.asked.forget(id)
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
			}
			if err = ready(t.PID); err == nil {
				err = j.asked.say(execAsk{Exec: id, Input: input})
			}
		}
	}
	if dropped := j.asked.say(execAsk{Exec: id, Drop: true}); dropped != nil {
		err = errors.Join(err, fmt.Errorf("tell that nobody waits for a command: %w", dropped))
	}
	return hosts.Executed{}, err
}
