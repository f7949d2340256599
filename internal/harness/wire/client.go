// Package wire is what the harness and its workers say to each other: commands
// and replies, how they are written as lines, and the driver's end of a client.
package wire

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

// Client drives one worker. Its ops come one at a time; events of the worker may come at any time.
type Client struct {
	Number   int32
	Host     string
	Life     int // how many processes were this client before
	Recorder *history.Recorder
	IDs      *Numbers
	Event    func(Reply) // called for lost-events and stalls, on the reader's goroutine
	// Simulated, if set, carries commands out in the place of a process.
	Simulated func(context.Context, Command) (Reply, error)
	// Extra is how much longer than the op's own timeout the harness waits:
	// pauses are on top of it.
	Extra time.Duration
	// Claims are the lock's: what an acquire asks for is recorded where there is a choice.
	Claims clients.Claims
	// Ended tells when a fault had ended a session, 0 if none did; nil: nothing ends sessions.
	Ended func(session int64) int64
	// Tap watches the client's packets; nil: nobody needs to know when they passed.
	Tap Tap
	// CanAsk and CanRenew are what its lock is able to do; known when it is open.
	CanAsk, CanRenew bool

	process atomic.Int32 // the incarnation; new after an indefinite op, and read by events too
	keys    map[string]history.KeyID
	in      io.Writer
	sending sync.Mutex // a fault may have something to send, too
	line    []byte     // of the last command; its memory is used again
	replies chan Reply
	// gone is closed when the worker can answer no more; why tells the reason.
	gone chan struct{}
	why  error
	// stalls are the faults that hold an activity of the worker up.
	stalls stalls
}

// ErrKilled says that a fault has killed the client, or that it is closed to free a
// stuck key: the application's round is over.
var ErrKilled = errors.New("the client was killed by a fault, or closed")

// Tap tells when the packets of a client's acquire passed.
type Tap interface {
	// Begin is called before the client is asked to acquire a key.
	Begin()
	// End returns when the last request of a grant was sent and its answer came, in stamps
	// of the machine's clock; 0: that is not known. attempt and end are the grant's.
	End(attempt, end int64) (sent, came int64)
}

// NewClient returns the driver's end of a worker that reads its commands from in.
func NewClient(number int32, host string, in io.Writer, ids *Numbers, keys map[string]history.KeyID) *Client {
	c := &Client{Number: number, Host: host, in: in, replies: make(chan Reply, 1), gone: make(chan struct{}), IDs: ids,
		keys: keys}
	c.process.Store(ids.nextProcess())
	return c
}

// Process is the number of the client's process, or of what takes its place after an indefinite op.
func (c *Client) Process() int32 { return c.process.Load() }

// Gone is closed when the worker can answer no more.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// End says that the worker can answer no more. Listen does so for one that is a process.
func (c *Client) End() { close(c.gone) }

// Stream names the random stream of the client's lock: a fresh process draws
// nothing that its predecessor drew.
func (c *Client) Stream() string {
	if c.Life == 0 {
		return fmt.Sprintf("lock of client %d", c.Number)
	}
	return fmt.Sprintf("lock of client %d, process %d", c.Number, c.Life+1)
}

// Listen reads the worker's lines until they end. Died, when it returns an
// error, says why the process ended.
func (c *Client) Listen(out io.Reader, died func() error) {
	defer c.End()
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 0, 4096), MaxMessage)
	for lines.Scan() {
		var r Reply
		if err := r.Parse(lines.Bytes()); err != nil {
			c.why = fmt.Errorf("client %d on host %s answered what is no reply: %.80q", c.Number, c.Host, lines.Text())
			return
		}
		if r.Event != "" {
			c.Event(r)
			continue
		}
		c.replies <- r
	}
	c.why = errors.Join(lines.Err(), died())
	if c.why != nil {
		c.why = fmt.Errorf("client %d: %w", c.Number, c.why)
	}
}

// send writes a command without waiting.
func (c *Client) send(cmd Command) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	line, err := cmd.AppendLine(c.line[:0])
	if err != nil {
		return err
	}
	c.line = line
	if _, err := c.in.Write(line); err != nil {
		return fmt.Errorf("client %d on host %s: send %s: %w", c.Number, c.Host, cmd.Op, err)
	}
	return nil
}

// Ask sends a command and waits for its answer. It fails when the worker is
// gone, hangs, or the context ends.
func (c *Client) Ask(ctx context.Context, cmd Command) (Reply, error) {
	if c.Simulated != nil {
		return c.Simulated(ctx, cmd)
	}
	if err := c.send(cmd); err != nil {
		return Reply{}, c.reason(err)
	}
	limit := time.NewTimer(time.Duration(cmd.Timeout) + c.Extra)
	defer limit.Stop()
	for {
		select {
		case r := <-c.replies:
			if r.ID == cmd.ID && r.Broken {
				return Reply{}, fmt.Errorf("client %d on host %s: %s", c.Number, c.Host, r.Error)
			}
			if r.ID == cmd.ID {
				return r, nil
			}
			return Reply{}, fmt.Errorf("client %d on host %s answered op %d while %d was asked", c.Number, c.Host, r.ID,
				cmd.ID)
		case <-c.gone:
			return Reply{}, c.reason(fmt.Errorf("client %d on host %s ended during %s", c.Number, c.Host, cmd.Op))
		case <-limit.C:
			return Reply{}, fmt.Errorf("client %d on host %s has not answered %s for %v, its time limit of %v included",
				c.Number, c.Host,
				cmd.Op, time.Duration(cmd.Timeout)+c.Extra, time.Duration(cmd.Timeout))
		case <-ctx.Done():
			return Reply{}, context.Cause(ctx)
		}
	}
}

