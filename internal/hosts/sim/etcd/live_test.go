package etcd_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/sim/etcd"
)

// live is a cluster of the model in real time, which real clients reach by TCP.
// All of it runs on one goroutine, as in a simulation.
type live struct {
	t     *testing.T
	began time.Time
	do    chan func()
	over  chan struct{}
	cfg   etcd.Config
	all   []*liveMember
}

// liveMember is the machine of one member.
type liveMember struct {
	*live
	number int
	disk   *etcd.Disk
	member *etcd.Member
	draws  *rand.Rand
	addr   string
}

func newLive(t *testing.T, members int) *live {
	l := &live{t: t, began: time.Now(), do: make(chan func(), 1024), over: make(chan struct{}),
		cfg: etcd.Config{Members: members, Heartbeat: 50 * time.Millisecond, Election: 500 * time.Millisecond}}
	var listeners []net.Listener
	for i := range members {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { lis.Close() })
		listeners = append(listeners, lis)
		l.cfg.Names, l.cfg.URLs = append(l.cfg.Names, fmt.Sprintf("etcd-%d", i+1)), append(l.cfg.URLs, "http://"+lis.Addr().String())
	}
	for i, lis := range listeners {
		m := &liveMember{live: l, number: i + 1, disk: etcd.NewDisk(l.cfg), draws: rand.New(rand.NewPCG(1, uint64(i))),
			addr: lis.Addr().String()}
		l.all = append(l.all, m)
		go m.listen(lis)
	}
	go l.loop()
	t.Cleanup(func() { close(l.over) })
	for _, m := range l.all {
		l.run(func() { m.start() })
	}
	return l
}

func (l *live) loop() {
	for {
		select {
		case fn := <-l.do:
			fn()
		case <-l.over:
			return
		}
	}
}

// post has fn called on the cluster's goroutine.
func (l *live) post(fn func()) {
	select {
	case l.do <- fn:
	case <-l.over:
	}
}

// run does too, and waits for it.
func (l *live) run(fn func()) {
	done := make(chan struct{})
	l.post(func() { fn(); close(done) })
	<-done
}

func (m *liveMember) start() {
	var err error
	if m.member, err = etcd.New(m.number, m.cfg, m.disk, m); err != nil {
		m.t.Error(err)
	}
}

func (m *liveMember) listen(lis net.Listener) {
	for {
		conn, err := lis.Accept()
		if err != nil {
			return
		}
		go m.serve(conn)
	}
}

func (m *liveMember) serve(conn net.Conn) {
	defer conn.Close()
	var c *etcd.Conn
	m.run(func() { c = m.member.Accept(func(text []byte) { _, _ = conn.Write(text) }) })
	buffer := make([]byte, 1<<14)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			m.post(c.Gone)
			return
		}
		m.run(func() {
			if err := c.Receive(buffer[:n]); err != nil {
				m.t.Error(err)
			}
		})
	}
}

func (l *live) Now() time.Duration { return time.Since(l.began) }

func (l *live) After(d time.Duration, fn func()) { time.AfterFunc(d, func() { l.post(fn) }) }

func (m *liveMember) Send(to int, text []byte) {
	go m.post(func() { m.all[to-1].member.Receive(m.number, text) })
}

func (m *liveMember) Draws() *rand.Rand { return m.draws }

func (m *liveMember) Fail(err error) { m.t.Error(err) }

func (m *liveMember) Trace(func() string) {}
