package audit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/spill"
	"github.com/lockchaos/lockchaos/internal/audit/times"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// Services log with different precision: one writes whole seconds, another one milliseconds.
//
// Where all stamps of a key are whole seconds, they were cut alike. Then a smaller stamp is an
// earlier instant, and only stamps within one second leave the order open. Where a key has finer
// stamps, a client whose stamps are all whole seconds is taken to have cut them: 10:00:05 may be
// 10:00:05.9, which is after another client's 10:00:05.8. So each of its ops ends as late as
// a second after its stamp. Some loggers leave out a fraction of zeros, so a few exact stamps may
// look like whole seconds: the doubt wins.

// grains are how fine the stamps of a log are: by key, and by owner on all keys. A log without
// stamps has none.
type grains struct{ ofKey, ofOwner []times.Grain }

// add takes the stamps of an event.
func (g *grains) add(e *words.Event, coarsest times.Grain) {
	grain := func(list *[]times.Grain, of int32) *times.Grain {
		for len(*list) <= int(of) {
			*list = append(*list, coarsest)
		}
		finest := &(*list)[of]
		finest.Add(e.At)
		finest.Add(e.End)
		return finest
	}
	grain(&g.ofKey, e.Key)
	if owner := grain(&g.ofOwner, e.Owner); e.Fine {
		*owner = times.Exact // also with a fraction of zeros
	}
}

// key is the finest grain of a key's stamps.
func (g *grains) key(key int32) times.Grain {
	if int(key) >= len(g.ofKey) {
		return times.Exact
	}
	return g.ofKey[key]
}

// cut is the grain of an owner that cuts its stamps on a key where others do not; else Exact.
func (g *grains) cut(key, owner int32) times.Grain {
	if int(owner) >= len(g.ofOwner) || g.ofOwner[owner] <= g.key(key) {
		return times.Exact
	}
	return g.ofOwner[owner]
}

// finest is the finest grain of all stamps.
func (g *grains) finest() times.Grain {
	if len(g.ofKey) == 0 {
		return times.Exact
	}
	return slices.Min(g.ofKey)
}

// within leaves out the owners whose grain an error of the clocks covers.
func (g grains) within(clockError int64) grains {
	for i, of := range g.ofOwner {
		if of.Cut() <= clockError {
			g.ofOwner[i] = times.Exact
		}
	}
	return g
}

// cuts notes that the stamps of a hold's owner are cut.
func (t *tracer) cuts(acquire *op) {
	if acquire.cut = t.log.grains.cut(acquire.Key, acquire.Owner); acquire.cut == times.Exact {
		return
	}
	if acquire.inferred { // at the latest when the act ended that shows it
		acquire.end += acquire.cut.Cut()
	}
	if !slices.Contains(t.cutters, acquire.Owner) {
		t.cutters = append(t.cutters, acquire.Owner)
	}
	t.coarsest = max(t.coarsest, acquire.cut)
}

// slack is how far the stamps of a key may lie from their instants, either way, beyond what is
// known of single owners. Stamps of whole seconds leave open what came first within one.
func (t *tracer) slack(of times.Grain) int64 {
	return max(int64(t.options.ClockError), of.Cut()/2)
}

// vague is the coarsest grain that leaves something open.
func (t *tracer) vague() times.Grain {
	return slices.Max(append([]times.Grain{t.coarsest}, t.log.grains.ofKey...))
}

// loosest is how far a stamp may lie from its instant by the loosest reading.
func (t *tracer) loosest() int64 { return t.slack(t.vague()) }

// width is how far a hold of an owner may reach beyond the loosest reading of the clocks.
func (t *tracer) width(la *ownerOnKey) int64 {
	return t.slack(t.log.grains.key(la.key)) - int64(t.options.ClockError) +
		t.log.grains.cut(la.key, la.owner).Cut()
}

// cutClients names the clients whose stamps are cut.
func (t *tracer) cutClients() string {
	name := t.log.Owners.List[t.cutters[0]]
	if more := len(t.cutters) - 1; more > 0 {
		name += fmt.Sprintf(" and %s", remarks.Count(more, "other client"))
	}
	return name
}

// spans are the holds of a reading. Those of the loose readings are as wide as coarse stamps allow.
type spans struct {
	*spill.Sorter[span]
	of    *tracer
	loose bool
	until map[int32]int64 // by lane, when its last hold may have ended
}

func newSpans(t *tracer, loose bool) *spans {
	// of those that begin and end alike, that of the owner who came first in the log comes first
	return &spans{spill.NewSorter(t.log.room, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.last, b.last), cmp.Compare(a.lane, b.lane))
	}), t, loose, map[int32]int64{}}
}

// Add adds a hold. An owner's holds come in their order, so of two that touch the later one begins
// where the one before ends: an owner does not exclude itself.
func (s *spans) Add(x span) {
	width, o := int64(0), &s.of.options
	if s.loose {
		width = s.of.width(s.of.order[x.lane-1])
	}
	if width > 0 {
		begin := x.begin - width
		if x.last > -never/2 && x.last < never/2 {
			x.last += width
		}
		if before, known := s.until[x.lane]; known && o.Permits == 1 && !o.Validity.Released {
			begin = max(begin, min(before, x.last))
		}
		x.begin, s.until[x.lane] = begin, x.last
	}
	s.Sorter.Add(x)
}

// shorten notes the items of holds as short as coarse stamps allow, for the loosest reading.
func (r *tokenOrder) shorten(room spill.Room) { r.short = newTokenOrder(room) }

// addShort adds an item as short as it may have been, where some stamps are cut.
func (r *tokenOrder) addShort(x item, cut times.Grain) {
	if by := cut.Cut(); r.short != nil {
		r.short.add(item{x.token, x.begin + by, x.end - by, x.key})
	}
}

// shortGrants adds the grants with tokens as short as they may have been.
func (t *tracer) shortGrants() {
	if t.coarsest == times.Exact {
		return
	}
	t.grants.shorten(t.log.room)
	t.writes.shorten(t.log.room)
	for n := range t.holds.Each(0, t.holds.Length) {
		if h := t.holds.See(n); h.token != 0 && !h.inferred {
			t.grants.addShort(item{h.token, h.begin, h.finish, h.key},
				t.log.grains.cut(h.key, t.order[h.lane-1].owner))
		}
	}
}
