package etcd

import (
	"bytes"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// mostOps is etcd's --max-txn-ops.
const mostOps = 128

func checkRange(r *pb.RangeRequest) error {
	_, order := pb.RangeRequest_SortOrder_name[int32(r.SortOrder)]
	_, target := pb.RangeRequest_SortTarget_name[int32(r.SortTarget)]
	switch {
	case len(r.Key) == 0:
		return rpctypes.ErrGRPCEmptyKey
	case !order, !target:
		return rpctypes.ErrGRPCInvalidSortOption
	}
	return nil
}

func checkPut(r *pb.PutRequest) error {
	switch {
	case len(r.Key) == 0:
		return rpctypes.ErrGRPCEmptyKey
	case r.IgnoreValue && len(r.Value) > 0:
		return rpctypes.ErrGRPCValueProvided
	case r.IgnoreLease && r.Lease != 0:
		return rpctypes.ErrGRPCLeaseProvided
	}
	return nil
}

func checkDelete(r *pb.DeleteRangeRequest) error {
	if len(r.Key) == 0 {
		return rpctypes.ErrGRPCEmptyKey
	}
	return nil
}

// checkTxn refuses what no store could do: most is how many operations are left to it.
func checkTxn(r *pb.TxnRequest, most int) error {
	n := max(len(r.Compare), len(r.Success), len(r.Failure))
	if n > most {
		return rpctypes.ErrGRPCTooManyOps
	}
	for _, c := range r.Compare {
		if len(c.Key) == 0 {
			return rpctypes.ErrGRPCEmptyKey
		}
	}
	for _, ops := range [][]*pb.RequestOp{r.Success, r.Failure} {
		for _, op := range ops {
			if err := checkOp(op, most-n); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkOp(op *pb.RequestOp, most int) error {
	switch q := op.Request.(type) {
	case *pb.RequestOp_RequestRange:
		return checkRange(q.RequestRange)
	case *pb.RequestOp_RequestPut:
		return checkPut(q.RequestPut)
	case *pb.RequestOp_RequestDeleteRange:
		return checkDelete(q.RequestDeleteRange)
	case *pb.RequestOp_RequestTxn:
		return checkTxn(q.RequestTxn, most)
	}
	return rpctypes.ErrGRPCKeyNotFound
}

// writes are the keys that some operations put, and the spans that they delete.
type writes struct {
	puts map[string]bool
	dels []span
}

// deletes reports whether a key is among the deletes. As in etcd, those of all keys from one on are
// overlooked.
func (w *writes) deletes(name string) bool {
	return slices.ContainsFunc(w.dels, func(d span) bool { return !bytes.Equal(d.to, all) && d.contains([]byte(name)) })
}

// add adds a put; shared are keys that may have been put before, by the other branch.
func (w *writes) add(name string, shared map[string]bool) error {
	if w.puts[name] && !shared[name] || w.deletes(name) {
		return rpctypes.ErrGRPCDuplicateKey
	}
	w.puts[name] = true
	return nil
}

// checkOverlap refuses operations of which two would write one key, except deletes. Of the two
// branches of a transaction only one is done.
func checkOverlap(ops []*pb.RequestOp) (*writes, error) {
	w := &writes{puts: map[string]bool{}}
	for _, op := range ops {
		if d := op.GetRequestDeleteRange(); d != nil {
			w.dels = append(w.dels, span{d.Key, d.RangeEnd})
		}
	}
	for _, op := range ops {
		if inner := op.GetRequestTxn(); inner != nil {
			if err := w.addTxn(inner); err != nil {
				return nil, err
			}
		}
	}
	for _, op := range ops {
		if p := op.GetRequestPut(); p != nil {
			if err := w.add(string(p.Key), nil); err != nil {
				return nil, err
			}
		}
	}
	return w, nil
}

func (w *writes) addTxn(r *pb.TxnRequest) error {
	success, err := checkOverlap(r.Success)
	if err != nil {
		return err
	}
	failure, err := checkOverlap(r.Failure)
	if err != nil {
		return err
	}
	for name := range success.puts {
		if err := w.add(name, nil); err != nil {
			return err
		}
	}
	for name := range failure.puts {
		if err := w.add(name, success.puts); err != nil {
			return err
		}
	}
	w.dels = append(append(w.dels, success.dels...), failure.dels...)
	return nil
}
