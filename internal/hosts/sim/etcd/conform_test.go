package etcd_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/lockchaos/lockchaos/internal/backends/etcdnode"
)

// requestsVar says how many random requests TestConforms makes. It is the seed, too.
const requestsVar = "LOCKCHAOS_TEST_REQUESTS"

const usualRequests = 2000

// realEtcd starts a real member, alone, and returns its address.
func realEtcd(t *testing.T) string {
	var addrs []string
	for range 2 {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addrs = append(addrs, lis.Addr().String())
		lis.Close()
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	dir := t.TempDir()
	go func() {
		ended <- etcdnode.Run(ctx, []string{"--name", "real", "--data-dir", dir, "--client-url", "http://" + addrs[0],
			"--peer-url", "http://" + addrs[1],
			"--initial-cluster", "real=http://" + addrs[1], "--heartbeat-interval", "50ms", "--election-timeout", "500ms"})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return addrs[0]
}

// peer is a server that is asked.
type peer struct {
	kv    pb.KVClient
	lease pb.LeaseClient
	watch pb.WatchClient
}

func dial(t *testing.T, addr string) *peer {
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &peer{pb.NewKVClient(conn), pb.NewLeaseClient(conn), pb.NewWatchClient(conn)}
}

// both are a real etcd and the model, which are asked the same.
type both struct {
	t           *testing.T
	ctx         context.Context
	real, model *peer
	r           *rand.Rand
	rev         int64
	compacted   int64
	errors      map[string]int
	watches     [2]*watching // of the present or the past, and of the future
	// Of one transaction. A put that keeps what it finds, after a delete of all
	// keys from one on, makes etcd 3.7.3 panic.
	keeps bool
}

// TestConforms asks a real etcd and the model the same random requests, over
// gRPC, and compares what they answer and what their watches see.
func TestConforms(t *testing.T) {
	n, err := strconv.Atoi(cmp.Or(os.Getenv(requestsVar), strconv.Itoa(usualRequests)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute+time.Duration(n)*20*time.Millisecond)
	defer cancel()
	b := &both{t: t, ctx: ctx, real: dial(t, realEtcd(t)), model: dial(t, newLive(t, 1).all[0].addr),
		r: rand.New(rand.NewPCG(uint64(n), 0)), errors: map[string]int{}}
	for i := range b.watches {
		b.watches[i] = b.newWatching()
	}
	for i := range n {
		if b.one(); t.Failed() {
			t.Fatalf("at request %d", i)
		}
	}
	b.endWatches()
	for _, want := range []string{"mvcc: required revision has been compacted",
		"mvcc: required revision is a future revision", "requested lease not found", "lease already exists",
		"too large lease TTL", "key not found", "key is not provided", "duplicate key given in txn request",
		"value is provided", "lease is provided", "too many operations in txn request",
		"invalid sort option"} {
		if b.errors["etcdserver: "+want] == 0 {
			t.Errorf("no request was refused for: %s", want)
		}
	}
}

// one makes one random request.
func (b *both) one() {
	switch k := b.r.IntN(100); {
	case k < 25:
		ask(b, b.put(), pb.KVClient.Put)
	case k < 45:
		ask(b, b.ranged(), pb.KVClient.Range)
	case k < 52:
		ask(b, b.remove(), pb.KVClient.DeleteRange)
	case k < 72:
		b.keeps = b.chance(50)
		ask(b, b.txn(2), pb.KVClient.Txn)
	case k < 73:
		b.sync()
		rev := b.revision()
		resp := ask(b, &pb.CompactionRequest{Revision: rev}, pb.KVClient.Compact)
		if resp != nil {
			b.compacted = rev
		}
	case k < 90:
		b.leases()
	default:
		b.watchSomething()
	}
}

func (b *both) chance(percent int) bool { return b.r.IntN(100) < percent }

func (b *both) key() []byte {
	if b.chance(1) {
		return nil
	}
	return []byte{"abc"[b.r.IntN(3)], "xyz"[b.r.IntN(3)]}
}

func (b *both) end() []byte {
	switch b.r.IntN(4) {
	case 0:
		return nil
	case 1:
		return []byte{0}
	}
	return []byte{"abcd"[b.r.IntN(4)]}
}

// revision is one that was, or may come, or was compacted.
func (b *both) revision() int64 {
	return max(0, b.rev-int64(b.r.IntN(30))+3)
}

func (b *both) leaseID() int64 { return int64(b.r.IntN(6)) }

func (b *both) put() *pb.PutRequest {
	r := &pb.PutRequest{Key: b.key(), Value: fmt.Appendf(nil, "%d", b.r.IntN(5)), PrevKv: b.chance(30)}
	if b.chance(30) {
		r.Lease = b.leaseID()
	}
	if b.chance(10) {
		r.IgnoreValue = true
		if b.chance(80) {
			r.Value = nil
		}
	}
	if b.chance(10) {
		r.IgnoreLease = true
		if b.chance(80) {
			r.Lease = 0
		}
	}
	return r
}

func (b *both) remove() *pb.DeleteRangeRequest {
	r := &pb.DeleteRangeRequest{Key: b.key(), PrevKv: b.chance(50)}
	if b.chance(20) {
		r.RangeEnd = b.end()
	}
	return r
}

func (b *both) ranged() *pb.RangeRequest {
	r := &pb.RangeRequest{Key: b.key(), RangeEnd: b.end(), Serializable: b.chance(50), KeysOnly: b.chance(20), CountOnly: b.chance(10)}
	if b.chance(30) {
		r.Revision = b.revision()
	}
	if b.chance(30) {
		r.Limit = int64(b.r.IntN(4))
	}
	if b.chance(40) {
		r.SortOrder, r.SortTarget = pb.RangeRequest_SortOrder(b.r.IntN(3)), pb.RangeRequest_SortTarget(b.r.IntN(5))
		if b.chance(5) {
			r.SortTarget = 9
		}
	}
	if b.chance(20) {
		r.MinModRevision, r.MaxModRevision = b.revision(), b.revision()
	}
	if b.chance(20) {
		r.MinCreateRevision, r.MaxCreateRevision = b.revision(), b.revision()
	}
	return r
}

func (b *both) txn(depth int) *pb.TxnRequest {
	r := &pb.TxnRequest{}
	for range b.r.IntN(3) {
		c := &pb.Compare{Key: b.key(), Result: pb.Compare_CompareResult(b.r.IntN(4)), Target: pb.Compare_CompareTarget(b.r.IntN(5))}
		if b.chance(20) {
			c.RangeEnd = b.end()
		}
		switch c.Target {
		case pb.Compare_VERSION:
			c.TargetUnion = &pb.Compare_Version{Version: int64(b.r.IntN(4))}
		case pb.Compare_CREATE:
			c.TargetUnion = &pb.Compare_CreateRevision{CreateRevision: b.r.Int64N(2) * b.revision()}
		case pb.Compare_MOD:
			c.TargetUnion = &pb.Compare_ModRevision{ModRevision: b.r.Int64N(2) * b.revision()}
		case pb.Compare_VALUE:
			c.TargetUnion = &pb.Compare_Value{Value: fmt.Appendf(nil, "%d", b.r.IntN(5))}
		case pb.Compare_LEASE:
			c.TargetUnion = &pb.Compare_Lease{Lease: b.leaseID()}
		}
		r.Compare = append(r.Compare, c)
	}
	r.Success, r.Failure = b.ops(depth), b.ops(depth)
	if b.chance(1) {
		for range 129 {
			r.Success = append(r.Success,
				&pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte("a")}}})
		}
	}
	return r
}

