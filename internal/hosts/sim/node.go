package sim

import (
	"fmt"
	"slices"
)

// Node is a server on a host, which programs connect to.
type Node struct {
	host    *Host
	port    string
	server  service
	up      bool
	sockets []*socket
	waiting []func() // what came while the host was frozen
	late    int64    // bytes of programs in it
	serves  int64
}

// service is what runs on a node. It has no goroutine: it acts when it is called.
type service interface {
	accept(s *socket) peer
	// crash ends it; its connections are reset by the node.
	crash()
	// restart starts it again, with its data or with none.
	restart(keep bool) error
}

// peer is the server's end of a connection.
type peer interface {
	// receive takes what the client has sent. The error says what no client of this service sends.
	receive(text []byte) error
	// left tells that the connection has ended.
	left()
}

// serve has a server run on the host.
func (h *Host) serve(port string, s service) *Node {
	h.node = &Node{host: h, port: port, server: s, up: true}
	return h.node
}

// Addr is where it listens.
func (n *Node) Addr() string { return n.host.Addr + ":" + n.port }

// Host is where it runs.
func (n *Node) Host() *Host { return n.host }

// Served is how many requests it has taken.
func (n *Node) Served() int64 { return n.serves }

// Crash ends the server: its connections are reset.
func (n *Node) Crash() {
	n.up = false
	n.server.crash()
	for _, s := range slices.Clone(n.sockets) {
		s.reset()
	}
	n.host.w.held -= n.late
	n.waiting, n.late = nil, 0
}

// Restart starts it again, with its data or with none.
func (n *Node) Restart(keep bool) error {
	n.up = true
	return n.server.restart(keep)
}

func (n *Node) forget(s *socket) {
	n.sockets = slices.DeleteFunc(n.sockets, func(o *socket) bool { return o == s })
}

// unfrozen has fn called when the host does not stand still: now, or then.
func (n *Node) unfrozen(fn func()) {
	if n.host.frozen {
		n.waiting = append(n.waiting, fn)
		return
	}
	fn()
}

func (n *Node) catchUp() {
	for len(n.waiting) > 0 && !n.host.frozen {
		do := n.waiting[0]
		n.waiting = n.waiting[1:]
		do()
	}
}

// receive hands what came on a connection to its server.
func (n *Node) receive(s *socket, text []byte) {
	size := int64(len(text))
	n.late += size
	s.in.w.hold(len(text), s.in)
	n.unfrozen(func() {
		n.late -= size
		s.in.w.hold(-len(text), s.in)
		s.taken(len(text))
		if s.gone || !n.up {
			return
		}
		if err := s.peer.receive(text); err != nil {
			n.host.w.Fail(fmt.Errorf("%s was sent by %s what it does not understand: %w", n.host.Name, s.in.name, err))
		}
	})
}

// tell has something traced that the node does.
func (n *Node) tell(what func() string) {
	if w := n.host.w; w.trace != nil {
		w.trace(w.now, n.host.Name, what())
	}
}
