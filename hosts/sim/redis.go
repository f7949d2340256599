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

// redis is a Redis on a host: miniredis, whose commands are carried out one by one at a virtual
// time.
type redis struct {
	node  *Node
	redis *miniredis.Miniredis
}

// blocking are the commands that miniredis carries out on goroutines of its own, in real time.
var blocking = []string{"BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "WAIT", "MONITOR"}

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
	r.redis = m
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
	redis *redis
	s     *socket
	p     *server.Peer
	out   bytes.Buffer
	in    []byte
}

func (r *redis) accept(s *socket) peer {
	p := &redisPeer{redis: r, s: s}
	p.p = server.NewPeer(bufio.NewWriter(&p.out))
	return p
}

func (p *redisPeer) left() {}

func (p *redisPeer) receive(text []byte) error {
	p.in = append(p.in, text...)
	p.redis.redis.SetTime(p.redis.node.host.Wall())
	for {
		args, size, err := command(p.in)
		if err != nil {
			return fmt.Errorf("no Redis command: %w", err)
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
	return nil
}

func (p *redisPeer) carryOut(args []string) {
	n := p.redis.node
	name := strings.ToUpper(args[0])
	n.tell(func() string { return fmt.Sprintf("%.200q from %s", args, p.s.in.name) })
	if slices.Contains(blocking, name) || (name == "XREAD" || name == "XREADGROUP") && slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "BLOCK") }) {
		n.host.w.Fail(fmt.Errorf("%s sent %s: the simulated Redis has no blocking commands and no subscriptions; use a real one (--runtime local)", p.s.in.name, name))
		return
	}
	n.serves++
	p.redis.redis.Server().Dispatch(p.p, args)
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
