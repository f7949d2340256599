package etcd

import (
	"bytes"
	"cmp"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// put carries a Put out, and returns what it changed.
func (s *store) put(r *pb.PutRequest) (*pb.PutResponse, []*mvccpb.Event, error) {
	if err := s.puttable(r); err != nil {
		return nil, nil, err
	}
	c := s.change()
	resp := c.doPut(r)
	return resp, c.end(), nil
}

// puttable returns an error if a Put cannot be done now.
func (s *store) puttable(r *pb.PutRequest) error {
	if r.Lease != 0 && s.leases[r.Lease] == nil {
		return rpctypes.ErrGRPCLeaseNotFound
	}
	if (r.IgnoreValue || r.IgnoreLease) && s.get(r.Key, s.rev) == nil {
		return rpctypes.ErrGRPCKeyNotFound
	}
	return nil
}

func (c *change) doPut(r *pb.PutRequest) *pb.PutResponse {
	resp := &pb.PutResponse{Header: &pb.ResponseHeader{Revision: c.rev}}
	old := c.s.get(r.Key, c.sees())
	value, leased := r.Value, r.Lease
	if r.IgnoreValue && old != nil {
		value = old.Value
	}
	if r.IgnoreLease && old != nil {
		leased = old.Lease
	}
	if r.PrevKv {
		resp.PrevKv = old
	}
	c.put(r.Key, value, leased)
	return resp
}

// delete carries a DeleteRange out.
func (s *store) delete(r *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, []*mvccpb.Event) {
	c := s.change()
	resp := c.doDelete(r)
	return resp, c.end()
}

func (c *change) doDelete(r *pb.DeleteRangeRequest) *pb.DeleteRangeResponse {
	of := span{r.Key, r.RangeEnd}
	resp := &pb.DeleteRangeResponse{Header: &pb.ResponseHeader{}}
	if r.PrevKv {
		resp.PrevKvs = c.s.find(of, c.sees())
	}
	resp.Deleted = c.remove(of)
	resp.Header.Revision = c.sees()
	return resp
}

// txn carries a Txn out. All compares, those of transactions within it too, see
// the store before it.
func (s *store) txn(r *pb.TxnRequest) (*pb.TxnResponse, []*mvccpb.Event, error) {
	paths := map[*pb.TxnRequest]bool{}
	s.decide(r, paths)
	if err := s.doable(r, paths); err != nil {
		return nil, nil, err
	}
	c := s.change()
	resp := c.doTxn(r, paths)
	events := c.end()
	resp.Header.Revision = s.rev
	return resp, events, nil
}

// taken are the operations that a transaction does.
func taken(r *pb.TxnRequest, paths map[*pb.TxnRequest]bool) []*pb.RequestOp {
	if paths[r] {
		return r.Success
	}
	return r.Failure
}

// decide makes the compares of a transaction, and of those that it will do.
func (s *store) decide(r *pb.TxnRequest, paths map[*pb.TxnRequest]bool) {
	paths[r] = true
	for _, c := range r.Compare {
		paths[r] = paths[r] && s.holds(c)
	}
	for _, op := range taken(r, paths) {
		if inner := op.GetRequestTxn(); inner != nil {
			s.decide(inner, paths)
		}
	}
}

func (s *store) holds(c *pb.Compare) bool {
	found := s.find(span{c.Key, c.RangeEnd}, s.rev)
	if len(found) == 0 {
		// A value that is not there differs from every value, the empty one too.
		return c.Target != pb.Compare_VALUE && compares(c, &mvccpb.KeyValue{})
	}
	for _, kv := range found {
		if !compares(c, kv) {
			return false
		}
	}
	return true
}

func compares(c *pb.Compare, kv *mvccpb.KeyValue) bool {
	var d int
	switch c.Target {
	case pb.Compare_VALUE:
		d = bytes.Compare(kv.Value, c.GetValue())
	case pb.Compare_CREATE:
		d = cmp.Compare(kv.CreateRevision, c.GetCreateRevision())
	case pb.Compare_MOD:
		d = cmp.Compare(kv.ModRevision, c.GetModRevision())
	case pb.Compare_VERSION:
		d = cmp.Compare(kv.Version, c.GetVersion())
	case pb.Compare_LEASE:
		d = cmp.Compare(kv.Lease, c.GetLease())
	}
	switch c.Result {
	case pb.Compare_EQUAL:
		return d == 0
	case pb.Compare_NOT_EQUAL:
		return d != 0
	case pb.Compare_GREATER:
		return d > 0
	case pb.Compare_LESS:
		return d < 0
	}
	return true
}

// doable returns an error if one of the operations cannot be done; then none is.
func (s *store) doable(r *pb.TxnRequest, paths map[*pb.TxnRequest]bool) error {
	for _, op := range taken(r, paths) {
		var err error
		switch q := op.Request.(type) {
		case *pb.RequestOp_RequestRange:
			err = s.readable(q.RequestRange.Revision)
		case *pb.RequestOp_RequestPut:
			err = s.puttable(q.RequestPut)
		case *pb.RequestOp_RequestTxn:
			err = s.doable(q.RequestTxn, paths)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *change) doTxn(r *pb.TxnRequest, paths map[*pb.TxnRequest]bool) *pb.TxnResponse {
	resp := &pb.TxnResponse{Header: &pb.ResponseHeader{}, Succeeded: paths[r]}
	for _, op := range taken(r, paths) {
		one := &pb.ResponseOp{}
		switch q := op.Request.(type) {
		case *pb.RequestOp_RequestRange:
			one.Response = &pb.ResponseOp_ResponseRange{ResponseRange: c.s.ranged(q.RequestRange, c.sees())}
		case *pb.RequestOp_RequestPut:
			one.Response = &pb.ResponseOp_ResponsePut{ResponsePut: c.doPut(q.RequestPut)}
		case *pb.RequestOp_RequestDeleteRange:
			one.Response = &pb.ResponseOp_ResponseDeleteRange{ResponseDeleteRange: c.doDelete(q.RequestDeleteRange)}
		case *pb.RequestOp_RequestTxn:
			one.Response = &pb.ResponseOp_ResponseTxn{ResponseTxn: c.doTxn(q.RequestTxn, paths)}
		}
		resp.Responses = append(resp.Responses, one)
	}
	return resp
}

// reads reports whether a transaction only reads, and whether it may do so from
// any member. One that does nothing beside comparing may.
func reads(r *pb.TxnRequest) (only, serializable bool) {
	only, serializable = true, true
	for _, ops := range [][]*pb.RequestOp{r.Success, r.Failure} {
		for _, op := range ops {
			q := op.GetRequestRange()
			only = only && q != nil
			serializable = serializable && q != nil && q.Serializable
		}
	}
	return only, serializable
}