func (b *both) ops(depth int) (all []*pb.RequestOp) {
	for range b.r.IntN(4) {
		op := &pb.RequestOp{}
		switch k := b.r.IntN(7); {
		case k < 2:
			op.Request = &pb.RequestOp_RequestRange{RequestRange: b.ranged()}
		case k < 4:
			p := b.put()
			p.IgnoreValue, p.IgnoreLease = p.IgnoreValue && b.keeps, p.IgnoreLease && b.keeps
			op.Request = &pb.RequestOp_RequestPut{RequestPut: p}
		case k < 5:
			d := b.remove()
			if b.keeps && bytes.Equal(d.RangeEnd, []byte{0}) {
				d.RangeEnd = nil
			}
			op.Request = &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: d}
		case k < 6 && depth > 0:
			op.Request = &pb.RequestOp_RequestTxn{RequestTxn: b.txn(depth - 1)}
		case !b.chance(5): // seldom an operation that is none
			continue
		}
		all = append(all, op)
	}
	return all
}

func (b *both) leases() {
	switch b.r.IntN(6) {
	case 0:
		// the shortest one may expire
		r := &pb.LeaseGrantRequest{ID: 1 + int64(b.r.IntN(5)), TTL: 1000 * int64(b.r.IntN(3)-1)}
		if b.chance(5) {
			r.TTL = 9_000_000_001
		}
		if r.TTL > 0 {
			askLease(b, r, pb.LeaseClient.LeaseGrant)
		}
	case 1:
		askLease(b, &pb.LeaseRevokeRequest{ID: b.leaseID()}, pb.LeaseClient.LeaseRevoke)
	case 2:
		askLease(b, &pb.LeaseTimeToLiveRequest{ID: b.leaseID(), Keys: b.chance(70)}, pb.LeaseClient.LeaseTimeToLive)
	case 3:
		askLease(b, &pb.LeaseLeasesRequest{}, pb.LeaseClient.LeaseLeases)
	default:
		b.keepAlive(b.leaseID())
	}
}

