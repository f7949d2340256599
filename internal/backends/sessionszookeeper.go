package backends

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// expireZooKeeper closes the client's sessions, each by a connection that takes the session
// up and ends it: what the servers then do is what they do when a session expires (they have
// one transaction for both, closeSession), and the client learns of it in the same way.
func expireZooKeeper(ctx context.Context, s *Service, c Client) (ended []string, err error) {
	for _, session := range c.Sessions {
		if err := s.anyNode(ctx, func(ctx context.Context, n *Node) error {
			there, err := closeSession(ctx, n, session)
			if there {
				ended = append(ended, fmt.Sprintf("ZooKeeper (%s) closed session 0x%x, and refuses to take it up again: it has ended", n.Name, session.ID))
			}
			return err
		}); err != nil {
			return nil, fmt.Errorf("session 0x%x: %w", session.ID, err)
		}
	}
	return ended, nil
}

// What is sent to ZooKeeper and comes from it (zookeeper.jute: ConnectRequest,
// ConnectResponse, RequestHeader).
const (
	zooCloseSession = -11 // type of the request
	zooCloseXid     = 1   // its number
	zooConnectReply = 16  // at least: version, timeout, session
)

// closeSession takes the session up at a member and closes it; there is false if it had ended
// before. The server may end the connection before it has answered (FinalRequestProcessor
// closes those of the session), so it is asked for the session again, until there is none.
func closeSession(ctx context.Context, n *Node, s Session) (there bool, err error) {
	for step := firstStep; ; step = longer(step) {
		known, err := takeUpAndClose(ctx, n, s)
		if err != nil || !known {
			return there, err
		}
		there = true
		select {
		case <-time.After(step):
		case <-ctx.Done():
			return there, fmt.Errorf("it goes on after closeSession: %w", context.Cause(ctx))
		}
	}
}

// takeUpAndClose does so on a connection of its own, and reports whether there was such a session.
func takeUpAndClose(ctx context.Context, n *Node, s Session) (known bool, err error) {
	at, err := endpoint.Parse(n.Addr)
	if err != nil {
		return false, err
	}
	dial, err := at.Dialer(new(net.Dialer).DialContext)
	if err != nil {
		return false, err
	}
	conn, err := dial(ctx, "tcp", at.HostPort())
	if err != nil {
		return false, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if known, err = takeUp(conn, s); err != nil || !known {
		return false, err
	}
	request := binary.BigEndian.AppendUint32(nil, zooCloseXid)
	closing := int32(zooCloseSession)
	if err := zooSend(conn, binary.BigEndian.AppendUint32(request, uint32(closing))); err != nil {
		return true, fmt.Errorf("closeSession: %w", err)
	}
	_, _ = io.Copy(io.Discard, conn) // until the server ends the connection, or the time is over
	return true, ctx.Err()
}

// takeUp connects as the client that has the session, and reports whether there is such a session.
func takeUp(conn net.Conn, s Session) (bool, error) {
	request := make([]byte, 0, 44)
	// version
	request = binary.BigEndian.AppendUint32(request, 0)
	// the last transaction seen
	request = binary.BigEndian.AppendUint64(request, 0)
	// timeout
	request = binary.BigEndian.AppendUint32(request, uint32(zooMinSession.Milliseconds()))
	request = binary.BigEndian.AppendUint64(request, uint64(s.ID))
	request = binary.BigEndian.AppendUint32(request, uint32(len(s.Password)))
	reply, err := zooAsk(conn, append(request, s.Password...), zooConnectReply)
	if err != nil {
		return false, fmt.Errorf("connect: %w", err)
	}
	// the session's number; of one that has ended, 0
	return binary.BigEndian.Uint64(reply[8:]) != 0, nil
}

// zooSend sends a message.
func zooSend(conn net.Conn, message []byte) error {
	_, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...))
	return err
}

// zooAsk sends a message and returns the next, which must have as many bytes as are looked at.
func zooAsk(conn net.Conn, message []byte, least int) ([]byte, error) {
	if err := zooSend(conn, message); err != nil {
		return nil, err
	}
	var length [4]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if int(n) < least || n > maxBulk {
		return nil, fmt.Errorf("an answer of %d bytes, where %d or more are expected", n, least)
	}
	reply := make([]byte, n)
	_, err := io.ReadFull(conn, reply)
	return reply, err
}
