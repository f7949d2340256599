package audit

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/audit/spill"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// log is what was read of a file.
type log struct {
	formats.File
	room        spill.Room
	ops         *spill.List[op]
	first, last int64 // the least inv, and that of the newest op
	jumbled     bool  // its lines are in no order of their times
	mixed       bool  // they are not in the order of their invs
	// the ops in the order in which they tell something; nil: that is to be found out
	told  *spill.Sorter[endpoint]
	lanes []*ownerOnKey // where an owner may be several clients
	whole []int32       // by owner and key its client, where each owner is one client on a key
	read  int32         // how many of the ops stand in the file
	// clients are the names of the clients on each key, by number.
	clients [][]string
	// everyone are the clients of all keys, where each has one number on all of them; else nil.
	everyone *words.Names
	versions bool                    // its tokens are numbers of writes
	lasting  [history.Close + 1]bool // kinds of ops of which some line tells the length
	// zero is the wall-clock time (ns since 1970) of instant 0, when there is one.
	zero     int64
	hasZero  bool
	zone     *time.Location // of its stamps
	zoneless bool           // some of them have none
	grains   grains
	ledgered bool // its writes are what the store did, in order
}

func newLog(file string, r spill.Room, o formats.Options) *log {
	r = r.Together()
	l := &log{File: formats.File{Name: file, Options: o, Keys: words.NewNames(), Owners: words.NewNames()}, room: r,
		ops: spill.NewList[op](r), first: never, last: math.MinInt64, zone: time.UTC}
	l.Calls = calls{l}
	return l
}

// maxOps bounds the ops of a file. They are numbered with 31 bits, and up to
// three are added for each.
const maxOps = 1 << 29

func (l *log) add(o op) (int32, error) {
	if l.ops.Length >= maxOps {
		return 0, fmt.Errorf("%s: more than %d ops", l.Name, maxOps)
	}
	l.mixed = l.mixed || o.Inv < l.last
	l.first, l.last = min(l.first, o.Inv), o.Inv
	l.ops.Trim()
	o.order = 2*l.ops.Length + 1
	return l.ops.Add(o), nil
}

// calls puts the calls of a file among the ops.
type calls struct{ log *log }

func (c calls) Add(one formats.Call) (int32, error) { return c.log.add(op{Call: one}) }

func (c calls) At(i int32) *formats.Call {
	c.log.ops.Trim()
	return &c.log.ops.At(i).Call
}

func (c calls) Count() int32 { return c.log.ops.Length }

// sort puts the ops in the order of their invs.
func (l *log) sort() {
	if !l.mixed {
		return
	}
	byTime := spill.NewSorter(l.room, func(a, b op) int { return cmp.Compare(a.Inv, b.Inv) })
	defer byTime.Close()
	for i := range l.ops.Each(0, l.ops.Length) {
		byTime.Add(*l.ops.See(i))
	}
	ordered := byTime.InOrder()
	for i := range l.ops.Each(0, l.ops.Length) {
		*l.ops.At(i) = *ordered.Next()
	}
}

// order lists ops in the order in which they tell something: an acquire when it
// is answered, the others when they begin. On the way it moves their times so
// that none is 0 or less, by which a history means that it does not know.
func (l *log) order(err int64) *spill.Sorter[endpoint] {
	told := spill.NewSorter(l.room, endpoint.compare)
	l.sort()
	by := max(0, 1+err-l.first)
	if l.ops.Length == 0 {
		by = 0
	}
	l.zero -= by
	for i := range l.ops.Each(0, l.ops.Length) {
		o := l.ops.At(i)
		o.shift(by)
		if o.order = 2*i + 1; o.Kind == history.Release && o.Outcome == history.TypeNone {
			o.Outcome, o.Ret = history.Info, o.Inv
		}
		told.Add(o.tells(i))
	}
	return told
}

// client is the number of the client that does an op; 0: the judge is not told of it.
func (l *log) client(o *op) int32 {
	a := o
	if o.grant != 0 {
		a = l.ops.See(o.grant - 1)
	}
	switch {
	case a.lane == 0:
		return 0
	case l.whole != nil:
		return l.whole[a.lane-1]
	}
	return l.lanes[a.lane-1].parts[a.part].client
}