func (b *both) keepAlive(id int64) {
	once := func(p *peer) (proto.Message, error) {
		s, err := p.lease.LeaseKeepAlive(b.ctx)
		if err != nil {
			return nil, err
		}
		if err := s.Send(&pb.LeaseKeepAliveRequest{ID: id}); err != nil {
			return nil, err
		}
		resp, err := s.Recv()
		if err != nil {
			return nil, err
		}
		if err := s.CloseSend(); err != nil {
			return nil, err
		}
		_, _ = s.Recv() // its end
		return resp, nil
	}
	one, e1 := once(b.real)
	two, e2 := once(b.model)
	b.compare(&pb.LeaseKeepAliveRequest{ID: id}, one, two, e1, e2)
}

// ask asks both, and returns the real answer; nil: it was an error.
func ask[Q, A proto.Message](b *both, q Q, how func(pb.KVClient, context.Context, Q, ...grpc.CallOption) (A, error)) proto.Message {
	one, e1 := how(b.real.kv, b.ctx, q)
	two, e2 := how(b.model.kv, b.ctx, q)
	return b.compare(q, one, two, e1, e2)
}

func askLease[Q, A proto.Message](b *both, q Q, how func(pb.LeaseClient, context.Context, Q, ...grpc.CallOption) (A, error)) {
	one, e1 := how(b.real.lease, b.ctx, q)
	two, e2 := how(b.model.lease, b.ctx, q)
	b.compare(q, one, two, e1, e2)
}

// headed is an answer with a header.
type headed interface{ GetHeader() *pb.ResponseHeader }

func (b *both) compare(q, one, two proto.Message, e1, e2 error) proto.Message {
	b.t.Helper()
	if b.ctx.Err() != nil {
		b.t.Fatalf("no answer to %T %s: etcd: %v, the model: %v", q, prototext.Format(q), e1, e2)
	}
	if s1, s2 := status.Convert(e1), status.Convert(e2); s1.Code() != s2.Code() || s1.Message() != s2.Message() {
		b.t.Errorf("%T %s\netcd:      %v\nthe model: %v", q, prototext.Format(q), e1, e2)
		return nil
	}
	if e1 != nil {
		b.errors[status.Convert(e1).Message()]++
		return nil
	}
	plain(one)
	plain(two)
	if !proto.Equal(one, two) {
		b.t.Errorf("%T %s\netcd:      %s\nthe model: %s", q, prototext.Format(q), prototext.Format(one), prototext.Format(two))
	}
	if h, ok := one.(headed); ok {
		b.rev = max(b.rev, h.GetHeader().GetRevision())
	}
	return one
}

// plain takes away what differs from server to server.
func plain(m proto.Message) {
	if h, ok := m.(headed); ok && h.GetHeader() != nil {
		h.GetHeader().ClusterId, h.GetHeader().MemberId, h.GetHeader().RaftTerm = 0, 0, 0
	}
	switch r := m.(type) {
	case *pb.LeaseTimeToLiveResponse:
		slices.SortFunc(r.Keys, bytes.Compare) // etcd's order is that of a map
		r.TTL = (r.TTL + 500) / 1000           // time passes
	case *pb.LeaseLeasesResponse:
		slices.SortFunc(r.Leases, func(a, b *pb.LeaseStatus) int { return cmp.Compare(a.ID, b.ID) })
	case *pb.LeaseKeepAliveResponse:
		r.TTL = (r.TTL + 500) / 1000
	}
}
