// Package zkurl connects ZooKeeper's client to addresses: host:port, zk://user:password@host:port,
// or zks://… with TLS. User and password are those of ZooKeeper's scheme "digest"; the library
// speaks no SASL.
package zkurl

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// Servers are those that a client knows.
type Servers struct {
	// Names are their addresses, host:port.
	Names []string

	ways   map[string]endpoint.Dial // by name
	sealed bool
	login  []byte // "user:password"; nil: there is none
}

// handshakeLimit is how much longer than a connection one with TLS may take: a server of Java that
// has just started needs more than the second that the library allows.
const handshakeLimit = 3 * time.Second

// connectLimit bounds a connection, as the library does.
const connectLimit = time.Second

// Open reads the addresses. dial connects; nil: as usual.
func Open(addresses []string, dial endpoint.Dial) (*Servers, error) {
	if dial == nil {
		dial = (&net.Dialer{Timeout: connectLimit}).DialContext
	}
	s := &Servers{ways: map[string]endpoint.Dial{}}
	for _, address := range addresses {
		at, err := endpoint.Parse(address)
		if err != nil {
			return nil, err
		}
		if s.ways[at.HostPort()], err = at.Dialer(dial); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		s.Names, s.sealed = append(s.Names, at.HostPort()), s.sealed || at.Sealed()
		if user, password := at.Account(); user != "" {
			s.login = []byte(user + ":" + password)
		}
	}
	return s, nil
}

// Dial connects to one of the servers: it is the library's dialer.
func (s *Servers) Dial(network, addr string, limit time.Duration) (net.Conn, error) {
	if s.sealed {
		limit += handshakeLimit
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return s.ways[addr](ctx, network, addr)
}

// LogsIn reports whether the addresses name a user.
func (s *Servers) LogsIn() bool { return s.login != nil }

// LogIn tells the server who the client is, on a connection that stands. The library tells it again
// when it has connected again.
func (s *Servers) LogIn(c *zk.Conn) error { return c.AddAuth("digest", s.login) }

// Provider hands the library the servers' names as they are. Its own looks them up, and TLS needs
// to know them.
func (s *Servers) Provider() zk.HostProvider { return &provider{next: -1, last: -1} }

// provider goes around the servers. The library asks it in one goroutine.
type provider struct {
	names      []string
	next, last int
}

// Init takes the servers.
func (p *provider) Init(names []string) error {
	p.names = names
	return nil
}

// Len is how many servers there are.
func (p *provider) Len() int { return len(p.names) }

// Next is the server to try, and whether all have been tried since one was connected to.
func (p *provider) Next() (name string, around bool) {
	p.next = (p.next + 1) % len(p.names)
	around = p.next == p.last
	if p.last == -1 {
		p.last = 0
	}
	return p.names[p.next], around
}

// Connected takes note that the server could be connected to.
func (p *provider) Connected() { p.last = p.next }
