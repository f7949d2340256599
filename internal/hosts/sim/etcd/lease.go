package etcd

import (
	"maps"
	"math"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// longestTTL is the longest lease (s).
const longestTTL = 9_000_000_000

// forever is the expiry of a lease whose member does not lead.
const forever = time.Duration(math.MaxInt64)

// lease is a lease as a member knows it. Only the leader's expires.
type lease struct {
	id   int64
	ttl  int64 // s
	keys map[string]bool
	// expiry is a reading of the member's monotonic clock. The member asks for the revocation from
	// next on.
	expiry, next time.Duration
	// ended are called when it is revoked.
	ended []func()
}

func (l *lease) length() time.Duration {
	if l.ttl > math.MaxInt64/int64(time.Second)/2 {
		return forever / 2
	}
	return time.Duration(l.ttl) * time.Second
}

// refresh has it expire its TTL and more after now.
func (l *lease) refresh(now, more time.Duration) {
	l.expiry = now + l.length() + more
	l.next = l.expiry
}

// grant makes a lease; its expiry is the caller's to set.
func (s *store) grant(r *pb.LeaseGrantRequest, least int64) (*lease, error) {
	switch {
	case r.ID == 0:
		return nil, rpctypes.ErrGRPCLeaseNotFound
	case r.TTL > longestTTL:
		return nil, rpctypes.ErrGRPCLeaseTTLTooLarge
	case s.leases[r.ID] != nil:
		return nil, rpctypes.ErrGRPCLeaseExist
	}
	l := &lease{id: r.ID, ttl: max(r.TTL, least), keys: map[string]bool{}, expiry: forever, next: forever}
	s.leases[r.ID] = l
	return l, nil
}

// revoke ends a lease and deletes its keys, in one transaction.
func (s *store) revoke(id int64) (*lease, []*mvccpb.Event, error) {
	l := s.leases[id]
	if l == nil {
		return nil, nil, rpctypes.ErrGRPCLeaseNotFound
	}
	c := s.change()
	for _, name := range slices.Sorted(maps.Keys(l.keys)) {
		c.remove(span{from: []byte(name)})
	}
	delete(s.leases, id)
	return l, c.end(), nil
}

// names lists its keys, in order.
func (l *lease) names() (all [][]byte) {
	for _, name := range slices.Sorted(maps.Keys(l.keys)) {
		all = append(all, []byte(name))
	}
	return all
}

func (s *store) detach(kv *mvccpb.KeyValue) {
	if l := s.leases[kv.Lease]; l != nil {
		delete(l.keys, string(kv.Key))
	}
}

// byID lists the leases.
func (s *store) byID() []*lease {
	return slices.SortedFunc(maps.Values(s.leases), func(a, b *lease) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
}
