package redsync

import (
	"context"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients/internal/redisconn"
)

// trace notes what one call of the library sends, and what is answered. A call
// may use all nodes at once; a client has one call at a time. The call's
// context ends the pauses between tries, and no try.
type trace struct {
	redisconn.Tries

	mu    sync.Mutex
	nodes []nodeTrace
	start int64 // of the present try, 0 before its first command
	// the try before this one was told by so many that another has the key that
	// no majority was left
	busy bool
}

// nodeTrace is what is known of one node.
type nodeTrace struct {
	set, del redisconn.Outcome // in the present try
	// since is the start of the earliest try that may have left the value on
	// the node, 0 if none has.
	since int64
}

// begin starts the trace of a call. stop ends the context that the library was given.
func (t *trace) begin(stop context.CancelFunc) {
	t.mu.Lock()
	t.nodes, t.start, t.busy = make([]nodeTrace, len(t.nodes)), 0, false
	t.mu.Unlock()
	t.Begin(stop)
}

// pause is called between two tries of a call.
func (t *trace) pause() {
	t.Pause()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy, t.start = t.refused(), 0
	for i := range t.nodes {
		t.nodes[i].set, t.nodes[i].del = redisconn.Unsent, redisconn.Unsent
	}
}

// refused reports whether the servers clearly said that another has the key.
func (t *trace) refused() bool {
	refusals, others := t.count(redisconn.No), t.count(redisconn.Yes)+t.count(redisconn.Unknown)
	return refusals > len(t.nodes)-(len(t.nodes)/2+1) || t.busy && others == 0
}

func (t *trace) count(set redisconn.Outcome) (n int) {
	for _, node := range t.nodes {
		if node.set == set {
			n++
		}
	}
	return n
}

// left returns the start of the earliest try of which something may be left on
// a server, 0 if nothing is.
func (t *trace) left() (since int64) {
	for _, node := range t.nodes {
		if node.since != 0 && (since == 0 || node.since < since) {
			since = node.since
		}
	}
	return since
}

// observer notes the commands that go to one node.
func (t *trace) observer(node int) redisconn.Observer {
	return redisconn.Observer{Sending: t.Sending, Done: func(cmd goredis.Cmder, start int64, got redisconn.Outcome) {
		t.note(node, cmd.Name(), start, got)
	}}
}

// note takes in one command's outcome.
func (t *trace) note(node int, name string, start int64, got redisconn.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := &t.nodes[node]
	if name == "set" {
		if t.start == 0 || start < t.start {
			t.start = start
		}
		n.set = got
		if (got == redisconn.Yes || got == redisconn.Unknown) && n.since == 0 {
			n.since = start
		}
		return
	}
	n.del = got
	if got == redisconn.Yes || got == redisconn.No && n.set == redisconn.Yes {
		n.since = 0 // what was set has been deleted, or has expired
	}
}
