package backends

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
)

// Client is a client of a service, as the service knows it.
type Client struct {
	// Addr is where it connects from.
	Addr netip.Addr
	// Sessions are those that it told of, the oldest first; they may have ended meanwhile.
	Sessions []Session
}

// Session is what a service knows a client's session by.
type Session struct {
	// ID is the number of etcd's lease, or of ZooKeeper's session.
	ID int64
	// Password is what ZooKeeper asks of a client that takes a session up again, and
	// at Consul the name of the session; none elsewhere.
	Password []byte
}

// ErrUntold: the service knows sessions by what the client tells of them, and
// the client has told of none.
var ErrUntold = errors.New("the client has told of no session")

// expirer ends the sessions of a client; the zero value: there are none to end.
type expirer struct {
	end func(ctx context.Context, s *Service, c Client) ([]string, error)
	// told: the client must have told which are its own.
	told bool
}

// HasSessions reports whether clients have sessions at the service that Expire can end.
func (k Kind) HasSessions() bool { return k.expirer.end != nil }

// MustBeTold reports whether Expire needs a client's Sessions: only the client
// knows which are its own. It needs no more rights than the client has to end them.
func (k Kind) MustBeTold() bool { return k.expirer.told }

// Expire has the service end every session that the client has now, as an operator
// would: etcd revokes its leases, ZooKeeper closes its sessions, PostgreSQL
// terminates its backends. It returns what the service answered, a text for each
// session that ended; none: the client had no session. ErrUntold: nobody knows.
func (s *Service) Expire(ctx context.Context, c Client) (ended []string, err error) {
	k, _ := Lookup(s.Name)
	expire := k.expirer
	if expire.end == nil {
		return nil, fmt.Errorf("clients of %q have no sessions there that can be ended", s.Name)
	}
	if expire.told && len(c.Sessions) == 0 {
		return nil, fmt.Errorf("at %s: %w", s.Name, ErrUntold)
	}
	if ended, err = expire.end(ctx, s, c); err != nil {
		return nil, fmt.Errorf("end the sessions of the client at %s at %s: %w", c.Addr, s.Name, err)
	}
	return ended, nil
}

// anyNode asks one node after the other, until one answers.
func (s *Service) anyNode(ctx context.Context, ask func(context.Context, *Node) error) error {
	var errs []error
	for _, n := range s.Nodes {
		question, cancel := context.WithTimeout(ctx, askLimit)
		err := ask(question, n)
		cancel()
		if err == nil {
			return nil
		}
		errs = append(errs, n.failed(err))
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}
