package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// relayed starts a relay in this process, to a server that dial connects to,
// and returns its address.
func relayed(t testing.TB, dial func(context.Context) (net.Conn, error)) string {
	t.Helper()
	near, far, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	outer, err := messages(far)
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	r := &relay{outer: outer, waiting: map[uint64]*net.TCPConn{}}
	var tasks sync.WaitGroup
	tasks.Go(r.take)
	tasks.Go(func() { serve(t.Context(), near, Node{Name: "server", Shown: "there:1", Dial: dial}) })
	tasks.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.ask(c.(*net.TCPConn))
		}
	})
	t.Cleanup(func() { l.Close(); outer.Close(); near.Close(); tasks.Wait() })
	return l.Addr().String()
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// server accepts connections for a test to look at.
func server(t *testing.T) (dial func(context.Context) (net.Conn, error), accepted func() *net.TCPConn) {
	t.Helper()
	l := listen(t)
	dial = func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	}
	return dial, func() *net.TCPConn {
		t.Helper()
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return limited(t, c)
	}
}

// limited gives a connection a time limit, so that nothing blocks for ever.
func limited(t *testing.T, c net.Conn) *net.TCPConn {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

func connect(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return limited(t, c)
}

func expect(t *testing.T, from io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(from, got); err != nil || string(got) != want {
		t.Fatalf("%q, %v; want %q", got, err, want)
	}
}

// What one side says the other hears; an end comes as an end, while the other way goes on.
func TestRelayCopies(t *testing.T) {
	dial, accepted := server(t)
	client := connect(t, relayed(t, dial))
	there := accepted()
	if _, err := io.WriteString(client, "ping"); err != nil {
		t.Fatal(err)
	}
	expect(t, there, "ping")
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(there); err != nil || len(rest) > 0 {
		t.Fatalf("%q, %v", rest, err)
	}
	if _, err := io.WriteString(there, "pong"); err != nil {
		t.Fatal(err)
	}
	expect(t, client, "pong")
	there.Close()
	if rest, err := io.ReadAll(client); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

// Many at once do not get mixed up.
func TestRelayKeepsApart(t *testing.T) {
	dial, accepted := server(t)
	addr := relayed(t, dial)
	var echoes sync.WaitGroup
	const clients = 100
	all := make([]*net.TCPConn, clients)
	for i := range all {
		all[i] = connect(t, addr)
		there := accepted()
		echoes.Go(func() { _, _ = io.Copy(there, there); there.Close() })
	}
	for i, c := range all {
		word := strings.Repeat(string(rune('a'+i%26)), i+1)
		if _, err := io.WriteString(c, word); err != nil {
			t.Fatal(err)
		}
		expect(t, c, word)
		c.Close()
	}
	echoes.Wait()
}

// A connection that breaks on one side breaks on the other.
func TestRelayPassesResetsOn(t *testing.T) {
	dial, accepted := server(t)
	client := connect(t, relayed(t, dial))
	there := accepted()
	if _, err := io.WriteString(client, "x"); err != nil {
		t.Fatal(err)
	}
	expect(t, there, "x")
	reset(there)
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client sees %v", err)
	}
}

// A server that can't be reached is a connection that is reset at once.
func TestRelayRefuses(t *testing.T) {
	addr := relayed(t, func(context.Context) (net.Conn, error) { return nil, errors.New("nobody is there") })
	client, err := net.Dial("tcp", addr)
	if err == nil {
		_, err = limited(t, client).Read(make([]byte, 1))
		client.Close()
	}
	// it may come before the client knows that it was connected
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client sees %v", err)
	}
}
