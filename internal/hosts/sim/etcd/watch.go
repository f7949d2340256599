package etcd

import (
	"errors"
	"maps"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/protobuf/proto"
)

// etcd's times and sizes.
const (
	watchResync    = 100 * time.Millisecond // a watch of the past is looked after this often
	watchProgress  = 10 * time.Minute
	mostRevsAtOnce = 1000 // of the past, in one response
)

// noWatch is the ID of a watch that could not be made, and of progress that
// holds for a whole stream.
const noWatch = -1

// The reasons for a refusal, in etcd's words.
var (
	errNoRange   = errors.New("mvcc: watcher range is empty")
	errDuplicate = errors.New("mvcc: duplicate watch ID provided on the WatchStream")
)

// watcher is one watch of a stream.
type watcher struct {
	stream    *watchStream
	id        int64
	of        span
	start     int64 // the revision that was asked for; 0: the next
	next      int64 // the first revision that it has not seen
	behind    bool  // it has yet to see the past
	prevKV    bool
	fragment  bool
	progress  bool // it wants to be told the revision now and then
	quiet     bool // nothing was sent since the last time
	noPut     bool
	noDelete  bool
	compacted bool
}

// watchStream is a call of Watch.
type watchStream struct {
	s        *call
	m        *Member
	watchers map[int64]*watcher
	nextID   int64
	ticking  bool
}

func newWatchStream(s *call) handler {
	w := &watchStream{s: s, m: s.c.m, watchers: map[int64]*watcher{}}
	s.quit = append(s.quit, func() {
		w.m.watchers = slices.DeleteFunc(w.m.watchers, func(o *watcher) bool { return o.stream == w })
	})
	return w
}

func (w *watchStream) message(text []byte) error {
	r := &pb.WatchRequest{}
	if err := w.s.parse(text, r); err != nil {
		return err
	}
	switch q := r.RequestUnion.(type) {
	case *pb.WatchRequest_CreateRequest:
		w.create(q.CreateRequest)
	case *pb.WatchRequest_CancelRequest:
		if one := w.watchers[q.CancelRequest.GetWatchId()]; one != nil {
			w.drop(one)
			w.s.reply(&pb.WatchResponse{Header: w.m.header(w.m.store.rev), WatchId: one.id, Canceled: true})
		}
	case *pb.WatchRequest_ProgressRequest:
		w.tellProgress(noWatch, slices.Collect(maps.Values(w.watchers))...)
	}
	return nil
}

// end changes nothing: the watches of a client that makes no more of them go on.
func (w *watchStream) end() {}

func (w *watchStream) drop(one *watcher) {
	delete(w.watchers, one.id)
	w.m.watchers = slices.DeleteFunc(w.m.watchers, func(o *watcher) bool { return o == one })
}

func (w *watchStream) create(r *pb.WatchCreateRequest) {
	now := w.m.store.rev
	refuse := func(why error) {
		w.s.reply(&pb.WatchResponse{Header: w.m.header(now), WatchId: noWatch, Created: true, Canceled: true,
			CancelReason: why.Error()})
	}
	one := &watcher{stream: w, id: r.WatchId, of: span{r.Key, r.RangeEnd}, start: r.StartRevision,
		next: max(r.StartRevision, now+1), prevKV: r.PrevKv, fragment: r.Fragment,
		progress: r.ProgressNotify, quiet: r.ProgressNotify}
	if len(r.Key) == 0 {
		one.of.from = []byte{0}
	}
	for _, f := range r.Filters {
		one.noPut = one.noPut || f == pb.WatchCreateRequest_NOPUT
		one.noDelete = one.noDelete || f == pb.WatchCreateRequest_NODELETE
	}
	if r.StartRevision < 0 {
		refuse(rpctypes.ErrCompacted)
		return
	}
	if one.of.empty() {
		refuse(errNoRange)
		return
	}
	if one.id == 0 {
		for w.watchers[w.nextID] != nil {
			w.nextID++
		}
		one.id = w.nextID
		w.nextID++
	} else if w.watchers[one.id] != nil {
		refuse(errDuplicate)
		return
	}
	w.watchers[one.id] = one
	w.m.watchers = append(w.m.watchers, one)
	w.s.reply(&pb.WatchResponse{Header: w.m.header(now), WatchId: one.id, Created: true})
	if r.StartRevision > 0 && r.StartRevision <= now {
		one.next, one.behind = r.StartRevision, true
		w.m.resync()
	}
	if one.progress && !w.ticking {
		w.ticking = true
		w.tick()
	}
}

