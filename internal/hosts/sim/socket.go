package sim

import (
	"bytes"
	"net"

	"github.com/tetratelabs/wazero/api"
)

// socket is a program's end of a connection to a node.
type socket struct {
	in        *Instance
	fd        int32
	node      *Node
	out, back pipe
	peer      peer
	gone      bool // the server's end is closed
	connected bool
	ended     bool // the other end has closed
	errno     uint32
	received  []byte
	unsent    int // bytes that the program has written and the server has not taken
	unread    int // bytes that the server has answered and the program has not read
	closed    bool
}

// dial begins to connect.
func dial(in *Instance, mem api.Memory, st []uint64) uint32 {
	const longest = 64
	text, ok := mem.Read(uint32(st[0]), uint32(st[1]))
	if !ok || len(text) > longest {
		return negative(errInvalid)
	}
	node, host := in.w.nodeAt(string(text))
	if host == nil {
		return negative(errUnreachable)
	}
	if len(in.sockets) >= mostSockets {
		return negative(errTooMany)
	}
	in.nextFD++
	in.w.seq++
	s := &socket{in: in, fd: in.nextFD, node: node}
	id := int64(in.w.seq)
	s.out = pipe{link: in.w.Link(in.host, host), conn: id, broken: s.reset, first: handshake, in: in}
	s.back = pipe{link: in.w.Link(host, in.host), conn: id, broken: s.reset, first: handshake, in: in}
	in.sockets[s.fd] = s
	// The handshake: it is repeated when it is lost, and refused where nobody listens.
	s.out.send(nil, func() {
		up := node != nil && node.up // the kernel of a frozen host answers for its processes
		s.back.send(nil, func() { s.opened(up) })
	})
	return uint32(s.fd)
}

func (s *socket) opened(up bool) {
	s.out.first, s.back.first = 0, 0
	if !up || !s.node.up {
		s.errno = errRefused
	} else {
		s.connected = true
		s.node.sockets = append(s.node.sockets, s)
		s.peer = s.node.server.accept(s)
	}
	s.in.kick()
}

func negative(errno int32) uint32 { return uint32(-errno) }

func dialError(in *Instance, _ api.Memory, st []uint64) uint32 {
	s := in.sockets[int32(st[0])]
	if s == nil {
		return errBadFD
	}
	return s.errno
}

// room is how much the program may write now.
func (s *socket) room() (n int, errno uint32) {
	switch n = mostUnsent - s.unsent; {
	case s.errno != 0:
		return 0, s.errno
	case !s.connected || n <= 0:
		return 0, errAgain
	}
	return n, 0
}

func (s *socket) write(text []byte) {
	s.unsent += len(text)
	s.out.send(text, func() { s.node.receive(s, text) })
}

// taken makes room again.
func (s *socket) taken(n int) {
	full := s.unsent >= mostUnsent
	if s.unsent -= n; full {
		s.in.kick()
	}
}

// answer is called by the node.
func (s *socket) answer(text []byte) {
	text = bytes.Clone(text)
	if s.unread += len(text); s.unread > mostUnread {
		s.in.exceeds("does not read what "+s.node.host.Name+" answers:", mostUnread, "bytes")
		return
	}
	s.back.send(text, func() {
		if s.errno == 0 {
			s.in.w.hold(len(text), s.in)
			s.received = append(s.received, text...)
			s.in.kick()
		}
	})
}

// drop forgets what has come.
func (s *socket) drop() {
	s.in.w.hold(-len(s.received), s.in)
	s.received = nil
}

// reset ends the connection, and both ends know.
func (s *socket) reset() {
	s.out.close()
	s.back.close()
	if s.closed {
		return
	}
	s.errno = errReset
	s.drop()
	s.leave()
	s.in.kick()
}

// close is the program's own.
func (s *socket) close() {
	s.closed = true
	s.drop()
	s.out.close()
	s.back.close()
	s.leave()
	delete(s.in.sockets, s.fd)
}

func (s *socket) leave() {
	if s.peer != nil && !s.gone {
		s.gone = true
		s.peer.left()
	}
	if s.node != nil {
		s.node.forget(s)
	}
}

// nodeAt finds who has an address; the node is nil where nobody listens.
func (w *World) nodeAt(addr string) (*Node, *Host) {
	ip, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, nil
	}
	for _, h := range w.hosts {
		if h.Addr != ip {
			continue
		}
		if h.node != nil && port == h.node.port {
			return h.node, h
		}
		return nil, h
	}
	return nil, nil
}

// ResetConnections resets the connections between a client's host and a node's, and returns how
// many there were.
func (h *Host) ResetConnections(node *Host) (n int) {
	for _, in := range h.instances {
		for fd := int32(0); fd <= in.nextFD; fd++ {
			if s := in.sockets[fd]; s != nil && s.open() && s.node.host == node {
				s.reset()
				n++
			}
		}
	}
	return n
}

// Connected reports whether a program on the host has a connection to a node.
func (h *Host) Connected() bool {
	for _, in := range h.instances {
		for _, s := range in.sockets {
			if s.open() {
				return true
			}
		}
	}
	return false
}

// open reports whether the connection is one that could be reset.
func (s *socket) open() bool { return s.node != nil && s.connected && s.errno == 0 }
