package harness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/history"
)

// client drives one worker. Its ops come one at a time; events of the worker may come at any time.
type client struct {
	number  int32
	process atomic.Int32 // the incarnation; new after an indefinite op, and read by events too
	host    string
	in      io.Writer
	sending sync.Mutex // a fault may have something to send, too
	line    []byte     // of the last command; its memory is used again
	replies chan reply
	// gone is closed when the worker can answer no more; why tells the reason.
	gone chan struct{}
	why  error

	// simulated, if set, carries commands out in the place of a process.
	simulated func(context.Context, command) (reply, error)

	rec   *history.Recorder
	ids   *numbers
	keys  map[string]history.KeyID
	event func(reply) // called for lost-events and stalls, on the reader's goroutine
	// extra is how much longer than the op's own timeout the harness waits:
	// pauses are on top of it.
	extra time.Duration
	// claims are the lock's: what an acquire asks for is recorded where there is a choice.
	claims clients.Claims
	// ended tells when a fault had ended a session, 0 if none did; nil: nothing ends sessions.
	ended func(session int64) int64
	// tap watches the client's packets; nil: nobody needs to know when they passed.
	tap *tap
	// holdUps are the faults that hold an activity of the worker up.
	holdUps holdUps
}

// numbers gives out the numbers of ops, incarnations and faults, over all
// clients, and counts what progress shows.
type numbers struct {
	op, process, faults, bites, grants atomic.Int64
	shown                              shown
}

func (n *numbers) nextOp() int64 { return n.nextOps(1) }

// the first of them
func (n *numbers) nextOps(many int) int64 { return n.op.Add(int64(many)) - int64(many) + 1 }
func (n *numbers) nextProcess() int32     { return int32(n.process.Add(1)) }
func (n *numbers) nextFault() int         { return int(n.faults.Add(1)) }

// listen reads the worker's lines until they end. Died, when it returns an
// error, says why the process ended.
func (c *client) listen(out io.Reader, died func() error) {
	defer close(c.gone)
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 0, 4096), maxMessage)
	for lines.Scan() {
		var r reply
		if err := r.parse(lines.Bytes()); err != nil {
			c.why = fmt.Errorf("client %d on host %s answered what is no reply: %.80q", c.number, c.host, lines.Text())
			return
		}
		if r.Event != "" {
			c.event(r)
			continue
		}
		c.replies <- r
	}
	c.why = errors.Join(lines.Err(), died())
	if c.why != nil {
		c.why = fmt.Errorf("client %d: %w", c.number, c.why)
	}
}

// send writes a command without waiting.
func (c *client) send(cmd command) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	line, err := cmd.appendLine(c.line[:0])
	if err != nil {
		return err
	}
	c.line = line
	if _, err := c.in.Write(line); err != nil {
		return fmt.Errorf("client %d on host %s: send %s: %w", c.number, c.host, cmd.Op, err)
	}
	return nil
}

// ask sends a command and waits for its answer. It fails when the worker is
// gone, hangs, or the context ends.
func (c *client) ask(ctx context.Context, cmd command) (reply, error) {
	if c.simulated != nil {
		return c.simulated(ctx, cmd)
	}
	if err := c.send(cmd); err != nil {
		return reply{}, c.reason(err)
	}
	limit := time.NewTimer(time.Duration(cmd.Timeout) + c.extra)
	defer limit.Stop()
	for {
		select {
		case r := <-c.replies:
			if r.ID == cmd.ID && r.Broken {
				return reply{}, fmt.Errorf("client %d on host %s: %s", c.number, c.host, r.Error)
			}
			if r.ID == cmd.ID {
				return r, nil
			}
			return reply{}, fmt.Errorf("client %d on host %s answered op %d while %d was asked", c.number, c.host, r.ID,
				cmd.ID)
		case <-c.gone:
			return reply{}, c.reason(fmt.Errorf("client %d on host %s ended during %s", c.number, c.host, cmd.Op))
		case <-limit.C:
			return reply{}, fmt.Errorf("client %d on host %s has not answered %s for %v, its time limit of %v included",
				c.number, c.host,
				cmd.Op, time.Duration(cmd.Timeout)+c.extra, time.Duration(cmd.Timeout))
		case <-ctx.Done():
			return reply{}, context.Cause(ctx)
		}
	}
}

// reason prefers what is known of the worker's end to the broken pipe that it
// leaves. The pipe breaks first: the end is waited for.
func (c *client) reason(err error) error {
	t := time.NewTimer(deathNotice)
	defer t.Stop()
	select {
	case <-c.gone:
		if c.why != nil {
			return c.why
		}
	case <-t.C:
	}
	return err
}