// tick tells of progress, again and again, to the watches that want that and have heard nothing.
func (w *watchStream) tick() {
	w.s.after(watchProgress, func() {
		for _, id := range slices.Sorted(maps.Keys(w.watchers)) {
			one := w.watchers[id]
			if one.progress && one.quiet {
				w.tellProgress(id, one)
			}
			one.quiet = true
		}
		w.tick()
	})
}

// tellProgress sends the revision up to which all of some watches have seen everything.
func (w *watchStream) tellProgress(id int64, of ...*watcher) {
	rev := w.m.store.rev
	for _, one := range of {
		if one.behind || one.compacted || rev < one.start {
			return
		}
	}
	if len(of) > 0 {
		w.s.reply(&pb.WatchResponse{Header: w.m.header(rev), WatchId: id})
	}
}

// resync shows the past to the watches that ask for it, at the next turn of etcd's loop.
func (m *Member) resync() {
	if m.resyncing {
		return
	}
	m.resyncing = true
	m.after(watchResync-m.env.Now()%watchResync, func() {
		m.resyncing = false
		for _, w := range slices.Clone(m.watchers) {
			if w.behind && !w.compacted {
				w.catchUp()
			}
		}
	})
}

func (w *watcher) catchUp() {
	m := w.stream.m
	defer w.stream.s.c.flush()
	if w.next < m.store.compacted {
		w.compacted = true
		w.stream.s.reply(&pb.WatchResponse{Header: m.header(0), WatchId: w.id, Canceled: true,
			CompactRevision: m.store.compacted})
		return
	}
	var events []*mvccpb.Event
	revs, last := 0, int64(0)
	more := false
	for _, e := range m.store.since(w.next) {
		if !w.of.contains(e.Kv.Key) {
			continue
		}
		if e.Kv.ModRevision != last {
			if revs == mostRevsAtOnce {
				w.next, more = e.Kv.ModRevision, true
				break
			}
			revs, last = revs+1, e.Kv.ModRevision
		}
		events = append(events, e)
	}
	if len(events) > 0 {
		w.send(events, m.store.rev)
	}
	if more {
		m.resync()
		return
	}
	w.next, w.behind = m.store.rev+1, false
}

// notify shows the changes of one transaction to the watches that are up to date.
func (m *Member) notify(events []*mvccpb.Event) {
	if len(events) == 0 {
		return
	}
	rev := events[0].Kv.ModRevision
	for _, w := range slices.Clone(m.watchers) {
		if w.behind || rev < w.next {
			continue
		}
		var seen []*mvccpb.Event
		for _, e := range events {
			if w.of.contains(e.Kv.Key) {
				seen = append(seen, e)
			}
		}
		if len(seen) > 0 {
			w.send(seen, rev)
			w.next = rev + 1
			w.stream.s.c.flush()
		}
	}
}

// send sends events, those that the watch filters out excepted.
func (w *watcher) send(events []*mvccpb.Event, rev int64) {
	m := w.stream.m
	resp := &pb.WatchResponse{Header: m.header(rev), WatchId: w.id}
	for _, e := range events {
		del := e.Type == mvccpb.Event_DELETE
		if del && w.noDelete || !del && w.noPut {
			continue
		}
		if w.prevKV && (del || e.Kv.CreateRevision != e.Kv.ModRevision) && e.Kv.ModRevision-1 >= m.store.compacted {
			e = &mvccpb.Event{Type: e.Type, Kv: e.Kv, PrevKv: m.store.get(e.Kv.Key, e.Kv.ModRevision-1)}
		}
		resp.Events = append(resp.Events, e)
	}
	if len(resp.Events) == 0 {
		return
	}
	w.quiet = false
	for _, part := range w.parts(resp) {
		w.stream.s.reply(part)
	}
}

// parts splits a response that is longer than a request may be, if the client wants that.
func (w *watcher) parts(whole *pb.WatchResponse) (all []*pb.WatchResponse) {
	if !w.fragment || proto.Size(whole) < mostRequest || len(whole.Events) < 2 {
		return []*pb.WatchResponse{whole}
	}
	for events := whole.Events; len(events) > 0; {
		part := &pb.WatchResponse{Header: whole.Header, WatchId: whole.WatchId, Fragment: true}
		for len(events) > 0 {
			part.Events = append(part.Events, events[0])
			if len(part.Events) > 1 && proto.Size(part) >= mostRequest {
				part.Events = part.Events[:len(part.Events)-1]
				break
			}
			events = events[1:]
		}
		part.Fragment = len(events) > 0
		all = append(all, part)
	}
	return all
}
