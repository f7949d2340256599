//go:build linux

package netfault

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

func TestMain(m *testing.M) {
	hoststest.Main(m, map[string]func([]string) int{
		"probe": func([]string) int {
			if err := WriteProbe(context.Background(), os.Stdout); err != nil {
				return 1
			}
			return 0
		},
		"cut":  cut,
		"fail": func([]string) int { fmt.Fprintln(os.Stderr, "something is wrong"); return 3 },
	})
}

// cut cuts everything in the namespace of descriptor 3, says so, and waits to be killed.
func cut([]string) int {
	f, err := Open(context.Background(), &hosts.Host{Name: "somebody's", NetNS: 3})
	if err == nil {
		_, err = f.Drop("cut", Match{Dir: In}, Match{Dir: Out})
	}
	fmt.Println("cut", err)
	<-time.After(time.Hour)
	return 0
}

// limit bounds every wait of these tests; it is reached only when something is broken.
const limit = decided.Limit

// within returns a context for one wait.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func must[T any](t testing.TB) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// open opens the packet filter of a host until the end of the test.
func open(t testing.TB, h *hosts.Host) *Filter {
	t.Helper()
	f := must[*Filter](t)(Open(t.Context(), h))
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

const udpPort = 9000

// mailbox is where datagrams go to on a host.
func mailbox(t testing.TB, h *hosts.Host) *net.UDPConn { return socket(t, h, udpPort) }

// sender is a socket to send datagrams from.
func sender(t testing.TB, h *hosts.Host) *net.UDPConn { return socket(t, h, 0) }

func socket(t testing.TB, h *hosts.Host, port uint16) *net.UDPConn {
	t.Helper()
	var conn *net.UDPConn
	err := h.Do(func() (err error) {
		conn, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(h.Addr, port)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetReadBuffer(4 << 20)
	return conn
}

// send sends a datagram from a mailbox to another host's.
func send(t testing.TB, from *net.UDPConn, to *hosts.Host, text string) {
	t.Helper()
	if _, err := from.WriteToUDPAddrPort([]byte(text), netip.AddrPortFrom(to.Addr, udpPort)); err != nil {
		t.Fatal(err)
	}
}

// receive returns the next datagram of a mailbox.
func receive(t testing.TB, from *net.UDPConn) string {
	t.Helper()
	_ = from.SetReadDeadline(time.Now().Add(limit))
	buf := make([]byte, 2048)
	n, err := from.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

const redisPort = 6379

// startRedis starts the real redis-server on a host.
func startRedis(t testing.TB, h *hosts.Host) {
	t.Helper()
	program := needed.Program(t, "redis-server")
	p := must[*hosts.Process](t)(h.Start(exec.Command(program, "--bind", h.Addr.String(), "--port",
		fmt.Sprint(redisPort), "--protected-mode", "no",
		"--save", "", "--appendonly", "no", "--daemonize", "no", "--logfile", "")))
	decided.Await(t, "redis answers", func() bool {
		if err := p.Err(); err != nil {
			t.Fatal(err)
		}
		c, err := dial(t, h, h)
		if err != nil {
			return false
		}
		defer c.Close()
		answer, err := c.do(limit, "PING")
		return err == nil && answer == "PONG"
	})
}

// redisConn is a connection to redis from another host.
type redisConn struct {
	net.Conn
	in *bufio.Reader
}

func dial(t testing.TB, from, to *hosts.Host) (*redisConn, error) {
	conn, err := from.Dial(within(t), "tcp", netip.AddrPortFrom(to.Addr, redisPort))
	if err != nil {
		return nil, err
	}
	return &redisConn{conn, bufio.NewReader(conn)}, nil
}

// connect is dial for those who know that it works.
func connect(t testing.TB, from, to *hosts.Host) *redisConn {
	t.Helper()
	c := must[*redisConn](t)(dial(t, from, to))
	t.Cleanup(func() { c.Close() })
	return c
}

func (c *redisConn) ask(words ...string) error {
	text := fmt.Sprintf("*%d\r\n", len(words))
	for _, w := range words {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
	}
	_, err := io.WriteString(c, text)
	return err
}

// do sends a command and returns its answer, an empty string for nil.
func (c *redisConn) do(timeout time.Duration, words ...string) (string, error) {
	_ = c.SetDeadline(time.Now().Add(timeout))
	if err := c.ask(words...); err != nil {
		return "", err
	}
	line, err := c.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSpace(line)
	switch {
	case line == "$-1":
		return "", nil
	case line[0] == '$':
		line, err = c.in.ReadString('\n')
		return strings.TrimSpace(line), err
	case line[0] == '-':
		return "", errors.New(line)
	}
	return line[1:], nil
}

// get asks until the answer is the wanted one.
func (c *redisConn) awaitValue(t testing.TB, key, want string) {
	t.Helper()
	decided.Await(t, key+" is "+want, func() bool { return must[string](t)(c.do(limit, "GET", key)) == want })
}