// op is one recorded operation: what is asked, and on which key and grant.
type op struct {
	kind    history.Kind
	key     string
	grant   int64 // 0 for an acquire: its own number
	token   int64
	value   int64
	timeout time.Duration
	reader  bool // an acquire asks to be a reader
	permits int  // how many permits an acquire asks for; 0: one
	// the keys that one call is for, key first; nil: key alone. The grant of
	// each is one more than that of the one before
	set     []string
	invoked func() // called when the invocation is recorded; nil: nobody wants to know
}

// record records an event of an op for each key that it is for. e is that of the first.
func (c *client) record(keys []string, e history.Event) {
	if e.Type == history.Invoke && len(keys) > 1 {
		e.Set = e.Op
	}
	for _, key := range keys {
		e.Key = c.keys[key]
		c.rec.Record(e)
		e.Op++
		e.Grant++
	}
}

// do records the invocation, asks, and records the completion. An error means that
// the harness can't go on with this client; the op's own failure is in the reply.
func (c *client) do(ctx context.Context, o op) (id int64, r reply, err error) {
	keys := every(o.key, o.set)
	id = c.ids.nextOps(len(keys))
	e := history.Event{Type: history.Invoke, Kind: o.kind, Op: id, Grant: o.grant, Client: c.number,
		Process: c.process.Load()}
	if o.kind == history.Acquire {
		e.Grant = id
	}
	if o.kind == history.Read || o.kind == history.Write {
		e.Token, e.Value = o.token, o.value
	}
	if o.permits > 1 {
		e.Permits = uint8(o.permits) // no lock claims more than history.MaxPerAcquire
	}
	if c.claims.ReadWrite && o.kind == history.Acquire {
		e.Mode = history.ModeWrite
		if o.reader {
			e.Mode = history.ModeRead
		}
	}
	c.record(keys, e)
	e.Mode, e.Permits = history.ModeNone, 0 // only the invocation has them
	if o.invoked != nil {
		o.invoked()
	}
	if o.kind == history.Acquire {
		c.tap.begin()
	}
	r, err = c.ask(ctx, command{ID: id, Op: o.kind.String(), Key: o.key, Keys: o.set, Read: o.reader,
		Permits: o.permits, Grant: e.Grant, Timeout: int64(o.timeout), Value: o.value})
	if err != nil {
		e.Time, e.Type, e.Text = 0, history.Info, err.Error()
		c.record(keys, e)
		return id, r, err
	}
	c.record(keys, c.completion(e, r))
	if o.kind == history.Acquire && r.Result == resultOK {
		c.ids.grants.Add(int64(len(keys)))
		for _, key := range keys {
			c.ids.shown.granted(key, c.number)
		}
	}
	if r.Result == resultInfo {
		c.process.Store(c.ids.nextProcess())
	}
	return id, r, nil
}

// completion turns a worker's reply into the event that completes the op invoked by e.
func (c *client) completion(e history.Event, r reply) history.Event {
	e.Time = 0
	e.Type = history.Info // whatever else a worker may say, nothing is certain
	switch r.Result {
	case resultOK:
		e.Type = history.OK
	case resultFail:
		e.Type = history.Fail
	}
	e.Start, e.End = c.rec.Relative(r.Start), c.rec.Relative(r.End)
	e.Attempt, e.First, e.Enqueued = c.rec.Relative(r.Attempt), c.rec.Relative(r.First), c.rec.Relative(r.Enqueued)
	if e.Type == history.OK && e.Kind == history.Acquire {
		seen := c.tap.end(r)
		e.Sent, e.Came = c.rec.Relative(seen.Sent), c.rec.Relative(seen.Came)
	}
	if r.Session != 0 && c.ended != nil {
		e.Ended = c.rec.Relative(c.ended(r.Session))
	}
	if r.Token != 0 {
		e.Token = r.Token
	}
	if r.ValidFor != nil {
		// A library may call a grant good for ever, or measure from a zero time.
		e.ValidFor, e.HasValidFor = min(max(*r.ValidFor, -history.MaxValidFor), history.MaxValidFor), true
	}
	e.Version, e.Replaced, e.Seq = r.Version, r.Replaced, r.Seq
	if e.Kind == history.Read || r.Atomic && r.Result == resultOK {
		e.Value = r.Value
	}
	e.Conflict, e.Atomic = r.Conflict, r.Atomic
	e.Declined, e.Refused, e.NotHeld, e.Busy, e.Text = r.Declined, r.Refused, r.NotHeld, r.Busy, r.Error
	return e
}
