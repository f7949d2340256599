// Package zkurl connects ZooKeeper's client to addresses: host:port, zk://user:password@host:port,
// or zks://… with TLS. User and password are those of ZooKeeper's scheme "digest"; the library
// speaks no SASL.
package zkurl

import (
	"context"
	"fmt"
	"io"
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

// Connect begins a session of so long. The library connects in the background, for ever, and says
// nowhere why it can't: it tells of its connections through the channel and, unless that is nil, to
// hear. dial is Dial, or goes by it.
func (s *Servers) Connect(session time.Duration, dial zk.Dialer, hear zk.EventCallback) (*zk.Conn, <-chan zk.Event, error) {
	return zk.Connect(s.Names, session, zk.WithDialer(dial), zk.WithHostProvider(&provider{next: -1, last: -1}),
		zk.WithEventCallback(hear), zk.WithLogger(silence{}), zk.WithLogInfo(false))
}

// silence is a logger of the library: what goes wrong is in the errors.
type silence struct{}

func (silence) Printf(string, ...any) {}

// FourLetters sends a command that a server answers without a session, and returns at most so many
// bytes of the answer. dial connects; nil: as usual.
func FourLetters(ctx context.Context, address string, dial endpoint.Dial, command string, most int64) (string, error) {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	at, err := endpoint.Parse(address)
	if err != nil {
		return "", err
	}
	secure, err := at.Dialer(dial)
	if err != nil {
		return "", err
	}
	conn, err := secure(ctx, "tcp", at.HostPort())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := io.WriteString(conn, command); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(conn, most))
	return string(text), err
}

// LogsIn reports whether the addresses name a user.
func (s *Servers) LogsIn() bool { return s.login != nil }

// LogIn tells the server who the client is, on a connection that stands. The library tells it again
// when it has connected again.
func (s *Servers) LogIn(c *zk.Conn) error { return c.AddAuth("digest", s.login) }

// provider goes around the servers, and hands the library their names as they are. Its own looks
// them up, and TLS needs to know them. The library asks it in one goroutine.
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
