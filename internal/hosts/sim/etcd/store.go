package etcd

import (
	"bytes"
	"slices"
	"sort"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// store is what a member knows: keys with all their versions, and leases.
type store struct {
	rev       int64 // of the last change; the empty store has revision 1
	compacted int64 // reads of older revisions are refused
	keys      []*key
	log       []*mvccpb.Event // all changes, in order
	leases    map[int64]*lease
}

// key has the versions of one key, oldest first.
type key struct {
	name     []byte
	versions []*mvccpb.KeyValue // one that was deleted has Version 0
}

func newStore() *store { return &store{rev: 1, compacted: -1, leases: map[int64]*lease{}} }

// span is the keys of a request: one, a range, or all from a key on.
type span struct{ from, to []byte }

// all is the end of a span of all keys from its beginning on.
var all = []byte{0}

func (s span) contains(name []byte) bool {
	switch {
	case len(s.to) == 0:
		return bytes.Equal(name, s.from)
	case bytes.Equal(s.to, all):
		return bytes.Compare(name, s.from) >= 0
	}
	return bytes.Compare(name, s.from) >= 0 && bytes.Compare(name, s.to) < 0
}

// empty reports whether no name can be in the span.
func (s span) empty() bool {
	return len(s.to) > 0 && !bytes.Equal(s.to, all) && bytes.Compare(s.from, s.to) >= 0
}

func (s *store) search(name []byte) (int, bool) {
	return slices.BinarySearchFunc(s.keys, name, func(k *key, name []byte) int { return bytes.Compare(k.name, name) })
}

// at returns the version that was valid at a revision; nil: there was no such key.
func (k *key) at(rev int64) *mvccpb.KeyValue {
	i := sort.Search(len(k.versions), func(i int) bool { return k.versions[i].ModRevision > rev })
	if i == 0 || k.versions[i-1].Version == 0 {
		return nil
	}
	return k.versions[i-1]
}

// find lists what a span contained at a revision, by key.
func (s *store) find(of span, rev int64) (found []*mvccpb.KeyValue) {
	i, _ := s.search(of.from)
	for ; i < len(s.keys) && of.contains(s.keys[i].name); i++ {
		if kv := s.keys[i].at(rev); kv != nil {
			found = append(found, kv)
		}
	}
	return found
}

func (s *store) get(name []byte, rev int64) *mvccpb.KeyValue {
	if i, ok := s.search(name); ok {
		return s.keys[i].at(rev)
	}
	return nil
}

// readable returns an error if the revision cannot be read; 0 is the present.
func (s *store) readable(rev int64) error {
	switch {
	case rev > s.rev:
		return rpctypes.ErrGRPCFutureRev
	case rev > 0 && rev < s.compacted:
		return rpctypes.ErrGRPCCompacted
	}
	return nil
}

// compact refuses older revisions from now on. They are kept in memory.
func (s *store) compact(rev int64) error {
	switch {
	case rev <= s.compacted:
		return rpctypes.ErrGRPCCompacted
	case rev > s.rev:
		return rpctypes.ErrGRPCFutureRev
	}
	s.compacted = rev
	return nil
}

// change is a transaction that writes. All that it writes has one revision.
type change struct {
	s      *store
	rev    int64
	events []*mvccpb.Event
}

func (s *store) change() *change { return &change{s: s, rev: s.rev + 1} }

// sees is the revision at which the transaction reads: its own once it has written.
func (c *change) sees() int64 {
	if len(c.events) > 0 {
		return c.rev
	}
	return c.rev - 1
}

func (c *change) record(name []byte, kv *mvccpb.KeyValue, kind mvccpb.Event_EventType) {
	i, ok := c.s.search(name)
	if !ok {
		c.s.keys = slices.Insert(c.s.keys, i, &key{name: bytes.Clone(name)})
	}
	k := c.s.keys[i]
	if n := len(k.versions); n > 0 && k.versions[n-1].ModRevision == c.rev {
		k.versions = k.versions[:n-1] // written before by this transaction
	}
	k.versions = append(k.versions, kv)
	shown := kv
	if kind == mvccpb.Event_DELETE {
		shown = &mvccpb.KeyValue{Key: kv.Key, ModRevision: c.rev}
	}
	c.events = append(c.events, &mvccpb.Event{Type: kind, Kv: shown})
}

func (c *change) put(name, value []byte, leased int64) {
	kv := &mvccpb.KeyValue{Key: name, Value: value, CreateRevision: c.rev, ModRevision: c.rev, Version: 1,
		Lease: leased}
	if old := c.s.get(name, c.rev); old != nil {
		kv.CreateRevision, kv.Version = old.CreateRevision, old.Version+1
		c.s.detach(old)
	}
	if l := c.s.leases[leased]; l != nil {
		l.keys[string(name)] = true
	}
	c.record(name, kv, mvccpb.Event_PUT)
}

func (c *change) remove(of span) (deleted int64) {
	for _, kv := range c.s.find(of, c.sees()) {
		c.s.detach(kv)
		c.record(kv.Key, &mvccpb.KeyValue{Key: kv.Key, ModRevision: c.rev}, mvccpb.Event_DELETE)
		deleted++
	}
	return deleted
}

// end makes what was written the present, and returns it.
func (c *change) end() []*mvccpb.Event {
	if len(c.events) > 0 {
		c.s.rev = c.rev
		c.s.log = append(c.s.log, c.events...)
	}
	return c.events
}

// since lists the changes from a revision on.
func (s *store) since(rev int64) []*mvccpb.Event {
	i := sort.Search(len(s.log), func(i int) bool { return s.log[i].Kv.ModRevision >= rev })
	return s.log[i:]
}

// ranged answers a Range at the revision that it asks for, or else at the given one.
func (s *store) ranged(r *pb.RangeRequest, now int64) *pb.RangeResponse {
	rev := r.Revision
	if rev <= 0 {
		rev = now
	}
	found := s.find(span{r.Key, r.RangeEnd}, rev)
	resp := &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: now}, Count: int64(len(found))}
	if r.CountOnly {
		return resp
	}
	filters := r.MinModRevision != 0 || r.MaxModRevision != 0 || r.MinCreateRevision != 0 || r.MaxCreateRevision != 0
	if r.SortOrder == pb.RangeRequest_NONE && !filters && r.Limit > 0 && int64(len(found)) > r.Limit+1 {
		// as etcd does: without an order, a target sorts only the first by key
		found = found[:r.Limit+1]
	}
	found = slices.DeleteFunc(found, func(kv *mvccpb.KeyValue) bool { return !wanted(r, kv) })
	arrange(r, found)
	if r.Limit > 0 && int64(len(found)) > r.Limit {
		found, resp.More = found[:r.Limit], true
	}
	resp.Kvs = found
	if r.KeysOnly {
		for i, kv := range found {
			bare := &mvccpb.KeyValue{Key: kv.Key, CreateRevision: kv.CreateRevision, ModRevision: kv.ModRevision,
				Version: kv.Version}
			if r.SortTarget == pb.RangeRequest_VALUE { // etcd has read the whole of it then
				bare.Lease = kv.Lease
			}
			found[i] = bare
		}
	}
	return resp
}

