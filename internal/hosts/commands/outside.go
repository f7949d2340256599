package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/lockchaos/lockchaos/internal/hosts"
)

// ErrDropped says that nobody waits for a command any more.
var ErrDropped = errors.New("nobody waits for it")

// Do runs one command, from its start to its end. It tells when it runs; then
// the command's input comes from more, or that nobody waits for it any more.
type Do func(ctx context.Context, ask Ask, more <-chan Ask, runs func(pid int)) (hosts.Executed, error)

// Runs are the commands that outer runs, as an inner program asks. It is the
// writer of that program's output.
type Runs struct {
	ctx context.Context // ends with the scenario
	out io.Writer
	do  Do
	all sync.WaitGroup

	writing sync.Mutex
	rest    []byte // of a line that is not whole

	mu      sync.Mutex
	tell    func(Told) // set when the inner program listens
	waiting map[int64]chan Ask
}

// NewRuns returns one that passes all other output on to out.
func NewRuns(ctx context.Context, out io.Writer, do Do) *Runs {
	return &Runs{ctx: ctx, out: out, do: do, waiting: map[int64]chan Ask{}}
}

// To says by whom it is told what came of the commands.
func (r *Runs) To(tell func(Told)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell = tell
}

// Write passes whole lines on, and does what is asked for in the others.
func (r *Runs) Write(p []byte) (int, error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.rest = append(r.rest, p...)
	for {
		end := bytes.IndexByte(r.rest, '\n')
		if end < 0 {
			return len(p), nil
		}
		line := r.rest[:end+1]
		if !bytes.HasPrefix(line, mark) {
			if _, err := r.out.Write(line); err != nil {
				return 0, err
			}
		} else if err := r.take(line); err != nil {
			return 0, err
		}
		r.rest = r.rest[end+1:]
	}
}

// Close waits for the end of all that was asked for; the context must have
// ended. What is left of the output, without an end of line, is passed on.
func (r *Runs) Close() error {
	r.To(nil) // nothing more is begun
	r.all.Wait()
	r.writing.Lock()
	defer r.writing.Unlock()
	_, err := r.out.Write(r.rest)
	return err
}

// take does what one line asks for.
func (r *Runs) take(line []byte) error {
	var ask Ask
	if err := json.Unmarshal(line, &ask); err != nil {
		return fmt.Errorf("read which command is to be run: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	more := r.waiting[ask.Exec]
	if ask.Command == nil && ask.Act == "" {
		if more != nil {
			more <- ask // it has room for both that may come
		}
		return nil
	}
	tell := r.tell
	if tell == nil {
		return nil // the scenario is over
	}
	more = make(chan Ask, 2)
	r.waiting[ask.Exec] = more
	r.all.Go(func() {
		told := Told{Exec: ask.Exec}
		ended, err := r.do(r.ctx, ask, more, func(pid int) { tell(Told{Exec: ask.Exec, PID: pid}) })
		if err != nil {
			told.Failed = err.Error()
		} else {
			told.Ended = &ended
		}
		r.mu.Lock()
		delete(r.waiting, ask.Exec)
		r.mu.Unlock()
		tell(told)
	})
	return nil
}
