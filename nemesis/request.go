package nemesis

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lockchaos/lockchaos/internal/netfault"
)

// Request is a request of a client, of which a fault is aimed at the next one.
type Request string

// The requests.
const (
	RequestAcquire Request = "acquire" // of a lock that waits in a queue: the one that puts it there
	// RequestGiveUp is what an acquire still sends when its time is over, such
	// as what takes a waiter out of its queue.
	RequestGiveUp  Request = "give-up"
	RequestRenew   Request = "renew" // by the application, or by the lock in the background
	RequestRelease Request = "release"
	RequestRead    Request = "read"
	RequestWrite   Request = "write"
	// RequestAny is whatever the client sends next, to its service or, with those peers, its store.
	RequestAny Request = "any"
)

// Requests lists every request that a fault can be aimed at.
func Requests() []Request {
	return []Request{RequestAcquire, RequestGiveUp, RequestRenew, RequestRelease, RequestRead, RequestWrite,
		RequestAny}
}

// acquires reports whether the request is one of an acquire.
func (r Request) acquires() bool { return r == RequestAcquire || r == RequestGiveUp }

// Requested says in words which request is meant.
func (s Spec) Requested() string {
	if s.Nth > 0 {
		return fmt.Sprintf("request %d of %s", s.Nth, s.Request)
	}
	return string(s.Request)
}

// ofStore reports whether the request goes to the store, and not to the lock service.
func (r Request) ofStore() bool { return r == RequestRead || r == RequestWrite }

// CurrentRequest tells what a client has been asked to do and has not answered yet, and a text
// that a packet of an acquire contains. It is called for each packet and must not block.
type CurrentRequest func() (r Request, text string)

// requestFinder is how faults that are aimed at one request find it: by what the client is doing
// while the packet leaves it, so that no protocol must be understood. Where the lock renews in the
// background, a renewal is what is sent to the service while the client asks nothing of it.
type requestFinder struct {
	request Request
	asked   CurrentRequest
	// nth is which request of a call is meant, and count counts those of it; 0:
	// of an acquire the one that bears the key.
	nth   int
	count *requestCounter
	// found is the connection of the packet that was found last.
	found atomic.Pointer[netfault.Connection]
}

// is is a netfault.Is.
func (f *requestFinder) is(p *netfault.Packet) bool {
	if !netfault.HasPayload(p) {
		return false
	}
	if p.Dir != netfault.Out {
		if f.nth > 0 {
			f.count.answered(p.Connection())
		}
		return false
	}
	doing, text := f.asked()
	switch {
	case f.request == RequestAny && f.nth == 0:
	case doing == f.request && f.nth > 0:
		if f.count.asks(p.Connection()) != f.nth {
			return false
		}
	case doing == f.request:
		// A lock may have to connect first, to open a session, to make the key.
		if f.request.acquires() && !netfault.Contains(text)(p) {
			return false
		}
	case f.request != RequestRenew || doing != "" && !doing.ofStore():
		return false
	}
	c := p.Connection()
	f.found.Store(&c)
	return true
}

// requestCounter counts the requests of a call over all connections of its client: what is sent on
// a connection until something comes back is one request, however many packets it takes.
type requestCounter struct {
	mu   sync.Mutex
	n    int
	open map[netfault.Connection]bool // those whose request has no answer yet
}

// asks returns the number of the request that a packet begins, from 1; 0 if it goes on with one.
func (c *requestCounter) asks(on netfault.Connection) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[on] {
		return 0
	}
	if c.open == nil {
		c.open = map[netfault.Connection]bool{}
	}
	c.open[on] = true
	c.n++
	return c.n
}

func (c *requestCounter) answered(on netfault.Connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, on)
}

// after reports whether a client passes the moment after another one. Who is
// struck at random may still have either before it.
func (m Moment) after(other Moment) bool {
	all := Moments()
	return m != Random && slices.Index(all, m) > slices.Index(all, other)
}

// checkRequest reports whether a fault that is aimed at the request can meet it.
func checkRequest(s Spec, at Setting) error {
	if !slices.Contains(Requests(), s.Request) {
		var known []string
		for _, r := range Requests() {
			known = append(known, string(r))
		}
		return fmt.Errorf("a %s needs a request: one of %s; not %q", s.Kind, strings.Join(known, ", "), s.Request)
	}
	switch {
	case s.Request == RequestAny && s.When == Random && s.Target.Number() != 0 && !s.InTurn && s.Peers != PeersAll:
		return s.checkLinks(at) // it means no step
	case s.Request == RequestAny:
		return fmt.Errorf("a %s of request any: it strikes a client by its number (client-1) at %s, not in turn, on the links to its service or its store", s.Kind, Random)
	case s.Target != Holder:
		return fmt.Errorf("a %s of %s: it is aimed at a request of the client that holds, or acquires: target %s",
			s.Kind, s.Target, Holder)
	case s.Request.acquires() != (s.When == Acquiring):
		return fmt.Errorf("request %s at %s: an acquire is met at %s, every other request at a step of a holder before it", s.Request, s.When, Acquiring)
	case s.Request == RequestRead && s.When.after(AfterGrant), s.Request == RequestWrite && s.When.after(BeforeWrite):
		return fmt.Errorf("request %s at %s: it has been sent by then", s.Request, s.When)
	case s.Request.ofStore() && s.Peers != "" && s.Peers != PeersStore:
		return fmt.Errorf("request %s: it goes to the store, not to %s", s.Request, s.Peers)
	case !s.Request.ofStore() && (s.Peers == PeersStore || s.Peers == PeersAll):
		return fmt.Errorf("request %s: it goes to the lock service, not to %s", s.Request, s.Peers)
	}
	return s.checkLinks(at)
}
