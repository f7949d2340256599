package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/etcdurl"
)

var etcdService = Service{
	Program: "etcd",
	Forms:   "http://USER:PASSWORD@HOST:PORT, or https://… with TLS",
	schemes: []string{"http", "https"},
	// a lease ends some time after its TTL, longer after an election
	ttl: 2 * time.Second, late: 3 * time.Second,
	under:  []string{"lockchaos/"},
	shares: true, // and a login takes the server a tenth of a second
	open:   openEtcd,
	denied: func(err error) string { return knownError(err, rpctypes.ErrPermissionDenied) },
	login: func(err error) bool {
		return knownError(err, rpctypes.ErrAuthFailed, rpctypes.ErrUserEmpty, rpctypes.ErrUserNotFound,
			rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthNotEnabled) != ""
	},
}

// knownError returns the server's answer if it is one of the errors.
func knownError(err error, wanted ...error) string {
	got := rpctypes.Error(err)
	for _, want := range wanted {
		if errors.Is(got, want) {
			return want.Error()
		}
	}
	return ""
}

type etcdServer struct {
	client *clientv3.Client
	at     string
}

// errSecure: the server wants TLS, and the address does not.
var errSecure = fmt.Errorf("it answers as a server with TLS does: %w", io.EOF)

// greeting is how a connection of HTTP/2 begins, with empty settings
// (https://www.rfc-editor.org/rfc/rfc9113#section-3.4).
const greeting = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// greet connects once without gRPC, which would try for as long as it may, and hide why. A server
// that refuses a client's certificate says so in place of its first answer.
func greet(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) error {
	secure, err := at.Dialer(dial)
	if err != nil {
		return err
	}
	conn, err := secure(ctx, "tcp", at.HostPort())
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := io.WriteString(conn, greeting); err != nil {
		return err
	}
	answer := make([]byte, 128)
	n, err := conn.Read(answer)
	if answer = answer[:n]; n > 0 && !at.Sealed() &&
		(answer[0] == alertRecord || bytes.Contains(answer, []byte("HTTPS server"))) {
		return errSecure
	}
	if n == 0 {
		return err
	}
	return nil
}

// alertRecord is the first byte of an alert (https://www.rfc-editor.org/rfc/rfc8446#section-5.1).
const alertRecord = 21

func openEtcd(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) (server, error) {
	if err := greet(ctx, at, dial); err != nil {
		return nil, err
	}
	config, err := etcdurl.Config([]string{at.Address()})
	if err != nil {
		return nil, err
	}
	config.Context = ctx
	config.DialOptions = append(config.DialOptions, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return dial(ctx, "tcp", at.HostPort())
	}))
	client, err := clientv3.New(config)
	if err != nil {
		return nil, err
	}
	e := &etcdServer{client, etcdurl.Of(at)}
	if _, err := client.Get(ctx, Key); err != nil && knownError(err, rpctypes.ErrPermissionDenied) == "" {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *etcdServer) prepare(context.Context, string) error { return nil }

func (e *etcdServer) create(ctx context.Context, key, value string, ttl time.Duration) (bool, error) {
	lease, err := e.client.Grant(ctx, int64(ttl/time.Second))
	if err != nil {
		return false, err
	}
	absent := clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
	done, err := e.client.Txn(ctx).If(absent).Then(clientv3.OpPut(key, value, clientv3.WithLease(lease.ID))).Commit()
	if err != nil {
		return false, err
	}
	if !done.Succeeded {
		_, _ = e.client.Revoke(ctx, lease.ID) // it expires otherwise
	}
	return done.Succeeded, nil
}

func (e *etcdServer) swap(ctx context.Context, key, old, fresh string) (bool, error) {
	same := clientv3.Compare(clientv3.Value(key), "=", old)
	done, err := e.client.Txn(ctx).If(same).Then(clientv3.OpPut(key, fresh, clientv3.WithIgnoreLease())).Commit()
	if err != nil {
		return false, err
	}
	return done.Succeeded, nil
}

func (e *etcdServer) get(ctx context.Context, key string) (string, error) {
	got, err := e.client.Get(ctx, key)
	if err != nil || len(got.Kvs) == 0 {
		return "", err
	}
	return string(got.Kvs[0].Value), nil
}

func (e *etcdServer) clear(ctx context.Context, prefix string, _ []string) error {
	_, err := e.client.Delete(ctx, prefix, clientv3.WithPrefix())
	return err
}

func (e *etcdServer) close() { _ = e.client.Close() }

// facts asks the member for its status, its alarms and the members of its cluster. A user without
// the role root may be refused the last two.
func (e *etcdServer) facts(ctx context.Context) ([]Fact, error) {
	var status *clientv3.StatusResponse
	var trip time.Duration
	for i := range clockTries {
		began := time.Now()
		s, err := e.client.Status(ctx, e.at)
		if err != nil {
			return nil, fmt.Errorf("status: %w", err)
		}
		if took := time.Since(began); i == 0 || took < trip {
			status, trip = s, took
		}
	}
	facts := []Fact{
		{Name: "version", Text: "etcd " + status.Version},
		etcdRole(status),
		e.replication(ctx),
		{Name: "clock", Text: "etcd tells no time; its leases run by the leader's monotonic clock"},
		{Name: "round trip", Text: trip.Round(time.Microsecond).String()},
		{Name: "persistence", Text: "each write is on the disks of a majority before it is answered"},
		{Name: "eviction", Text: "none"},
	}
	return append(facts, e.room(ctx, status)), nil
}

func etcdRole(s *clientv3.StatusResponse) Fact {
	f := Fact{Name: "role", Text: "follower"}
	switch {
	case s.IsLearner:
		f.Text, f.Warning = "learner", "a learner takes no locks: give the address of a voting member"
	case s.Leader == 0:
		f.Text, f.Warning = "no leader is known", "without a leader nothing is written"
	case s.Leader == s.Header.MemberId:
		f.Text = "leader"
	}
	return f
}

func (e *etcdServer) replication(ctx context.Context) Fact {
	f := Fact{Name: "replication"}
	list, err := e.client.MemberList(ctx)
	if err != nil {
		f.Text = "members are not told: " + err.Error()
		return f
	}
	f.Text = fmt.Sprintf("%d members", len(list.Members))
	if len(list.Members) < 3 {
		f.Warning = "a cluster of fewer than three members stops when one is away, and one that loses its disk forgets all locks"
	}
	return f
}

// room says how much may still be written.
func (e *etcdServer) room(ctx context.Context, s *clientv3.StatusResponse) Fact {
	f := Fact{Name: "limits", Text: fmt.Sprintf("%.1f MB of data", float64(s.DbSize)/1e6)}
	if s.DbSizeQuota > 0 {
		f.Text += fmt.Sprintf(" of %.0f MB", float64(s.DbSizeQuota)/1e6)
	}
	alarms, err := e.client.AlarmList(ctx)
	if err != nil {
		f.Text += "; alarms are not told: " + err.Error()
		return f
	}
	for _, a := range alarms.Alarms {
		if a.Alarm == etcdserverpb.AlarmType_NOSPACE {
			f.Warning = "the alarm NOSPACE is on: nothing is written until space is made and the alarm disarmed"
		}
	}
	return f
}
