// Package nats has a lock on NATS JetStream: a key of a bucket that is made with a time to live.
package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/lease"
	"github.com/lockchaos/lockchaos/internal/endpoint/natsurl"
)

// KV is the lock nats-kv.
var KV = kind("nats-kv", "a key of a JetStream bucket, created with a time to live, renewed and given back at its revision; the revision is a fencing token", "", false)

// BrokenUpdate is the control broken-nats-update: nats-kv renewed by the
// library's Update, which writes the key without a time to live. The manual says
// so ("the TTL is set when the key is created and cannot be changed later"), and
// the name does not. A holder that dies after a renewal leaves the key for ever.
var BrokenUpdate = kind("broken-nats-update",
	"nats-kv that is renewed by the library's Update, which takes the key's time to live away", checker.StuckLock, true)

func kind(called, about, control string, broken bool) clients.Kind {
	return clients.Kind{
		Name: called, About: about, Service: "nats", Control: control,
		// A key is read from a leader that may have been deposed: that it is
		// ours proves nothing. And where a leader is lost, nobody has the lock
		// for up to 9 s: nothing is claimed of a minority.
		Claims: clients.Claims{Validity: "from_invocation", Token: "fencing", Confirms: []string{"renew", "release"},
			Permits: 1},
		Open: func(ctx context.Context, c clients.Config) (clients.Lock, error) {
			b, err := open(ctx, c, broken)
			if err != nil {
				return nil, err
			}
			return lease.New(b, c, min(b.ttl/5, 100*time.Millisecond)), nil
		},
	}
}

// bucket is leases in a bucket of keys and values.
type bucket struct {
	conn  *natsgo.Conn
	js    jetstream.JetStream
	nodes string
	ttl   time.Duration // what a holder goes by
	// the key's time to live: the TTL, made whole seconds, for the server would cut it to them
	expiry  time.Duration
	forever bool // a renewal takes the time to live away

	mu        sync.Mutex
	stream    jetstream.Stream
	revisions map[string]uint64 // of our records, by owner: the last that is known
}

// reconnectWait is the pause before a server is tried again that was lost.
const reconnectWait = 50 * time.Millisecond

func open(ctx context.Context, c clients.Config, forever bool) (*bucket, error) {
	nodes, ttl := strings.Join(c.Nodes, ","), c.TTL
	if len(c.Nodes) == 0 {
		return nil, errors.New("a lock on NATS needs the addresses of its servers; none were configured")
	}
	if ttl < time.Second {
		return nil, fmt.Errorf("NATS at %s: a TTL of %v; a key lives for a second or more, configure at least one",
			nodes, ttl)
	}
	conn, err := natsurl.Connect(ctx, c.Nodes, nil,
		natsgo.MaxReconnects(-1), natsgo.ReconnectWait(reconnectWait), natsgo.ReconnectJitter(reconnectWait/2, 0),
		natsgo.RetryOnFailedConnect(true),
		natsgo.ReconnectBufSize(-1), // what can't be sent now is not sent later
		natsgo.PingInterval(ttl/4), natsgo.MaxPingsOutstanding(2), natsgo.Timeout(ttl/2),
		// every call has its error
		natsgo.ErrorHandler(func(*natsgo.Conn, *natsgo.Subscription, error) {}))
	if err != nil {
		return nil, fmt.Errorf("NATS at %s: %w", nodes, err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("NATS at %s: %w", nodes, err)
	}
	return &bucket{conn: conn, js: js, nodes: nodes, ttl: ttl, expiry: wholeSeconds(ttl), forever: forever,
		revisions: map[string]uint64{}}, nil
}

func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

func (b *bucket) String() string { return "NATS at " + b.nodes }

// write writes the key's value at the revision that it must have, and returns
// the new one. 0: the key must not be there.
func (b *bucket) write(ctx context.Context, key, value string, at uint64, headers natsgo.Header,
	options ...jetstream.PublishOpt) (uint64, error) {
	if headers == nil {
		headers = natsgo.Header{}
	}
	ack, err := b.js.PublishMsg(ctx, &natsgo.Msg{Subject: natsurl.Subject(key), Data: []byte(value), Header: headers},
		append(options, jetstream.WithExpectLastSequencePerSubject(at), jetstream.WithRetryAttempts(0))...)
	if err != nil {
		return 0, outcome(err)
	}
	return ack.Sequence, nil
}

// outcome is what is known after an error: that the revision was another, that
// nothing was sent, or nothing.
func outcome(err error) error {
	var answered *jetstream.APIError
	switch {
	case errors.As(err, &answered) && (answered.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		answered.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant):
		return clients.ErrNotHeld
	case errors.Is(err, natsgo.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse),
		errors.Is(err, natsgo.ErrReconnectBufExceeded), errors.Is(err, natsgo.ErrConnectionClosed):
		return fmt.Errorf("nobody was there to hear it: %w", err)
	}
	return fmt.Errorf("%w: %w", clients.ErrOpen, err)
}

// open looks the bucket up, once.
func (b *bucket) open(ctx context.Context) (jetstream.Stream, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stream != nil {
		return b.stream, nil
	}
	stream, err := b.js.Stream(ctx, natsurl.Stream)
	if err == nil {
		b.stream = stream
	}
	return stream, err
}

// nearest asks whichever server answers, as the library's Get does: it may lag behind.
func (b *bucket) nearest(ctx context.Context, key string) (natsurl.Message, error) {
	stream, err := b.open(ctx)
	if err != nil {
		return natsurl.Message{}, fmt.Errorf("look the bucket up: %w", err)
	}
	m, err := stream.GetLastMsgForSubject(ctx, natsurl.Subject(key))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return natsurl.Message{Ended: true}, nil
	case err != nil:
		return natsurl.Message{}, fmt.Errorf("look the key up: %w", err)
	}
	return natsurl.Newest(m.Data, m.Sequence, m.Header), nil
}

