package conformance

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// helloLimit is how long an adapter may take to start.
const helloLimit = 30 * time.Second

// Bench is where adapters are tried: a service that is up, on a network to
// which hosts can be added.
type Bench struct {
	Network *hosts.Network
	// Service is the service's name, or "none"; Nodes are the addresses that
	// clients are given, Hosts those that it runs on.
	Service string
	Nodes   []string
	Hosts   []*hosts.Host
	// Account is one with a password at the service; nil: none is known.
	Account *adapter.Account
	// Kind is that of the adapter, as the hello has it; "": a lock. Every is the period of its job.
	Kind  string
	Every time.Duration
	// Command is the adapter's command line, Dir the folder that it starts in
	// ("": this one), Shared one that all adapters share.
	Command, Dir, Shared string
	// TTL is what locks are opened with; 0: their own lease where it can't be set, else Usual.
	TTL, Usual time.Duration
	// Slack is how much longer than promised anything may take before it counts
	// as never; 0: DefaultSlack.
	Slack time.Duration
	// Expire has the service end the session that a client at the address told of, and returns what
	// it answered, a text for each that there was. nil: it has no sessions that could be ended.
	Expire func(ctx context.Context, at netip.Addr, told adapter.Session) ([]string, error)
	// Trace, if it is set, is called for every line of every exchange; it must not block.
	Trace func(client string, sent bool, line string)

	started int
}

// Client is an adapter on a host of its own.
type Client struct {
	Says adapter.Declaration

	name  string
	bench *Bench
	host  *hosts.Host
	proc  *hosts.Process
	in    *os.File
	conn  *adapter.Conn
	say   func(client string, sent bool, line string)

	mu     sync.Mutex
	events []heard
	taken  int           // how many of them next has looked at
	told   chan struct{} // closed and made anew with every event
}

// heard is an event, and when it came (monotime.Now, and ms since 1970).
type heard struct {
	adapter.Event
	at, wall int64
}

// process is a host's process, as the protocol sees it.
type process struct{ *hosts.Process }

func (p process) Exited() <-chan struct{} { return p.Done() }

func (p process) How() string {
	var died *hosts.DiedError
	if died, _ = p.Err().(*hosts.DiedError); died != nil && died.State != nil {
		return died.State.String()
	}
	return "with an unknown status"
}

// Start starts an adapter on a fresh host, and says hello. Every line of the
// exchange is told to say, which must not block.
func (b *Bench) Start(ctx context.Context, say func(client string, sent bool, line string)) (c *Client, err error) {
	b.started++
	c = &Client{name: fmt.Sprintf("c%d", b.started), bench: b, say: say, told: make(chan struct{})}
	if c.host, err = b.Network.AddHost(fmt.Sprintf("client-%d", b.started)); err != nil {
		return nil, err
	}
	if err := b.Network.Await(ctx, c.host); err != nil {
		return nil, err
	}
	if err := c.launch(); err != nil {
		return nil, err
	}
	greeting := &adapter.Greeting{Protocol: adapter.Version, Service: b.Service, Account: b.Account,
		TTLMS: cmp.Or(b.TTL, b.Usual).Milliseconds(), Kind: b.Kind, EveryMS: b.Every.Milliseconds(),
		Client: c.name, Seed: int64(b.started), Dir: b.Shared}
	if err := greeting.Locate(b.Nodes); err != nil {
		return c, err
	}
	r, err := c.conn.Ask(adapter.Request{Op: adapter.OpHello, TimeoutMS: helloLimit.Milliseconds(), Greeting: greeting})
	if err == nil && !r.OK {
		err = c.conn.Break("answered hello with the error %q: %s", r.Error, r.Text)
	}
	if err != nil {
		return c, err
	}
	c.Says = *r.Declaration
	return c, nil
}

