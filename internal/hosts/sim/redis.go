package sim

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/lockchaos/lockchaos/internal/hosts/sim/script"
)

// RedisPort is the port of every simulated Redis.
const RedisPort = "6379"

// redis is a Redis on a host: miniredis, whose commands are carried out one by one at a virtual
// time. Its scripts are run by package script.
type redis struct {
	node    *Node
	redis   *miniredis.Miniredis
	peer    *redisPeer // whose command is carried out
	scripts map[string]*script.Script
	stored  stored
	plain   bool // miniredis is asked something by this package
	script  any  // the context of miniredis for the script that runs
	asking  any  // that for commands of this package
}

// blocking are commands that miniredis carries out on goroutines of its own, in real time, and
// those about subscriptions by pattern and by shard.
var blocking = []string{"BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "BZPOPMIN", "BZPOPMAX", "BZMPOP", "PSUBSCRIBE",
	"PUNSUBSCRIBE", "PUBSUB", "SSUBSCRIBE", "SUNSUBSCRIBE", "SPUBLISH", "WAIT", "MONITOR"}

// Redis starts a Redis on the host.
func (h *Host) Redis() (*Node, error) {
	r := &redis{}
	r.node = h.serve(RedisPort, r)
	return r.node, r.start()
}

func (r *redis) start() error {
	host := r.node.host
	m := miniredis.NewMiniRedis()
	m.Seed(int(host.w.Stream("redis " + host.Name).Uint32()))
	m.ClockTTL(true)
	c, err := m.Dial() // it makes the server, without a listener
	if err != nil {
		return fmt.Errorf("start %s: %w", host.Name, err)
	}
	m.Server().SetPreHook(r.before)
	r.redis, r.scripts, r.stored = m, map[string]*script.Script{}, stored{}
	r.asking = r.show(nil)
	return c.Close()
}

func (r *redis) crash() {}

func (r *redis) restart(keep bool) error {
	if keep {
		return nil
	}
	return r.start()
}

// redisPeer is the server's end of a connection.
type redisPeer struct {
	redis  *redis
	s      *socket
	p      *server.Peer
	out    replies
	in     commands
	multi  bool // between MULTI and EXEC
	nested any  // the context of miniredis for its scripts; nil: to be shown
	// channels are those to which it subscribes.
	channels []string
	// kept is how many bytes are held for it: names of channels, and what is queued or watched.
	kept, queued int
	// owed is how much the queued commands will store at most.
	owed int64
}

// keep counts bytes that Redis keeps for the connection.
func (p *redisPeer) keep(n int) {
	p.kept += n
	p.s.in.w.hold(n, p.s.in)
}

func (r *redis) accept(s *socket) peer {
	p := &redisPeer{redis: r, s: s}
	p.p = server.NewPeer(bufio.NewWriter(&p.out))
	return p
}

func (p *redisPeer) left() { p.keep(-p.kept) }

func (p *redisPeer) receive(text []byte) error {
	p.redis.redis.SetTime(p.redis.node.host.Wall())
	err := p.in.feed(text, p.carryOut)
	if err == nil {
		p.send()
	}
	return err
}

func (p *redisPeer) carryOut(args []string) {
	n := p.redis.node
	if n.host.w.err != nil {
		return
	}
	n.tell(func() string { return fmt.Sprintf("%.200q from %s", args, p.s.in.name) })
	n.serves++
	p.redis.peer = p
	name := strings.ToUpper(args[0])
	if p.multi || name == "WATCH" {
		for _, a := range args {
			p.queued += len(a) + entry
			p.keep(len(a) + entry)
		}
	}
	p.redis.redis.Server().Dispatch(p.p, args)
	p.p.Flush()
	switch whole := len(args) == 1; { // Redis refuses what has more, and a transaction goes on
	case name == "MULTI" && whole:
		p.multi = p.multi || !p.listens()
	case (name == "EXEC" || name == "DISCARD") && whole && p.multi, name == "UNWATCH" && whole && !p.multi:
		p.multi, p.nested, p.owed = false, nil, 0
		p.keep(-p.queued)
		p.queued = 0
	case name == "SELECT":
		p.nested = nil
	}
	if p.out.full {
		p.s.in.exceeds("has "+n.host.Name+" answer with", mostUnread, "bytes")
	}
}

