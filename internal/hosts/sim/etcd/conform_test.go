package etcd_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
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

// told is a response of a stream of watches that is about a watch itself.
type told struct {
	id                int64
	created, canceled bool
	reason            string
	compacted, at     int64
}

// seen is what a stream of watches has told: all about the watches, and the events of each.
type seen struct {
	mu       sync.Mutex
	events   map[int64][]*mvccpb.Event
	told     []told
	progress int
	ended    error
}

func listen(s pb.Watch_WatchClient) *seen {
	x := &seen{events: map[int64][]*mvccpb.Event{}}
	go func() {
		for x.take(s.Recv()) {
		}
	}()
	return x
}

func (x *seen) take(r *pb.WatchResponse, err error) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case err != nil:
		x.ended = err
		return false
	case r.Created || r.Canceled:
		x.told = append(x.told, told{r.WatchId, r.Created, r.Canceled, r.CancelReason, r.CompactRevision, r.Header.Revision})
	case len(r.Events) == 0:
		x.progress++
	}
	for _, e := range r.Events {
		// The watches that see a change are told in any order: when the first tells of the last
		// change, the others may still have to tell of it, but of none before it.
		if r.WatchId == firstWatch || string(e.Kv.Key) != syncKey {
			x.events[r.WatchId] = append(x.events[r.WatchId], e)
		}
	}
	return true
}

// all are the events of each watch so far.
func (x *seen) all() map[int64][]*mvccpb.Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.events)
}

// response is one about a watch.
func (x *seen) response(i int) told {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.told[i]
}

// watching is the same stream of watches of both.
type watching struct {
	b      *both
	stream [2]pb.Watch_WatchClient
	seen   [2]*seen
	open   []int64
	told   int // how many responses about watches there are
}

// syncKey is a key that each stream of watches watches from the start on.
const syncKey = "sync"

// firstWatch is the ID of the watch that watches syncKey.
const firstWatch = 0

func (b *both) newWatching() *watching {
	w := &watching{b: b}
	for i, p := range []*peer{b.real, b.model} {
		s, err := p.watch.Watch(b.ctx)
		if err != nil {
			b.t.Fatal(err)
		}
		w.stream[i], w.seen[i] = s, listen(s)
	}
	w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{Key: []byte(syncKey)}}})
	if id := w.tells("the first watch").id; id != firstWatch {
		b.t.Fatalf("the first watch of a stream is %d", id)
	}
	return w
}

