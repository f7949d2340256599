package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/sim/etcd"
)

// EtcdPort is the port of every simulated member of etcd.
const EtcdPort = "2379"

// EtcdVersion is the etcd whose rules the model follows.
const EtcdVersion = etcd.Version

// Timing says how long etcd waits.
type Timing struct{ Heartbeat, Election time.Duration }

// member is a member of a simulated cluster of etcd.
type member struct {
	node    *Node
	number  int
	cfg     etcd.Config
	disk    *etcd.Disk
	running *etcd.Member
	draws   *rand.Rand
	peers   []*member
	lines   map[int]*line
}

// Etcd starts a cluster of etcd, a member on each host.
func Etcd(t Timing, hosts ...*Host) ([]*Node, error) {
	cfg := etcd.Config{Members: len(hosts), Heartbeat: t.Heartbeat, Election: t.Election}
	var all []*member
	for i, h := range hosts {
		m := &member{number: i + 1, draws: h.w.Stream("etcd " + h.Name), lines: map[int]*line{}}
		m.node = h.serve(EtcdPort, m)
		cfg.Names, cfg.URLs = append(cfg.Names, h.Name), append(cfg.URLs, "http://"+m.node.Addr())
		all = append(all, m)
	}
	var nodes []*Node
	for _, m := range all {
		m.cfg, m.peers, m.disk = cfg, all, etcd.NewDisk(cfg)
		if err := m.start(); err != nil {
			return nil, err
		}
		nodes = append(nodes, m.node)
	}
	return nodes, nil
}

func (m *member) start() (err error) {
	m.running, err = etcd.New(m.number, m.cfg, m.disk, m)
	return err
}

func (m *member) crash() {
	m.running.Close()
	for _, to := range m.peers {
		m.hangUp(to)
		to.hangUp(m)
	}
}

func (m *member) restart(keep bool) error {
	if !keep {
		return fmt.Errorf("%s is a member of a cluster, and does not lose its data: another machine would come back under its name", m.node.host.Name)
	}
	return m.start()
}

func (m *member) accept(s *socket) peer {
	p := &etcdPeer{s.in, m.running.Accept(s.answer)}
	p.conn.Exceeds = s.in.exceeds
	return p
}

// Leader returns the node that leads its service, the one of the latest term if two think so; nil:
// none does, or the service has no leader.
func Leader(nodes []*Node) (leader *Node) {
	term := uint64(0)
	for _, n := range nodes {
		if m, ok := n.server.(*member); ok && n.up {
			if leads, of := m.running.Leads(); leads && of >= term {
				leader, term = n, of
			}
		}
	}
	return leader
}

// etcdPeer is a member's end of a connection.
type etcdPeer struct {
	in   *Instance
	conn *etcd.Conn
}

func (p *etcdPeer) receive(text []byte) error {
	p.in.works(1 + int64(len(text))/256)
	return p.conn.Receive(text)
}

func (p *etcdPeer) left() { p.conn.Gone() }

// Now reads the monotonic clock of the member's host.
func (m *member) Now() time.Duration { return time.Duration(m.node.host.Mono()) }

// After has fn called when d has passed on that clock, and the host does not stand still.
func (m *member) After(d time.Duration, fn func()) {
	h := m.node.host
	h.w.After(time.Duration(h.mono.trueTime(int64(d))), func() { m.node.unfrozen(fn) })
}

// Draws are the member's random numbers.
func (m *member) Draws() *rand.Rand { return m.draws }

// Fail ends the run.
func (m *member) Fail(err error) { m.node.host.w.Fail(err) }

// Trace notes what the member does.
func (m *member) Trace(what func() string) { m.node.tell(what) }

// peerSilence is how long members wait on a connection for its other end, as
// etcd's do, before they make another.
const peerSilence = 5 * time.Second

// line is a connection from one member to another. sent are the times of what has not arrived.
type line struct {
	*Channel
	sent []int64
}

// Send sends a message to another member.
func (m *member) Send(to int, text []byte) {
	h, other := m.node.host, m.peers[to-1]
	l := m.lines[to]
	if l != nil && len(l.sent) > 0 && h.w.now-l.sent[0] > int64(peerSilence) {
		l.Close()
		l = nil
	}
	if l == nil || l.Closed() {
		l = &line{Channel: h.w.Channel(h, other.node.host)}
		m.lines[to] = l
	}
	l.sent = append(l.sent, h.w.now)
	l.Ask(string(text), func() {
		l.sent = slices.Delete(l.sent, 0, 1)
		other.node.unfrozen(func() {
			if other.node.up {
				other.running.Receive(m.number, text)
			}
		})
	})
}

// hangUp ends the connection to another member.
func (m *member) hangUp(to *member) {
	if l := m.lines[to.number]; l != nil {
		l.Close()
		delete(m.lines, to.number)
	}
}