// replies is a buffer that takes no more than a program may leave unread.
type replies struct {
	bytes.Buffer
	full bool
}

func (b *replies) Write(text []byte) (int, error) {
	if b.full = b.full || b.Len()+len(text) > mostUnread; b.full {
		return 0, io.ErrShortBuffer
	}
	return b.Buffer.Write(text)
}

// before looks at each command before miniredis carries it out, also at those of transactions'
// and of scripts. It reports whether miniredis has nothing left to do.
func (r *redis) before(c *server.Peer, name string, args ...string) (done bool) {
	switch {
	case name == scriptCommand && (r.peer == nil || c != r.peer.p):
		was := r.plain
		r.script, r.plain = c.Ctx, false
		if len(args) == 1 {
			r.dequeued(c, args[0])
		} else {
			c.WriteOK()
		}
		r.plain = was
		return true
	case r.plain:
		return false
	}
	in, w := r.peer.s.in, r.node.host.w
	switch {
	case slices.Contains(blocking, name), (name == "XREAD" || name == "XREADGROUP") &&
		slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "BLOCK") }):
		w.Fail(fmt.Errorf("%s sent %s: the simulated Redis has no blocking commands and no subscriptions by pattern; use a real one (--runtime local)", in.name, name))
	default:
		r.weigh(in, c == r.peer.p && r.peer.multi, name, args)
	}
	if w.err != nil {
		c.WriteError("ERR the simulation has ended")
		return true
	}
	if r.channelled(c, name, args) {
		return true
	}
	return isScripting(name) && r.scripting(c, name, args)
}

// mostArgs and longestCommand bound a command.
const (
	mostArgs       = 100_000
	longestCommand = 8 << 20
)

// commands reads commands from what comes on a connection: arrays of bulk strings.
type commands struct {
	in    []byte
	args  []string // of the command that is not complete
	count int      // how many there will be; 0: no command has begun
	size  int      // of args, in bytes
}

// feed takes what has come, and hands over each command that is complete.
func (c *commands) feed(text []byte, do func(args []string)) error {
	for c.in = append(c.in, text...); ; {
		if whole, err := c.next(); err != nil {
			return fmt.Errorf("no Redis command: %w", err)
		} else if !whole {
			return nil
		}
		args := c.args
		c.args, c.count, c.size = nil, 0, 0
		do(args)
	}
}

// next reads on, and reports whether the command is complete.
func (c *commands) next() (whole bool, err error) {
	if c.count == 0 {
		n, from, err := header(c.in, '*', mostArgs)
		if from == 0 || err != nil {
			return false, err
		}
		if n == 0 {
			return false, fmt.Errorf("%.40q: an empty command", c.in)
		}
		c.in, c.count = c.in[from:], n
	}
	for len(c.args) < c.count {
		n, from, err := header(c.in, '$', longestCommand-c.size)
		if from == 0 || err != nil || len(c.in) < from+n+2 {
			return false, err
		}
		c.args, c.size = append(c.args, string(c.in[from:from+n])), c.size+n
		c.in = c.in[from+n+2:]
	}
	return true, nil
}

// header reads a number with its kind; next is 0 if it is not complete.
func header(b []byte, kind byte, most int) (n, next int, err error) {
	if len(b) == 0 {
		return 0, 0, nil
	}
	end := bytes.Index(b[:min(len(b), 33)], []byte("\r\n"))
	if b[0] != kind || end < 0 && len(b) > 32 {
		return 0, 0, fmt.Errorf("%.40q", b)
	}
	if end < 0 {
		return 0, 0, nil
	}
	switch n, err = strconv.Atoi(string(b[1:end])); {
	case err != nil || n < 0:
		return 0, 0, fmt.Errorf("%.40q", b)
	case n > most:
		return 0, 0, fmt.Errorf("%.40q: the simulated Redis takes commands of at most %d parts and %d MB", b, mostArgs,
			longestCommand>>20)
	}
	return n, end + 2, nil
}
