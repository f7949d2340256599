package redis_test

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy stands between a client and its server, and can lose an answer: the server carries the
// request out, the client's connection breaks instead of the answer. It can hold one back, too.
type proxy struct {
	addr   string
	target string
	lose   atomic.Int32
	onLoss func()
	held   atomic.Pointer[chan struct{}]
}

func startProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: l.Addr().String(), target: target}
	var mu sync.Mutex
	var conns []net.Conn
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				near.Close()
				continue
			}
			mu.Lock()
			conns = append(conns, near, far)
			mu.Unlock()
			tasks.Go(func() { copyUntil(far, near, func() bool { return false }) })
			tasks.Go(func() { copyUntil(near, far, p.loses) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		tasks.Wait()
	})
	return p
}

// loseAnswers arms the proxy: the next n answers are lost.
func (p *proxy) loseAnswers(n int32) { p.lose.Store(n) }

// holdAnswer arms the proxy: the next answer is held back until it is let go.
func (p *proxy) holdAnswer() (letGo func()) {
	gate := make(chan struct{})
	p.held.Store(&gate)
	return sync.OnceFunc(func() { close(gate) })
}

func (p *proxy) loses() bool {
	if gate := p.held.Swap(nil); gate != nil {
		<-*gate
	}
	if p.lose.Load() <= 0 {
		return false
	}
	p.lose.Add(-1)
	if p.onLoss != nil {
		p.onLoss()
	}
	return true
}

// copyUntil copies what comes, and breaks both connections when something that came is to be lost.
func copyUntil(to, from net.Conn, lost func() bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || lost() {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