// leading asks the stream's leader, which has every write that was answered.
func (b *bucket) leading(ctx context.Context, key string) (natsurl.Message, error) {
	m, err := natsurl.Leading(ctx, b.conn, key)
	if err != nil {
		err = fmt.Errorf("look the key up at the leader: %w", err)
	}
	return m, err
}

// Take creates the key where there is none, or where the newest message says that it has ended.
func (b *bucket) Take(ctx context.Context, key, owner string) (int64, error) {
	m, err := b.nearest(ctx, key)
	if err != nil {
		return 0, err // nothing was written
	}
	if !m.Ended {
		return 0, clients.ErrNotHeld
	}
	revision, err := b.write(ctx, key, owner, m.Revision, nil, jetstream.WithMsgTTL(b.expiry))
	if err == nil {
		b.note(owner, revision)
	}
	return int64(revision), err
}

func (b *bucket) note(owner string, revision uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.revisions[owner] = revision
}

// newestRevision is the newest revision of the owner's key that is known: the one that
// it was created with, or renewed.
func (b *bucket) newestRevision(owner string, created int64) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.revisions[owner], uint64(created))
}

// settle is the pause before a write is sent again that the leader refused
// though the key has the right revision.
const settle = 5 * time.Millisecond

// change writes at the revision that is known. A refusal alone does not say
// that the key has another owner, so the leader is asked:
//   - A greater revision with our name is a renewal whose answer was lost. The
//     key is written at that one.
//   - The same revision is one that the leader is about to forget as a write
//     under way. A leader of NATS 2.15 answers a write before it has forgotten it
//     (applyStreamMsgOp clears inflight after processJetStreamMsg has answered),
//     and until then it refuses every other write of the key. It is asked again.
//   - A smaller revision comes of a leader that lags behind. It is asked again, too.
func (b *bucket) change(ctx context.Context, key, owner string, created int64,
	write func(at uint64) (uint64, error)) error {
	at := b.newestRevision(owner, created)
	for {
		revision, err := write(at)
		if err == nil {
			b.note(owner, revision)
		}
		if !errors.Is(err, clients.ErrNotHeld) {
			return err
		}
		m, err := b.leading(ctx, key)
		switch {
		case err != nil:
			return err
		case (m.Ended || m.Value != owner) && (m.Revision == 0 || m.Revision >= at):
			return clients.ErrNotHeld
		}
		at = max(at, m.Revision)
		if err := clients.Wait(ctx, settle); err != nil {
			return fmt.Errorf("the leader refused the write of a key that is ours, again and again: %w", err)
		}
	}
}

// Renew writes the key again, with a new time to live.
func (b *bucket) Renew(ctx context.Context, key, owner string, created int64) error {
	return b.change(ctx, key, owner, created, func(at uint64) (uint64, error) {
		if b.forever {
			return b.write(ctx, key, owner, at, nil)
		}
		return b.write(ctx, key, owner, at, nil, jetstream.WithMsgTTL(b.expiry))
	})
}

// Give writes that the key is gone, as the library's Delete does, for as long
// as a lease: a bucket must not grow for ever.
func (b *bucket) Give(ctx context.Context, key, owner string, created int64) error {
	return b.change(ctx, key, owner, created, func(at uint64) (uint64, error) {
		return b.write(ctx, key, "", at, natsgo.Header{"KV-Operation": {"DEL"}}, jetstream.WithMsgTTL(b.expiry))
	})
}

// Held looks the key up at the leader: a server that lags behind would say of a
// new hold that it is lost.
func (b *bucket) Held(ctx context.Context, key, owner string, _ int64) error {
	m, err := b.leading(ctx, key)
	if err == nil && (m.Ended || m.Value != owner) {
		err = clients.ErrNotHeld
	}
	return err
}

// Close closes the connection.
func (b *bucket) Close() error {
	b.conn.Close()
	return nil
}
