package audit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/lockchaos/lockchaos/audit/forms"
	"github.com/lockchaos/lockchaos/audit/spill"
	"github.com/lockchaos/lockchaos/audit/times"
	"github.com/lockchaos/lockchaos/audit/words"
	"github.com/lockchaos/lockchaos/history"
)

// never is when what did not happen happens.
const never = times.Never

// op is one operation, as every format is read into it, or the news of a loss (outcome Lost).
type op struct {
	forms.Call // its times put the events in order; its outcome is Lost for news
	// start and end, when not 0, are what is known instead of when it happened.
	start, end int64
	attempt    int64 // of an acquire that was asked before: when the attempt began that succeeded; 0: not known
	grant      int32 // the acquire that it is done under, from 1 like ops; 0: none
	lane       int32 // of an acquire that the judge is told: its owner's on the key, from 1; 0: none
	order      int32 // decides between events of the same instant
	// part is, of an acquire, its hold plus one (0: none), until it is the number of the client among those that its owner becomes.
	part     int32
	mute     bool // an acquire of the token that its owner had been given before: that tells nothing about the order of tokens
	late     bool // a write of a grant that its owner had replaced by a newer one: only the ledger has it
	inferred bool // an acquire that the log lacks
	untold   bool // a write that the judge is not told after all
	then     bool // the owner's next op on the key is a release that was answered ok; looked for only where locks are reentrant
	wrote    bool // an acquire under which there was a write
	shown    shown
}

// shown is what a line says, where its op is judged as one of another kind.
type shown uint8

const (
	shownAsItIs  shown = iota
	shownAgain         // an owner's nested acquire
	shownInner         // the release of one
	shownRelease       // a release after which its owner went on
	shownLoss          // the news of a loss
)

// begin and finish are what is known of when the op happened.
func (o *op) begin() int64 { return cmp.Or(o.start, o.Inv) }

func (o *op) finish() int64 { return cmp.Or(o.end, o.Ret) }

// act tells whether the op shows that its client acted as holder.
func (o *op) act() bool {
	switch o.Outcome {
	case history.OK:
		return o.Kind.Acts() || o.Kind == history.Release
	case history.Fail:
		return o.Kind.Acts()
	}
	return false
}

// log is what was read of a file.
type log struct {
	forms.File
	room        spill.Room
	ops         *spill.List[op]
	first, last int64                 // the least inv, and that of the newest op
	mixed       bool                  // they are not in the order of their invs
	told        *spill.Sorter[moment] // the ops in the order in which they tell something; nil: that is to be found out
	lanes       []*lane               // where an owner may be several clients
	whole       []int32               // by lane its client, where each owner is one client on a key
	read        int32                 // how many of the ops stand in the file
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
	grain    times.Grain
	ledgered bool // its writes are what the store did, in order
}

// number is the token's number, where the op has one.
func (o *op) number() int64 { return max(o.Token-1, 0) }

func newLog(file string, r spill.Room, o forms.Options) *log {
	r = r.Together()
	l := &log{File: forms.File{Name: file, Options: o, Keys: words.NewNames(), Owners: words.NewNames()}, room: r, ops: spill.NewList[op](r), first: never, last: math.MinInt64, grain: times.Exact, zone: time.UTC}
	l.Calls = calls{l}
	return l
}

// maxOps bounds the ops of a file. They are numbered with 31 bits, and up to three are added for each.
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

func (c calls) Add(one forms.Call) (int32, error) { return c.log.add(op{Call: one}) }

func (c calls) At(i int32) *forms.Call {
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

func (o *op) shift(by int64) {
	o.Inv += by
	if o.attempt != 0 {
		o.attempt += by
	}
	if o.Ret != never {
		o.Ret += by
	}
}

var errNoAcquire = errors.New("there is no acquire in it, and no write with a token: nothing tells about a lock")
