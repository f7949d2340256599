package adapter

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Limits of what an adapter may do.
const (
	// Grace is how much longer than a request's time limit an answer may take before
	// the adapter counts as hanging. It is generous: a busy machine is no defect.
	Grace = 5 * time.Second
	// maxLine bounds a line.
	maxLine = 1 << 20
	// maxEvents bounds the lost-events between two requests.
	maxEvents = 10_000
	// deathNotice is how long an end is kept to oneself: who kills a client
	// kills adapter and worker, one after the other.
	deathNotice = 500 * time.Millisecond
	// tick is the unit in which patience is counted: a process that is stopped has no ticks.
	tick = 20 * time.Millisecond
)

// Process is the adapter's process, as far as its end is concerned.
type Process interface {
	// Exited is closed when the process has ended, even if others still hold its output.
	Exited() <-chan struct{}
	// How says how it ended: "exit status 1".
	How() string
	// Log is the end of what it printed on standard error.
	Log() string
}

// Conn speaks with one adapter. Requests go one at a time.
type Conn struct {
	command string
	process Process
	in      io.Writer
	grace   time.Duration
	lost    func(Event)
	trace   func(sent bool, line []byte)

	mu       sync.Mutex
	exchange Exchange
	answered chan Reply // of the request that waits
	broken   *BrokenError
	gone     chan struct{} // closed when broken is set
	ended    chan struct{} // closed when the adapter's output has ended
	closing  bool
}

// Options are what a Conn may be given beside its pipes.
type Options struct {
	// Command is what the adapter was started as, for messages.
	Command string
	Process Process
	// Grace is how much longer than its time limit an answer may take; 0: Grace, the constant.
	Grace time.Duration
	// Lost is called for every lost-event, on a goroutine of the Conn; it must
	// not block. nil: nobody wants to know.
	Lost func(Event)
	// Trace is called for every line, sent or printed; it must not block. nil:
	// nobody wants to know.
	Trace func(sent bool, line []byte)
}

// NewConn speaks with the adapter whose standard input is in and whose standard output is out.
func NewConn(in io.Writer, out io.Reader, o Options) *Conn {
	c := &Conn{command: o.Command, process: o.Process, in: in, grace: o.Grace, lost: o.Lost, trace: o.Trace,
		answered: make(chan Reply, 1), gone: make(chan struct{})}
	if c.grace == 0 {
		c.grace = Grace
	}
	if c.lost == nil {
		c.lost = func(Event) {}
	}
	if c.trace == nil {
		c.trace = func(bool, []byte) {}
	}
	c.ended = make(chan struct{})
	go c.read(out)
	go c.mourn()
	return c
}

// Broken returns how the adapter broke the protocol, or nil.
func (c *Conn) Broken() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		return nil
	}
	return c.broken
}

// Gone is closed when the adapter has broken the protocol, its unexpected end included.
func (c *Conn) Gone() <-chan struct{} { return c.gone }

// Ended is closed when the adapter's output has ended and all of it is read.
func (c *Conn) Ended() <-chan struct{} { return c.ended }

// Expect tells that the end of the adapter is no surprise from now on.
func (c *Conn) Expect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
}

// Break marks the adapter as one that broke the protocol; the first mark
// stands. It returns the error of the mark that stands.
func (c *Conn) Break(format string, args ...any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.broken = &BrokenError{Command: c.command, What: fmt.Sprintf(format, args...), Log: c.process.Log()}
		close(c.gone)
	}
	return c.broken
}

// Ask sends a request and waits for its answer: as long as the request's time
// limit says, and Grace. The error is a *BrokenError, whatever comes between.
// The request's ID is given by the Conn, and returned in the reply.
func (c *Conn) Ask(r Request) (Reply, error) { return c.AskUntil(context.Background(), r) }

// AskUntil is Ask for an acquire that the application may give up: when ctx is
// canceled the adapter is told, and its answer is waited for all the same. The
// end of ctx's time says nothing: the adapter keeps the time limit itself.
func (c *Conn) AskUntil(ctx context.Context, r Request) (Reply, error) {
	text, err := c.begin(&r)
	if err != nil {
		return Reply{ID: r.ID}, err
	}
	c.trace(true, text)
	if _, err := c.in.Write(append(text, '\n')); err != nil {
		return Reply{ID: r.ID}, c.unread(r, err)
	}
	limit := time.Duration(r.TimeoutMS)*time.Millisecond + c.grace
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	given := ctx.Done()
	for left := int64(limit / tick); ; {
		select {
		case reply := <-c.answered:
			return reply, nil
		case <-given:
			if given = nil; errors.Is(ctx.Err(), context.Canceled) {
				if err := c.cancel(r); err != nil {
					return Reply{ID: r.ID}, c.unread(r, err)
				}
			}
		case <-c.gone:
			select {
			case reply := <-c.answered: // it came before the end
				return reply, nil
			default:
				return Reply{ID: r.ID}, c.Broken()
			}
		case <-ticks.C:
			if left--; left < 0 {
				const fine = 10 * time.Millisecond // of a long time
				return Reply{ID: r.ID}, c.Break("has not answered %s (request %d) for %v: its time limit of %v, and %v more%s", r.Op, r.ID,
					rounded(limit, fine), rounded(limit-c.grace, fine), c.grace, hint(r.Op))
			}
		}
	}
}

