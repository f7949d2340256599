package etcd_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

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
