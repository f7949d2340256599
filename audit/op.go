package audit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/lockchaos/lockchaos/audit/remarks"
	"github.com/lockchaos/lockchaos/audit/spill"
	"github.com/lockchaos/lockchaos/audit/times"
	"github.com/lockchaos/lockchaos/audit/words"
	"github.com/lockchaos/lockchaos/history"
)

// never is when what did not happen happens.
const never = math.MaxInt64

// op is one operation, as every format is read into it, or the news of a loss (outcome Lost).
type op struct {
	// inv and ret are the instants (ns) at which it was asked and answered; ret is never when no answer is known. They put the events in order.
	inv, ret int64
	// start and end, when not 0, are what is known instead of when it happened.
	start, end int64
	token      int64 // the number that the log gives plus one: 0 is none; see ticket
	attempt    int64 // of an acquire that was asked before: when the attempt began that succeeded; 0: not known
	key, owner int32
	grant      int32 // the acquire that it is done under, from 1 like ops; 0: none
	lane       int32 // of an acquire that the judge is told: its owner's on the key, from 1; 0: none
	line       int32
	endLine    int32
	order      int32 // decides between events of the same instant
	// part is, of an acquire, its hold plus one (0: none), until it is the number of the client among those that its owner becomes.
	part     int32
	kind     history.Kind
	outcome  history.Type // OK, Fail, Info; TypeNone: no answer; Lost
	busy     bool
	notHeld  bool
	refused  bool
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
func (o *op) begin() int64 { return cmp.Or(o.start, o.inv) }

func (o *op) finish() int64 { return cmp.Or(o.end, o.ret) }

// act tells whether the op shows that its client acted as holder.
func (o *op) act() bool {
	switch o.outcome {
	case history.OK:
		return o.kind.Acts() || o.kind == history.Release
	case history.Fail:
		return o.kind.Acts()
	}
	return false
}

// ended notes how the op ended. denied: an error says that the lock is not the client's.
func (o *op) ended(how words.Ending, denied bool) {
	o.outcome = how.Outcome()
	failed, acquires := o.outcome == history.Fail, o.kind == history.Acquire
	o.busy, o.notHeld = failed && acquires, failed && !acquires && denied
}

// log is what was read of a file.
type log struct {
	remarks.Remarks
	file         string
	room         spill.Room
	ops          *spill.List[op]
	first, last  int64 // the least inv, and that of the newest op
	mixed        bool  // they are not in the order of their invs
	keys, owners words.Names
	told         *spill.Sorter[moment] // the ops in the order in which they tell something; nil: that is to be found out
	lanes        []*lane               // where an owner may be several clients
	whole        []int32               // by lane its client, where each owner is one client on a key
	read         int32                 // how many of the ops stand in the file
	// clients are the names of the clients on each key, by number.
	clients [][]string
	// everyone are the clients of all keys, where each has one number on all of them; else nil.
	everyone *words.Names
	versions bool                    // its tokens are numbers of writes
	lasting  [history.Close + 1]bool // kinds of ops of which some line tells the length
	what     string                  // the format, in words
	// oneClock: the stamps are the recorder's, not the clients'.
	oneClock bool
	// timed is false where the history has no times, only an order.
	timed bool
	// zero is the wall-clock time (ns since 1970) of instant 0, when there is one.
	zero     int64
	hasZero  bool
	zone     *time.Location // of its stamps
	zoneless bool           // some of them have none
	grain    times.Grain
	columns  *words.Columns // of an audit log
	loss     string         // what the end of a hold is that its owner did not ask for; empty: news
	ledgered bool           // its writes are what the store did, in order
}

// number is the token's number, where the op has one.
func (o *op) number() int64 { return max(o.token-1, 0) }

func newLog(file string, r spill.Room) *log {
	r = r.Together()
	return &log{file: file, room: r, ops: spill.NewList[op](r), first: never, last: math.MinInt64, keys: words.NewNames(), owners: words.NewNames(), timed: true,
		grain: times.Exact, zone: time.UTC}
}

// maxOps bounds the ops of a file. They are numbered with 31 bits, and up to three are added for each.
const maxOps = 1 << 29

func (l *log) add(o op) (int32, error) {
	if l.ops.Length >= maxOps {
		return 0, fmt.Errorf("%s: more than %d ops", l.file, maxOps)
	}
	l.mixed = l.mixed || o.inv < l.last
	l.first, l.last = min(l.first, o.inv), o.inv
	l.ops.Trim()
	o.order = 2*l.ops.Length + 1
	return l.ops.Add(o), nil
}

// sort puts the ops in the order of their invs.
func (l *log) sort() {
	if !l.mixed {
		return
	}
	byTime := spill.NewSorter(l.room, func(a, b op) int { return cmp.Compare(a.inv, b.inv) })
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
	o.inv += by
	if o.attempt != 0 {
		o.attempt += by
	}
	if o.ret != never {
		o.ret += by
	}
}

var errNoAcquire = errors.New("there is no acquire in it, and no write with a token: nothing tells about a lock")