// cancel tells the adapter that the request, which it is about, is given up.
func (c *Conn) cancel(r Request) error {
	text := fmt.Appendf(nil, `{"id":%d,"op":%q}`, r.ID, OpCancel)
	c.trace(true, text)
	_, err := c.in.Write(append(text, '\n'))
	return err
}

// hint is what most often keeps an answer back.
func hint(op string) string {
	switch op {
	case OpHello:
		return ". Does it flush its standard output after every line?"
	case OpAcquire, OpHeld, OpRenew, OpRelease, OpClose:
		return ". Has every call of its library a time limit?"
	}
	return `. To an op that it does not know it answers with the error "unsupported"`
}

// rounded leaves a time that is short as it is.
func rounded(d, to time.Duration) time.Duration {
	if d < 100*to {
		return d
	}
	return d.Round(to)
}

// begin numbers the request and makes room for its answer.
func (c *Conn) begin(r *Request) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return nil, c.broken
	}
	return c.exchange.Begin(r)
}

// NextID is the ID of the next request.
func (c *Conn) NextID() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exchange.NextID()
}

// unread is the error of a request that could not be written: the adapter's
// end, where it has ended, says more.
func (c *Conn) unread(r Request, err error) error {
	t := time.NewTimer(2 * deathNotice)
	defer t.Stop()
	select {
	case <-c.gone:
		return c.Broken()
	case <-t.C:
		return c.Break("does not read its standard input: %s (request %d): %v", r.Op, r.ID, err)
	}
}

// read takes lines until they end, or the adapter breaks the protocol. What
// comes after that is thrown away, so that nobody blocks.
func (c *Conn) read(out io.Reader) {
	defer close(c.ended)
	lines := bufio.NewReaderSize(out, 64<<10)
	for {
		text, err := readLine(lines)
		if errors.Is(err, errLong) {
			// the next caller is told
			_ = c.Break("printed a line longer than %d KiB, which begins with %s", maxLine>>10, brief(text))
			break
		}
		if len(text) > 0 {
			c.trace(false, text)
			if err := c.take(text); err != nil {
				_ = c.Break("printed %s, which %v", brief(text), err)
				break
			}
		}
		if err != nil {
			break
		}
	}
	_, _ = io.Copy(io.Discard, lines)
}

var errLong = errors.New("the line is too long")

// readLine returns the next line without its end. Empty lines are skipped.
func readLine(r *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := r.ReadSlice('\n')
		text = append(text, part...)
		if len(text) > maxLine {
			return text, errLong
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		for len(text) > 0 && (text[len(text)-1] == '\n' || text[len(text)-1] == '\r') {
			text = text[:len(text)-1]
		}
		if len(text) > 0 || err != nil {
			return text, err
		}
	}
}

// take hands a line to whom it is for.
func (c *Conn) take(text []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	reply, event, err := c.exchange.Take(text)
	switch {
	case err != nil:
		return err
	case event != nil:
		c.lost(*event)
	default:
		// there is room: one request waits at a time, and its Ask takes the answer or ends the Conn
		c.answered <- *reply
	}
	return nil
}

// mourn tells of an end that nobody expected: of the adapter's output, or of
// its process. Both may come, one soon after the other. Processes that are to be
// killed together with the adapter are dead by the time that it is told.
func (c *Conn) mourn() {
	select {
	case <-c.ended:
	case <-c.process.Exited():
	}
	t := time.NewTimer(deathNotice)
	defer t.Stop()
	<-t.C
	c.mu.Lock()
	expected, during := c.closing, ""
	if c.exchange.waiting != 0 {
		during = fmt.Sprintf(" before it had answered %s (request %d)", c.exchange.op, c.exchange.waiting)
	}
	c.mu.Unlock()
	exited := over(c.process.Exited())
	switch {
	case expected: // an adapter that was told to close may end
	case exited && over(c.ended) && c.process.How() == "exit status 0":
		_ = c.Break("ended (exit status 0)%s: it must answer until its standard input ends", during)
	case exited && over(c.ended):
		_ = c.Break("ended (%s)%s", c.process.How(), during)
	case exited:
		_ = c.Break("ended (%s)%s, and what it started holds its output open: the program that is started must be the one that answers", c.process.How(), during)
	default:
		_ = c.Break("closed its standard output%s, and runs on", during)
	}
}

func over(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