// launch starts the process.
func (c *Client) launch() error {
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	defer inRead.Close()
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		inWrite.Close()
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	defer outWrite.Close()
	most, err := adapter.MemoryLimit("")
	if err != nil {
		inWrite.Close()
		outRead.Close()
		return err
	}
	cmd := adapter.Command(c.bench.Command, c.bench.Dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inRead, outWrite, &logged{}
	if c.proc, err = c.host.Start(cmd); err != nil {
		inWrite.Close()
		outRead.Close()
		return err
	}
	c.in = inWrite
	c.conn = adapter.NewConn(inWrite, outRead, adapter.Options{Command: c.bench.Command, Process: process{c.proc},
		Lost:  c.hears,
		Trace: func(sent bool, line []byte) { c.say(c.name, sent, string(line)) }})
	conn, proc := c.conn, c.proc
	go adapter.WatchMemory(proc.PID(), most, proc.Done(), func(what string) {
		_ = conn.Break("%s", what)    // the next caller is told
		_ = proc.Signal(unix.SIGKILL) // what it started dies with its host
	})
	go func() {
		<-c.conn.Ended()
		outRead.Close()
	}()
	return nil
}

// logged throws away what is written to it: the host keeps the end of it for
// messages, because it is no file.
type logged struct{}

func (*logged) Write(p []byte) (int, error) { return len(p), nil }

func (c *Client) hears(e adapter.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, heard{e, monotime.Now(), time.Now().UnixMilli()})
	close(c.told)
	c.told = make(chan struct{})
}

// toldOf waits until the adapter has told that the grant is lost, or the time is over.
func (c *Client) toldOf(key string, grant int64, within time.Duration) bool {
	return c.tells(within, func(e adapter.Event) bool {
		return e.Kind == adapter.EventLost && e.Key == key && (e.Grant == grant || e.Grant == 0)
	})
}

// tells waits until the adapter has told such an event, or the time is over.
func (c *Client) tells(within time.Duration, is func(adapter.Event) bool) bool {
	limit := time.After(within)
	for {
		c.mu.Lock()
		told := c.told
		known := slices.ContainsFunc(c.events, func(h heard) bool { return is(h.Event) })
		c.mu.Unlock()
		if known {
			return true
		}
		select {
		case <-told:
		case <-limit:
			return false
		}
	}
}

// answer is a reply, with when it was asked for and when it had come.
type answer struct {
	adapter.Reply
	sent, received int64
	within         time.Duration // the time limit of the request
}

func (a answer) took() time.Duration { return time.Duration(a.received - a.sent) }

// ask sends a request; its error is a *adapter.BrokenError.
func (c *Client) ask(r adapter.Request) (answer, error) { return c.askUntil(context.Background(), r) }

// askUntil is ask for an acquire that is given up when ctx is canceled.
func (c *Client) askUntil(ctx context.Context, r adapter.Request) (answer, error) {
	a := answer{sent: monotime.Now(), within: time.Duration(r.TimeoutMS) * time.Millisecond}
	var err error
	a.Reply, err = c.conn.AskUntil(ctx, r)
	a.received = monotime.Now()
	if err != nil {
		return a, err
	}
	what := ""
	if a.OK {
		what = c.Says.Contradiction(r.Op, a.Reply)
	}
	if what == "" {
		what = a.Misstamped(a.sent, a.received)
	}
	if what != "" {
		return a, c.conn.Break("%s", what)
	}
	return a, nil
}

// strays tells which processes on the client's host faults would not strike, since they are
// not in the adapter's group or it has ended, as the rest of a sentence; "" if there are none.
func (c *Client) strays() (string, error) {
	all, err := c.host.PIDs()
	if err != nil {
		return "", err
	}
	// its standard error, which others hold open, hides its end
	if _, err := unix.Getpgid(c.proc.PID()); err != nil && len(all) > 0 {
		return "ended, and what it started goes on in its place: the program that is started must be the one that answers", nil
	}
	for _, pid := range all {
		group, err := unix.Getpgid(pid)
		if err != nil || group == c.proc.PID() {
			continue // it has ended meanwhile, or is where it should be
		}
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil {
			return fmt.Sprintf("started process %d (%s), which has left the adapter's process group: a fault that stops the client would not stop it. "+
				"Do not call setsid or setpgid, and start no daemon", pid, strings.TrimSpace(string(name))), nil
		}
	}
	return "", nil
}

// stop ends the adapter, however it is.
func (c *Client) stop() {
	if c.conn != nil {
		c.conn.Expect()
	}
	if c.in != nil {
		c.in.Close()
	}
	_ = c.host.Close() // it kills what is left; the network's end does so as well
}
