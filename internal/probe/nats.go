package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/natsurl"
	"github.com/lockchaos/lockchaos/internal/logins"
)

var natsService = Service{
	Program: "nats",
	Forms:   "nats://USER:PASSWORD@HOST:PORT, or tls://…?creds=FILE with TLS and a file of credentials",
	schemes: []string{"nats", "tls"},
	// a key's end is looked at once a second
	ttl: 2 * time.Second, late: 3 * time.Second,
	open: openNATS,
	denied: func(err error) string {
		if errors.Is(err, natsgo.ErrPermissionViolation) {
			return err.Error()
		}
		return ""
	},
	login: func(err error) bool {
		for _, refused := range []error{natsgo.ErrAuthorization, natsgo.ErrAuthExpired, natsgo.ErrAuthRevoked,
			natsgo.ErrAccountAuthExpired} {
			if errors.Is(err, refused) {
				return true
			}
		}
		return false
	},
}

type natsServer struct {
	conn   *natsgo.Conn
	bucket jetstream.KeyValue
	// refused ends when the server says that the user may not do something: it does not answer
	// then, and says so beside.
	refused context.Context
}

// mostInfo bounds the line by which a server greets.
const mostInfo = 64 << 10

// errInsecure: the address wants TLS, and the server has none.
var errInsecure = errors.New("the server has no TLS: write nats:// in place of tls://, or switch it on there")

// greetNATS connects once and reads what the server says before a login: the library hides why it
// cannot connect, and speaks TLS where the address does not want it.
func greetNATS(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) error {
	conn, err := dial(ctx, "tcp", at.HostPort())
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	line, err := bufio.NewReaderSize(conn, mostInfo).ReadSlice('\n')
	text, greets := strings.CutPrefix(string(line), "INFO ")
	if err != nil || !greets {
		return errors.Join(errors.New("it does not greet as a NATS server does"), err)
	}
	var info struct {
		Required  bool `json:"tls_required"`
		Available bool `json:"tls_available"`
	}
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		return fmt.Errorf("it does not greet as a NATS server does: %w", err)
	}
	switch {
	case at.Sealed() && !info.Required && !info.Available:
		return errInsecure
	case !at.Sealed() && info.Required:
		return errSecure
	}
	return nil
}

func openNATS(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) (server, error) {
	if err := greetNATS(ctx, at, dial); err != nil {
		return nil, err
	}
	refused, refuse := context.WithCancelCause(context.Background())
	conn, err := natsurl.Connect(ctx, []string{at.Address()}, dial, natsgo.NoReconnect(),
		natsgo.ErrorHandler(func(_ *natsgo.Conn, _ *natsgo.Subscription, err error) {
			if errors.Is(err, natsgo.ErrPermissionViolation) {
				refuse(err)
			}
		}))
	if err != nil {
		return nil, err
	}
	return &natsServer{conn: conn, refused: refused}, nil
}

// ask does something that ends at once when the server refuses it.
func (n *natsServer) ask(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.refused, cancel)()
	err := do(ctx)
	if why := context.Cause(n.refused); err != nil && why != nil {
		return why
	}
	return err
}

// prepare finds the bucket of locks, or makes it as locks do.
func (n *natsServer) prepare(ctx context.Context, _ string) error {
	return n.ask(ctx, func(ctx context.Context) (err error) {
		n.bucket, err = natsurl.Bucket(ctx, n.conn)
		return err
	})
}

// errNoTTL: keys of the bucket can't expire.
var errNoTTL = errors.New("no key of the bucket " + logins.NATSBucket + " may have a time to live: let its limit-marker-ttl be a second or more, or delete it")

// put writes a key at the revision that it must have.
func (n *natsServer) put(ctx context.Context, key, value string, at uint64, options ...jetstream.PublishOpt) (bool, error) {
	js, err := jetstream.New(n.conn)
	if err != nil {
		return false, err
	}
	err = n.ask(ctx, func(ctx context.Context) error {
		_, err := js.Publish(ctx, natsurl.Subject(key), []byte(value), append(options, jetstream.WithExpectLastSequencePerSubject(at))...)
		return err
	})
	answer, answered := errors.AsType[*jetstream.APIError](err)
	if !answered {
		return err == nil, err
	}
	switch answer.ErrorCode {
	case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
		return false, nil
	case ttlDisabled:
		return false, errNoTTL
	}
	return false, err
}

// ttlDisabled is the server's word for a time to live that the bucket does not allow
// (JSMessageTTLDisabledErr).
const ttlDisabled = 10166

func (n *natsServer) create(ctx context.Context, key, value string, ttl time.Duration) (bool, error) {
	return n.put(ctx, key, value, 0, jetstream.WithMsgTTL(ttl))
}

