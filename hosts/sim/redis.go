package sim

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// RedisPort is the port of every simulated Redis.
const RedisPort = "6379"

// Node is a Redis on a host: miniredis, whose commands are carried out one by one at a virtual
// time.
type Node struct {
	host    *Host
	redis   *miniredis.Miniredis
	up      bool
	sockets []*socket
	waiting []func() // what came while the host was frozen
	serves  int64
}

// blocking are the commands that miniredis carries out on goroutines of its own, in real time.
var blocking = []string{"BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "WAIT", "MONITOR"}

// Redis starts a Redis on the host.
func (h *Host) Redis() (*Node, error) {
	n := &Node{host: h}
	h.node = n
	return n, n.start()
}

func (n *Node) start() error {
	m := miniredis.NewMiniRedis()
	m.Seed(int(n.host.w.Stream("redis " + n.host.Name).Uint32()))
	m.ClockTTL(true)
	c, err := m.Dial() // it makes the server, without a listener
	if err != nil {
		return fmt.Errorf("start %s: %w", n.host.Name, err)
	}
	n.redis, n.up = m, true
	return c.Close()
}

// Addr is where it listens.
func (n *Node) Addr() string { return n.host.Addr + ":" + RedisPort }

// Host is where it runs.
func (n *Node) Host() *Host { return n.host }

// Served is how many commands it has carried out.
func (n *Node) Served() int64 { return n.serves }

// Crash ends the server: its connections are reset.
func (n *Node) Crash() {
	n.up = false
	for _, s := range slices.Clone(n.sockets) {
		s.reset()
	}
	n.waiting = nil
}

// Restart starts it again, with its data or with none.
func (n *Node) Restart(keep bool) error {
	n.up = true
	if keep {
		return nil
	}
	return n.start()
}

func (n *Node) forget(s *socket) {
	n.sockets = slices.DeleteFunc(n.sockets, func(o *socket) bool { return o == s })
}

func (n *Node) catchUp() {
	for len(n.waiting) > 0 && !n.host.frozen {
		do := n.waiting[0]
		n.waiting = n.waiting[1:]
		do()
	}
}

// peer is the node's end of a connection.
type peer struct {
	node *Node
	s    *socket
	p    *server.Peer
	out  bytes.Buffer
	in   []byte
	gone bool
}

func (n *Node) accept(s *socket) *peer {
	n.sockets = append(n.sockets, s)
	p := &peer{node: n, s: s}
	p.p = server.NewPeer(bufio.NewWriter(&p.out))
	return p
}

func (p *peer) receive(text []byte) {
	n := p.node
	if n.host.frozen {
		n.waiting = append(n.waiting, func() { p.receive(text) })
		return
	}
	if p.gone || !n.up {
		return
	}
	p.in = append(p.in, text...)
	n.redis.SetTime(n.host.Wall())
	for {
		args, size, err := command(p.in)
		if err != nil {
			n.host.w.Fail(fmt.Errorf("%s was sent what is no Redis command by %s: %w", n.host.Name, p.s.in.name, err))
			return
		}
		if size == 0 {
			break
		}
		p.in = p.in[size:]
		p.carryOut(args)
	}
	if p.out.Len() > 0 {
		p.s.answer(p.out.Bytes())
		p.out.Reset()
	}
}

func (p *peer) carryOut(args []string) {
	n := p.node
	name := strings.ToUpper(args[0])
	if n.host.w.trace != nil {
		n.host.w.trace(n.host.w.now, n.host.Name, fmt.Sprintf("%.200q from %s", args, p.s.in.name))
	}
	if slices.Contains(blocking, name) || (name == "XREAD" || name == "XREADGROUP") && slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "BLOCK") }) {
		n.host.w.Fail(fmt.Errorf("%s sent %s: the simulated Redis has no blocking commands and no subscriptions; use a real one (--runtime local)", p.s.in.name, name))
		return
	}
	n.serves++
	n.redis.Server().Dispatch(p.p, args)
	p.p.Flush()
}

// mostArgs and longestArg bound a command.
const (
	mostArgs   = 100_000
	longestArg = 8 << 20
)

// command reads an array of bulk strings; size is 0 if it is not complete.
func command(b []byte) (args []string, size int, err error) {
	count, at, err := header(b, 0, '*', mostArgs)
	if at == 0 || err != nil {
		return nil, 0, err
	}
	for range count {
		n, from, err := header(b, at, '$', longestArg)
		if from == 0 || err != nil {
			return nil, 0, err
		}
		if len(b) < from+n+2 {
			return nil, 0, nil
		}
		args = append(args, string(b[from:from+n]))
		at = from + n + 2
	}
	if len(args) == 0 {
		return nil, 0, fmt.Errorf("%.40q: an empty command", b)
	}
	return args, at, nil
}

// header reads a number with its kind; next is 0 if it is not complete.
func header(b []byte, at int, kind byte, most int) (n, next int, err error) {
	if at >= len(b) {
		return 0, 0, nil
	}
	end := bytes.Index(b[at:], []byte("\r\n"))
	if b[at] != kind || end < 0 && len(b)-at > 32 {
		return 0, 0, fmt.Errorf("%.40q", b[at:])
	}
	if end < 0 {
		return 0, 0, nil
	}
	n, err = strconv.Atoi(string(b[at+1 : at+end]))
	if err != nil || n < 0 || n > most {
		return 0, 0, fmt.Errorf("%.40q", b[at:])
	}
	return n, at + end + 2, nil
}