// reason prefers what is known of the worker's end to the broken pipe that it
// leaves. The pipe breaks first: the end is waited for.
func (c *Client) reason(err error) error {
	t := time.NewTimer(DeathNotice)
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

// Op is one recorded operation: what is asked, and on which key and grant.
type Op struct {
	Kind    history.Kind
	Key     string
	Grant   int64 // 0 for an acquire: its own number
	Token   int64
	Value   int64
	Timeout time.Duration
	Reader  bool // an acquire asks to be a reader
	Permits int  // how many permits an acquire asks for; 0: one
	// the keys that one call is for, key first; nil: key alone. The grant of
	// each is one more than that of the one before
	Set     []string
	Invoked func() // called when the invocation is recorded; nil: nobody wants to know
}

// record records an event of an op for each key that it is for. e is that of the first.
func (c *Client) record(keys []string, e history.Event) {
	if e.Type == history.Invoke && len(keys) > 1 {
		e.Set = e.Op
	}
	for _, key := range keys {
		e.Key = c.keys[key]
		c.Recorder.Record(e)
		e.Op++
		e.Grant++
	}
}

// Do records the invocation, asks, and records the completion. An error means that
// the harness can't go on with this client; the op's own failure is in the reply.
func (c *Client) Do(ctx context.Context, o Op) (id int64, r Reply, err error) {
	keys := KeysOf(o.Key, o.Set)
	id = c.IDs.nextOps(len(keys))
	e := history.Event{Type: history.Invoke, Kind: o.Kind, Op: id, Grant: o.Grant, Client: c.Number,
		Process: c.process.Load()}
	if o.Kind == history.Acquire {
		e.Grant = id
	}
	if o.Kind == history.Read || o.Kind == history.Write {
		e.Token, e.Value = history.NonzeroToken(o.Token), o.Value
	}
	if o.Permits > 1 {
		e.Permits = uint8(o.Permits) // no lock claims more than history.MaxPerAcquire
	}
	if c.Claims.ReadWrite && o.Kind == history.Acquire {
		e.Mode = history.ModeWrite
		if o.Reader {
			e.Mode = history.ModeRead
		}
	}
	c.record(keys, e)
	e.Mode, e.Permits = history.ModeNone, 0 // only the invocation has them
	if o.Invoked != nil {
		o.Invoked()
	}
	if o.Kind == history.Acquire && c.Tap != nil {
		c.Tap.Begin()
	}
	r, err = c.Ask(ctx, Command{ID: id, Op: o.Kind.String(), Key: o.Key, Keys: o.Set, Read: o.Reader,
		Permits: o.Permits, Grant: e.Grant, Timeout: int64(o.Timeout), Value: o.Value})
	if err != nil {
		e.Time, e.Type, e.Text = 0, history.Info, err.Error()
		c.record(keys, e)
		return id, r, err
	}
	c.record(keys, c.completion(e, r))
	if o.Kind == history.Acquire && r.Result == ResultOK {
		c.IDs.Granted(c.Number, keys...)
	}
	if r.Result == ResultInfo {
		c.process.Store(c.IDs.nextProcess())
	}
	return id, r, nil
}

// completion turns a worker's reply into the event that completes the op invoked by e.
func (c *Client) completion(e history.Event, r Reply) history.Event {
	e.Time = 0
	e.Type = history.Info // whatever else a worker may say, nothing is certain
	switch r.Result {
	case ResultOK:
		e.Type = history.OK
	case ResultFail:
		e.Type = history.Fail
	}
	e.Start, e.End = c.Recorder.Relative(r.Start), c.Recorder.Relative(r.End)
	e.Attempt, e.First, e.Enqueued = c.Recorder.Relative(r.Attempt), c.Recorder.Relative(r.First),
		c.Recorder.Relative(r.Enqueued)
	if e.Type == history.OK && e.Kind == history.Acquire && c.Tap != nil {
		sent, came := c.Tap.End(r.Attempt, r.End)
		e.Sent, e.Came = c.Recorder.Relative(sent), c.Recorder.Relative(came)
	}
	if r.Session != 0 && c.Ended != nil {
		e.Ended = c.Recorder.Relative(c.Ended(r.Session))
	}
	if r.Token != 0 {
		e.Token = history.TokenOf(r.Token)
	}
	if r.ValidFor != nil {
		// A library may call a grant good for ever, or measure from a zero time.
		e.ValidFor, e.HasValidFor = min(max(*r.ValidFor, -history.MaxValidFor), history.MaxValidFor), true
	}
	e.Version, e.Replaced, e.Seq = r.Version, r.Replaced, r.Seq
	if e.Kind == history.Read || r.Atomic && r.Result == ResultOK {
		e.Value = r.Value
	}
	e.Conflict, e.Atomic = r.Conflict, r.Atomic
	e.Declined, e.Refused, e.NotHeld, e.Busy, e.Text = r.Declined, r.Refused, r.NotHeld, r.Busy, r.Error
	return e
}

// DeathNotice is how long after a broken connection the death of the process
// behind it may come to light.
const DeathNotice = time.Second