func (n *natsServer) swap(ctx context.Context, key, old, fresh string) (bool, error) {
	m, err := n.newest(ctx, key)
	if err != nil || m.Ended || m.Value != old {
		return false, err
	}
	return n.put(ctx, key, fresh, m.Revision)
}

// newest asks the leader: another server may lag behind.
func (n *natsServer) newest(ctx context.Context, key string) (m natsurl.Message, err error) {
	err = n.ask(ctx, func(ctx context.Context) error {
		m, err = natsurl.Leading(ctx, n.conn, key)
		return err
	})
	return m, err
}

func (n *natsServer) get(ctx context.Context, key string) (string, error) {
	m, err := n.newest(ctx, key)
	if err != nil || m.Ended {
		return "", err
	}
	return m.Value, nil
}

// markerLife is for how long it is remembered that a key was deleted.
const markerLife = time.Second

// clear deletes the keys. The bucket stays, as after a run.
func (n *natsServer) clear(ctx context.Context, _ string, keys []string) error {
	if n.bucket == nil {
		return nil
	}
	return n.ask(ctx, func(ctx context.Context) error {
		for _, key := range keys {
			if err := n.bucket.Purge(ctx, key, jetstream.PurgeTTL(markerLife)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (n *natsServer) close() { n.conn.Close() }

// facts asks for the bucket, if there is one, and for the account. It writes nothing.
func (n *natsServer) facts(ctx context.Context) (facts []Fact, err error) {
	err = n.ask(ctx, func(ctx context.Context) error {
		js, err := jetstream.New(n.conn)
		if err != nil {
			return err
		}
		account, err := js.AccountInfo(ctx)
		if err != nil {
			return fmt.Errorf("JetStream: %w", err)
		}
		trip, err := n.conn.RTT()
		if err != nil {
			return err
		}
		facts = []Fact{{Name: "version", Text: "NATS " + n.conn.ConnectedServerVersion()},
			{Name: "role", Text: "server " + n.conn.ConnectedServerName() + " of " + natsCluster(n.conn)},
			{Name: "clock", Text: "NATS tells no time; keys expire by the servers' clock on the wall"},
			{Name: "round trip", Text: trip.Round(time.Microsecond).String()},
			{Name: "limits", Text: fmt.Sprintf("%d bytes a message, streams %d of %s, storage %d of %s bytes", n.conn.MaxPayload(),
				account.Streams, limit(int64(account.Limits.MaxStreams)), account.Store, limit(account.Limits.MaxStore))}}
		stream, err := js.Stream(ctx, natsurl.Stream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			facts = append(facts, Fact{Name: "bucket", Text: "there is none named " + logins.NATSBucket + " yet; it is made when it is needed"})
			return nil
		}
		if err != nil {
			return err
		}
		facts = append(facts, natsBucket(stream.CachedInfo())...)
		return nil
	})
	return facts, err
}

func natsCluster(conn *natsgo.Conn) string {
	if name := conn.ConnectedClusterName(); name != "" {
		return "the cluster " + name
	}
	return "no cluster"
}

func limit(n int64) string {
	if n <= 0 {
		return "no limit"
	}
	return fmt.Sprint(n)
}

// natsBucket says what of the bucket endangers a lock.
func natsBucket(info *jetstream.StreamInfo) []Fact {
	replicas := Fact{Name: "replication", Text: fmt.Sprintf("the bucket lies on %d servers", info.Config.Replicas)}
	if info.Config.Replicas < leastServers {
		replicas.Warning = "one server that is away stops all locks, and one that loses its disk forgets them: make the bucket with three replicas"
	}
	kept := Fact{Name: "persistence", Text: "the bucket is kept in files, written to the disk some time after they are answered"}
	if info.Config.Storage == jetstream.MemoryStorage {
		kept.Text, kept.Warning = "the bucket is kept in memory", "servers that restart forget locks that were granted: make the bucket with --storage file"
	}
	expiry := Fact{Name: "eviction", Text: "none"}
	if info.Config.MaxAge > 0 {
		expiry.Text = fmt.Sprintf("all keys expire after %v", info.Config.MaxAge)
		expiry.Warning = "EVICTION: a lock that is held for longer than the bucket's own TTL is deleted: make the bucket without one"
	}
	if info.Config.Discard == jetstream.DiscardOld && (info.Config.MaxMsgs > 0 || info.Config.MaxBytes > 0) {
		expiry.Text = "the oldest keys, when the bucket is full"
		expiry.Warning = "EVICTION: a full bucket deletes a lock that is held: let it discard what is new"
	}
	return []Fact{replicas, kept, expiry}
}
