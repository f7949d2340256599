package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"golang.org/x/sys/unix"
)

// Node is one server.
type Node struct {
	// Name is that of its host on the private network: "redis-1". Port is where
	// its relay listens there.
	Name string `json:"name"`
	Port int    `json:"port"`
	// Shown is its address for people to read: without a password.
	Shown string `json:"shown"`
	// Address is what clients are given, where that is a URL: it may hold a password. "": they are
	// given that of the host.
	Address string `json:"address,omitempty"`
	// Leads are the addresses, each host:port, under which servers announce it that send clients on
	// to it: a client that connects to one is led to its relay.
	Leads []string `json:"leads,omitempty"`
	// Dial connects to it, in the network of the user, and says what must be
	// said before clients are let at it.
	Dial func(ctx context.Context) (net.Conn, error) `json:"-"`
}

// handedVar is the environment variable by which outer tells inner of the
// nodes. Their sockets are inner's first extra files.
const handedVar = "LOCKCHAOS_REMOTE"

// firstFile is the descriptor of inner's first extra file.
const firstFile = 3

// Start runs this program inside a sandbox, as Sandbox.Start does, and connects
// its relays to the nodes, if there are any, for as long as it lives. asked is what is done here
// when inner asks for it; nil: nothing.
func Start(ctx context.Context, s hosts.Sandbox, nodes []Node, asked Asked, args ...string) (*hosts.Inner, error) {
	if len(nodes) == 0 {
		return s.Start(ctx, args...)
	}
	text, err := json.Marshal(nodes)
	if err != nil {
		return nil, err
	}
	var ours []*net.UnixConn
	var theirs []*os.File
	shut := func() {
		for _, c := range ours {
			c.Close()
		}
	}
	sockets := len(nodes)
	if asked != nil {
		sockets++
		s.Env = append(s.Env, askVar+"=1")
	}
	for range sockets {
		near, far, err := pair()
		if err != nil {
			shut()
			return nil, err
		}
		ours, theirs = append(ours, near), append(theirs, far)
		defer far.Close() // inner's copy is then the only one
	}
	s.ExtraFiles = append(theirs, s.ExtraFiles...)
	s.Env = append(s.Env, handedVar+"="+string(text))
	in, err := s.Start(ctx, args...)
	if err != nil {
		shut()
		return nil, err
	}
	for i, n := range nodes {
		go serve(ctx, ours[i], n)
	}
	if asked != nil {
		go oblige(ctx, ours[len(nodes)], asked)
	}
	go func() {
		<-in.Done()
		shut()
	}()
	return in, nil
}

// pair makes two sockets that are connected to each other and keep messages apart.
func pair() (near *net.UnixConn, far *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	far = os.NewFile(uintptr(fds[1]), "relay")
	if near, err = messages(os.NewFile(uintptr(fds[0]), "outer")); err != nil {
		far.Close()
		return nil, nil, err
	}
	return near, far, nil
}

// messages is the connection of a socket's file, which is closed.
func messages(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("use a socket: %w", err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("use a socket: it is a %s", c.LocalAddr().Network())
	}
	return u, nil
}
