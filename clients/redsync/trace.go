package redsync

import (
	"context"
	"errors"
	"net"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/monotime"
)

// trace notes what one call of the library sends, and what is answered. A call may use all nodes at once; a client has one call at a time.
type trace struct {
	mu    sync.Mutex
	nodes []nodeTrace
	start int64 // of the present try, 0 before its first command
	busy  bool  // the try before this one was told by so many that another has the key that no majority was left

	// The call's context ends the pauses between tries, and no try: stop ends the call in a pause, or when the next one begins.
	stop    context.CancelFunc
	pausing bool
	over    bool
}

// nodeTrace is what is known of one node.
type nodeTrace struct {
	set, del outcome // in the present try
	// since is the start of the earliest try that may have left the value on the node, 0 if none has.
	since int64
}

type outcome int

const (
	unsent  outcome = iota // certainly not
	yes                    // answered: taken, deleted
	no                     // answered: another has it, it was not there
	unknown                // sent, perhaps
)

// begin starts the trace of a call. stop ends the context that the library was given.
func (t *trace) begin(stop context.CancelFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nodes, t.start, t.busy = make([]nodeTrace, len(t.nodes)), 0, false
	t.stop, t.pausing, t.over = stop, false, false
}

// end is called when the call has run out of time.
func (t *trace) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over = true; t.pausing {
		t.stop()
	}
}

// sending is called before a command is sent: the pause is over.
func (t *trace) sending() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pausing = false
}

// pause is called between two tries of a call.
func (t *trace) pause() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pausing = true; t.over {
		t.stop()
	}
	t.busy, t.start = t.refused(), 0
	for i := range t.nodes {
		t.nodes[i].set, t.nodes[i].del = unsent, unsent
	}
}

// refused tells whether the servers clearly said that another has the key.
func (t *trace) refused() bool {
	refusals, others := t.count(no), t.count(yes)+t.count(unknown)
	return refusals > len(t.nodes)-(len(t.nodes)/2+1) || t.busy && others == 0
}

func (t *trace) count(set outcome) (n int) {
	for _, node := range t.nodes {
		if node.set == set {
			n++
		}
	}
	return n
}

// left returns the start of the earliest try of which something may be left on a server, 0 if nothing is.
func (t *trace) left() (since int64) {
	for _, node := range t.nodes {
		if node.since != 0 && (since == 0 || node.since < since) {
			since = node.since
		}
	}
	return since
}

// note takes in one command's outcome.
func (t *trace) note(node int, name string, start int64, got outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := &t.nodes[node]
	if name == "set" {
		if t.start == 0 || start < t.start {
			t.start = start
		}
		n.set = got
		if (got == yes || got == unknown) && n.since == 0 {
			n.since = start
		}
		return
	}
	n.del = got
	if got == yes || got == no && n.set == yes {
		n.since = 0 // what was set has been deleted, or has expired
	}
}

// hook looks at the commands that go to one node.
type hook struct {
	trace *trace
	node  int
}

func (h hook) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (h hook) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next // the library sends no pipelines
}

func (h hook) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		h.trace.sending()
		if err := ctx.Err(); err != nil { // over already: go-redis would not send it either
			cmd.SetErr(err)
			h.trace.note(h.node, cmd.Name(), monotime.Now(), unsent)
			return err
		}
		start := monotime.Now()
		err := next(ctx, cmd)
		h.trace.note(h.node, cmd.Name(), start, result(cmd, err))
		return err
	}
}

func result(cmd goredis.Cmder, err error) outcome {
	var answered goredis.Error
	var op *net.OpError
	switch {
	case errors.Is(err, goredis.Nil):
		return no
	case errors.As(err, &answered): // an error of the server's: nothing was carried out
		return unsent
	case errors.As(err, &op) && op.Op == "dial":
		return unsent
	case err != nil:
		return unknown
	}
	switch c := cmd.(type) {
	case *goredis.BoolCmd:
		if c.Val() {
			return yes
		}
	case *goredis.Cmd:
		if n, _ := c.Val().(int64); n > 0 {
			return yes
		}
	}
	return no
}