func wanted(r *pb.RangeRequest, kv *mvccpb.KeyValue) bool {
	within := func(rev, least, most int64) bool {
		return (least == 0 || rev >= least) && (most == 0 || rev <= most)
	}
	return within(kv.ModRevision, r.MinModRevision, r.MaxModRevision) &&
		within(kv.CreateRevision, r.MinCreateRevision, r.MaxCreateRevision)
}

// arrange sorts what was found as a Range asks. Equal ones may come in any order.
func arrange(r *pb.RangeRequest, found []*mvccpb.KeyValue) {
	if r.SortOrder == pb.RangeRequest_NONE && r.SortTarget == pb.RangeRequest_KEY {
		return
	}
	by := map[pb.RangeRequest_SortTarget]func(a, b *mvccpb.KeyValue) bool{
		pb.RangeRequest_KEY:     func(a, b *mvccpb.KeyValue) bool { return bytes.Compare(a.Key, b.Key) < 0 },
		pb.RangeRequest_VERSION: func(a, b *mvccpb.KeyValue) bool { return a.Version < b.Version },
		pb.RangeRequest_CREATE:  func(a, b *mvccpb.KeyValue) bool { return a.CreateRevision < b.CreateRevision },
		pb.RangeRequest_MOD:     func(a, b *mvccpb.KeyValue) bool { return a.ModRevision < b.ModRevision },
		pb.RangeRequest_VALUE:   func(a, b *mvccpb.KeyValue) bool { return bytes.Compare(a.Value, b.Value) < 0 },
	}[r.SortTarget]
	sort.SliceStable(found, func(i, j int) bool {
		if r.SortOrder == pb.RangeRequest_DESCEND {
			i, j = j, i
		}
		return by(found[i], found[j])
	})
}