// sync waits until the watches have told of everything. What etcd still has to tell
// of a watch when it is cancelled, or when the past is compacted, it may lose.
func (b *both) sync() {
	ask(b, &pb.PutRequest{Key: []byte(syncKey)}, pb.KVClient.Put)
	for _, w := range b.watches {
		w.await("a change", func(x *seen) bool {
			n := len(x.events[firstWatch])
			return n > 0 && x.events[firstWatch][n-1].Kv.ModRevision == b.rev
		}, nil)
		for w.counts(0) != w.counts(1) {
			if b.ctx.Err() != nil {
				b.t.Fatalf("the watches have seen so many events\netcd:      %s\nthe model: %s", w.counts(0), w.counts(1))
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// counts says how many events each watch of one of both has seen.
func (w *watching) counts(i int) string {
	n := map[int64]int{}
	for id, events := range w.seen[i].all() {
		if len(events) > 0 {
			n[id] = len(events)
		}
	}
	return fmt.Sprint(n)
}

func (w *watching) send(r *pb.WatchRequest) {
	for _, s := range w.stream {
		if err := s.Send(proto.Clone(r).(*pb.WatchRequest)); err != nil {
			w.b.t.Fatal(err)
		}
	}
}

// await waits until each of both has seen something. again is called meanwhile, now and then.
func (w *watching) await(what string, ok func(x *seen) bool, again func(pb.Watch_WatchClient)) {
	w.b.t.Helper()
	for i, x := range w.seen {
		for n := 0; ; n++ {
			x.mu.Lock()
			done, ended := ok(x), x.ended
			x.mu.Unlock()
			if done {
				break
			}
			if ended != nil || w.b.ctx.Err() != nil {
				w.b.t.Fatalf("%s has not told of %s: %v, %v", []string{"etcd", "the model"}[i], what, ended, w.b.ctx.Err())
			}
			if n%20 == 0 && again != nil {
				again(w.stream[i])
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// tells waits for the next response about a watch, and returns it.
func (w *watching) tells(what string) told {
	w.b.t.Helper()
	w.await(what, func(x *seen) bool { return len(x.told) > w.told }, nil)
	w.told++
	one, two := w.seen[0].response(w.told-1), w.seen[1].response(w.told-1)
	if one != two {
		w.b.t.Errorf("%s\netcd:      %+v\nthe model: %+v", what, one, two)
	}
	return one
}

func (b *both) watchSomething() {
	w := b.watches[0]
	switch k := b.r.IntN(4); {
	case k == 0 && len(w.open) > 0:
		w.cancel(b.r.IntN(len(w.open)))
	case k == 1 && len(b.watches[1].open) < 20:
		b.watches[1].create(b.rev + 1 + int64(b.r.IntN(5)))
	case len(w.open) < 6:
		start := int64(0)
		if b.chance(60) {
			start = max(0, b.rev-int64(b.r.IntN(40)))
		}
		w.create(start)
	}
}

func (w *watching) cancel(i int) {
	w.b.sync()
	w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CancelRequest{CancelRequest: &pb.WatchCancelRequest{WatchId: w.open[i]}}})
	w.tells("a cancellation")
	w.open = slices.Delete(w.open, i, i+1)
}

// create makes a watch. One of the past has caught up when this returns.
func (w *watching) create(start int64) {
	b := w.b
	r := &pb.WatchCreateRequest{Key: b.key(), RangeEnd: b.end(), StartRevision: start, PrevKv: b.chance(50)}
	for _, f := range []pb.WatchCreateRequest_FilterType{pb.WatchCreateRequest_NOPUT, pb.WatchCreateRequest_NODELETE} {
		if b.chance(15) {
			r.Filters = append(r.Filters, f)
		}
	}
	if b.chance(10) && len(w.open) > 0 {
		r.WatchId = w.open[0] // 0: the server chooses
	}
	if b.chance(3) {
		r.StartRevision = -1
	}
	w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: r}})
	made := w.tells("a new watch " + prototext.Format(r))
	if made.canceled {
		b.errors[made.reason]++
		return
	}
	w.open = append(w.open, made.id)
	if start > 0 && start < b.compacted {
		if w.tells("a watch of what is compacted").compacted == 0 {
			b.t.Error("it was not cancelled for that")
		}
		b.errors["compacted watch"]++
		w.cancel(len(w.open) - 1)
	} else if start <= b.rev {
		w.catchUp()
	}
}

// catchUp waits until the watches have seen the past: before that, no progress is told.
func (w *watching) catchUp() {
	before := [2]int{}
	for i, x := range w.seen {
		x.mu.Lock()
		before[i] = x.progress
		x.mu.Unlock()
	}
	w.await("progress", func(x *seen) bool {
		return x == w.seen[0] && x.progress > before[0] || x == w.seen[1] && x.progress > before[1]
	},
		func(s pb.Watch_WatchClient) {
			progress := &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}
			if err := s.Send(&pb.WatchRequest{RequestUnion: progress}); err != nil {
				w.b.t.Fatal(err)
			}
		})
}

// endWatches waits until all watches have seen everything, and compares what they saw.
func (b *both) endWatches() {
	b.sync()
	total := 0
	for _, w := range b.watches {
		both := [2]map[int64][]*mvccpb.Event{w.seen[0].all(), w.seen[1].all()}
		for id, want := range both[0] {
			got := both[1][id]
			total += len(want)
			for i := range want {
				if !proto.Equal(got[i], want[i]) {
					b.t.Errorf("watch %d, event %d\netcd:      %v\nthe model: %v", id, i, want[i], got[i])
					break
				}
			}
		}
	}
	if total < 100 {
		b.t.Errorf("the watches have seen %d events", total)
	}
	for _, want := range []string{"mvcc: watcher range is empty",
		"mvcc: duplicate watch ID provided on the WatchStream", "compacted watch"} {
		if b.errors[want] == 0 {
			b.t.Errorf("no watch was refused for: %s", want)
		}
	}
}
