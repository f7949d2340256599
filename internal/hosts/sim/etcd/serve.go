package etcd

import (
	"fmt"
	"maps"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Version is the etcd whose rules the model follows.
const Version = "3.7.3"

// served are the services of which some methods are served.
var served = map[string]bool{"etcdserverpb.KV": true, "etcdserverpb.Lease": true, "etcdserverpb.Watch": true,
	"etcdserverpb.Cluster": true, "etcdserverpb.Maintenance": true,
	"grpc.health.v1.Health": true}

// methods make what takes the messages of a call.
var methods = map[string]func(s *call) handler{
	"/etcdserverpb.KV/Range": unary(func(s *call, r *pb.RangeRequest) error { return s.c.m.serveRange(s, r) }),
	"/etcdserverpb.KV/Put": unary(func(s *call, r *pb.PutRequest) error {
		return s.agreed(checkPut(r),
			&pb.InternalRaftRequest{Put: r})
	}),
	"/etcdserverpb.KV/DeleteRange": unary(func(s *call, r *pb.DeleteRangeRequest) error {
		return s.agreed(checkDelete(r), &pb.InternalRaftRequest{DeleteRange: r})
	}),
	"/etcdserverpb.KV/Txn": unary(func(s *call, r *pb.TxnRequest) error { return s.c.m.serveTxn(s, r) }),
	"/etcdserverpb.KV/Compact": unary(func(s *call, r *pb.CompactionRequest) error {
		return s.agreed(nil, &pb.InternalRaftRequest{Compaction: r})
	}),
	"/etcdserverpb.Lease/LeaseGrant": unary(func(s *call,
		r *pb.LeaseGrantRequest) error {
		return s.c.m.serveGrant(s, r)
	}),
	"/etcdserverpb.Lease/LeaseRevoke": unary(func(s *call, r *pb.LeaseRevokeRequest) error {
		return s.agreed(nil, &pb.InternalRaftRequest{LeaseRevoke: r})
	}),
	"/etcdserverpb.Lease/LeaseKeepAlive": func(s *call) handler { return &keepAlives{s: s} },
	"/etcdserverpb.Lease/LeaseTimeToLive": unary(func(s *call, r *pb.LeaseTimeToLiveRequest) error {
		s.c.m.timeToLive(s, r)
		return nil
	}),
	"/etcdserverpb.Lease/LeaseLeases": unary(func(s *call,
		_ *pb.LeaseLeasesRequest) error {
		return s.c.m.serveLeases(s)
	}),
	"/etcdserverpb.Watch/Watch": newWatchStream,
	"/etcdserverpb.Cluster/MemberList": unary(func(s *call, r *pb.MemberListRequest) error {
		return s.c.m.serveMembers(s, r)
	}),
	"/etcdserverpb.Maintenance/Status": unary(func(s *call, _ *pb.StatusRequest) error { return s.c.m.serveStatus(s) }),
	"/grpc.health.v1.Health/Check": unary(func(s *call, _ *healthpb.HealthCheckRequest) error {
		s.answer(&healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil)
		return nil
	}),
}

func (m *Member) handlerOf(s *call) handler {
	if of := methods[s.method]; of != nil {
		return of(s)
	}
	return nil
}

// unaryCall takes the message of a call that has one.
type unaryCall func(text []byte) error

func (o unaryCall) message(text []byte) error { return o(text) }

func (unaryCall) end() {}

// unary makes the handler of a method with one request and one answer. The
// error of do ends the call.
func unary[R any, P interface {
	*R
	proto.Message
}](do func(s *call, r P) error) func(s *call) handler {
	return func(s *call) handler {
		return unaryCall(func(text []byte) error {
			r := P(new(R))
			if err := s.parse(text, r); err != nil {
				return err
			}
			return do(s, r)
		})
	}
}

// parse reads a message of the call.
func (s *call) parse(text []byte, into proto.Message) error {
	if err := proto.Unmarshal(text, into); err != nil {
		return status.Errorf(codes.Internal, "grpc: error unmarshalling request: %v", err)
	}
	s.c.m.env.Trace(func() string { return fmt.Sprintf("%s {%.300v}", s.method, into) })
	return nil
}

// answer ends a call that has one answer.
func (s *call) answer(resp proto.Message, err error) {
	if err == nil {
		s.reply(resp)
	}
	s.finish(err)
}

// agreed answers a call with what comes of a request that the members agree on,
// unless it is refused.
func (s *call) agreed(refused error, r *pb.InternalRaftRequest) error {
	if refused == nil {
		s.c.m.agree(s, r, s.answer)
	}
	return refused
}

func (m *Member) serveRange(s *call, r *pb.RangeRequest) error {
	if err := checkRange(r); err != nil {
		return err
	}
	m.whenReadable(s, r.Serializable, func(err error) {
		var resp *pb.RangeResponse
		if err == nil {
			err = m.store.readable(r.Revision)
		}
		if err == nil {
			resp = m.store.ranged(r, m.store.rev)
			m.fill(resp.Header)
		}
		s.answer(resp, err)
	})
	return nil
}

func (m *Member) serveTxn(s *call, r *pb.TxnRequest) error {
	if err := checkTxn(r, mostOps); err != nil {
		return err
	}
	for _, ops := range [][]*pb.RequestOp{r.Success, r.Failure} {
		if _, err := checkOverlap(ops); err != nil {
			return err
		}
	}
	only, serializable := reads(r)
	if !only {
		return s.agreed(nil, &pb.InternalRaftRequest{Txn: r})
	}
	m.whenReadable(s, serializable, func(err error) {
		var resp *pb.TxnResponse
		if err == nil {
			resp, _, err = m.store.txn(r)
		}
		if err == nil {
			m.fill(resp.Header)
		}
		s.answer(resp, err)
	})
	return nil
}

func (m *Member) serveGrant(s *call, r *pb.LeaseGrantRequest) error {
	for r.ID == 0 {
		r.ID = int64(m.nextID())
	}
	return s.agreed(nil, &pb.InternalRaftRequest{LeaseGrant: r})
}

func (m *Member) serveLeases(s *call) error {
	resp := &pb.LeaseLeasesResponse{Header: m.header(m.store.rev)}
	for _, l := range m.store.byID() {
		resp.Leases = append(resp.Leases, &pb.LeaseStatus{ID: l.id})
	}
	s.answer(resp, nil)
	return nil
}

func (m *Member) serveMembers(s *call, r *pb.MemberListRequest) error {
	m.whenReadable(s, !r.Linearizable, func(err error) {
		resp := &pb.MemberListResponse{Header: m.header(m.store.rev)}
		for i, url := range m.cfg.URLs {
			resp.Members = append(resp.Members, &pb.Member{ID: uint64(i + 1), Name: m.cfg.Names[i],
				ClientURLs: []string{url}})
		}
		s.answer(resp, err)
	})
	return nil
}

func (m *Member) serveStatus(s *call) error {
	st := m.node.BasicStatus()
	s.answer(&pb.StatusResponse{Header: m.header(m.store.rev), Version: Version, Leader: m.lead,
		RaftIndex: st.HardState.GetCommit(), RaftTerm: m.term, RaftAppliedIndex: m.disk.applied}, nil)
	return nil
}

// watchLeader ends the calls that need a leader when nobody leads for three election timeouts.
func (m *Member) watchLeader() {
	m.after(m.cfg.Election, func() {
		if m.leaderless++; m.lead != 0 {
			m.leaderless = 0
		}
		if m.leaderless >= 3 {
			for _, c := range slices.Clone(m.conns) {
				for _, id := range slices.Sorted(maps.Keys(c.streams)) {
					if s := c.streams[id]; s.needsLeader && s.streams() {
						s.finish(rpctypes.ErrGRPCNoLeader)
					}
				}
				c.flush()
			}
		}
		m.watchLeader()
	})
}
