package remote

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Relay is the node: "relay --listen ADDR". Its descriptor 3 is the socket by which
// outer is asked for connections. It returns when ctx is done, or outer is gone.
func Relay(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("node relay", flag.ContinueOnError)
	listen := flags.String("listen", "", "address to listen on, `host:port`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	outer, err := messages(os.NewFile(firstFile, "outer"))
	if err != nil {
		return err
	}
	defer outer.Close()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", *listen)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { l.Close(); outer.Close() })()
	r := &relay{outer: outer, waiting: map[uint64]*net.TCPConn{}}
	go func() {
		defer l.Close()
		r.take()
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			return ctx.Err() // nil: outer is gone, and so is everything soon
		}
		r.ask(c.(*net.TCPConn))
	}
}

// relay joins connections of clients to those that outer hands over.
type relay struct {
	outer   *net.UnixConn
	mu      sync.Mutex
	last    uint64
	waiting map[uint64]*net.TCPConn // of clients, by the number of their request
}

// ask asks outer for a connection for the client's.
func (r *relay) ask(client *net.TCPConn) {
	r.mu.Lock()
	r.last++
	number := r.last
	r.waiting[number] = client
	r.mu.Unlock()
	if _, err := r.outer.Write(binary.BigEndian.AppendUint64(nil, number)); err != nil {
		reset(client)
	}
}

// take takes what outer answers, until it is gone.
func (r *relay) take() {
	for {
		a, err := read(r.outer)
		if err != nil {
			return
		}
		r.mu.Lock()
		client := r.waiting[a.number]
		delete(r.waiting, a.number)
		r.mu.Unlock()
		switch {
		case client == nil && a.conn != nil:
			reset(a.conn)
		case client != nil && a.conn == nil:
			fmt.Fprintln(os.Stderr, "relay:", a.why)
			reset(client) // as the server itself would refuse, only later
		case client != nil:
			go join(client, a.conn)
		}
	}
}

// join copies both ways until both have ended.
func join(client, server *net.TCPConn) {
	var both sync.WaitGroup
	both.Go(func() { carry(server, client) })
	both.Go(func() { carry(client, server) })
	both.Wait()
	client.Close()
	server.Close()
}

// carry copies one way. An end is passed on as an end, a connection that broke as one that breaks.
func carry(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		reset(to)
		reset(from)
		return
	}
	_ = to.CloseWrite() // broken already: the other way notices
}

// reset ends a connection with a RST.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	c.Close()
}

// handed is the connection that came beside an answer.
func handed(rights []byte) (*net.TCPConn, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("no socket was handed over: %v", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("no socket was handed over: %v", err)
	}
	f := os.NewFile(uintptr(fds[0]), "server")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("use the socket that was handed over: %w", err)
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("a socket of %s was handed over", c.LocalAddr().Network())
	}
	return tcp, nil
}
