package history

import (
	"cmp"
	"slices"
)

// View is a whole history, put together: ops from their events, grants with their ops, faults from
// their two events. It takes some 300 bytes an op; the judge, which streams, does without.
type View struct {
	History *History
	Ops     []*Op    // in the order of their first events
	Grants  []*Grant // in the order in which their acquires ended
	Clients []int32  // those that have an op, in rising order
	Faults  []*FaultSpan
	// Ledger is the reads and writes that the store decided about, in its order; Writes are the
	// writes among them.
	Ledger, Writes []*Op
	Phases         []Event // the Mark events
	Singles        []int   // the places in History.Events of what belongs to no op and to no fault
	End            int64   // the last stamp
	Complete       bool    // the history has its End event

	ops    []*Op         // by number, as far as there are as many numbers as events
	others map[int64]*Op // those with greater numbers
	faults map[int]*FaultSpan
	fresh  []Op  // room for the next ops
	places []int // room for the places of their events
}

// Op is one operation, put together from its invocation, its completion and its ledger entries.
type Op struct {
	ID, Grant int64
	Kind      Kind
	Mode      Mode  // of an acquire of a reader-writer lock
	Permits   uint8 // of an acquire of a semaphore: how many it asks for; 0: one
	Set       int64 // the first op of those that tell of one call for several keys; 0: one key
	Key       KeyID
	Client    int32
	// Places are those of its events in History.Events, in rising order.
	Places []int
	// Asked is the recorder's stamp of the invocation; 0: the history has none.
	Asked int64
	// Start and End are the worker's stamps, or the recorder's where the worker reported none.
	Start, End int64
	// Reported: the worker reported its stamps.
	Reported bool
	// Outcome is the type of the completion; TypeNone: there was none.
	Outcome           Type
	Token             Token
	Version, Replaced int64
	Value             int64
	// Seq is its place in the store's ledger, Decided the store's stamp of its decision, by the
	// ledger; 0: the ledger does not tell.
	Seq, Decided int64
	InLedger     bool
	// The rest are as in Event.
	ValidFor          int64
	HasValidFor       bool
	Declined, Refused bool
	Conflict, NotHeld bool
	Busy              bool
	Text              string
	// InTransaction: it is a read or a write within a transaction; a write stands if it was
	// committed, as the ledger tells.
	InTransaction bool

	granted *Grant // of an acquire that was answered ok
}

// Grant is a successful acquire and what was done under it. By the definition of package checker
// the grant is a hold from End to LastAct, without regard to tokens.
type Grant struct {
	*Op
	// Ops are all other ops under the grant, in the order of their starts.
	Ops  []*Op
	Lost []Event
	// LastAct is the start of the last act; 0: there was none.
	LastAct int64
	// LastEnd is when everything was over that the client did under the grant.
	LastEnd int64
	// GivenUp is when the client first asked for its release, or heard of its loss; 0: never.
	GivenUp int64
}

// FaultSpan is one fault, put together from its two events.
type FaultSpan struct {
	FaultInfo
	// Places are those of its events in History.Events.
	Places []int
	// Victim is the client that was struck, also where that touches nothing that the lock has
	// promised to it; 0: nodes were.
	Victim int32
	Ended  bool
}

// NewView puts a history together. The view refers to the history, which must not change any more.
func NewView(h *History) *View {
	v := &View{History: h, ops: make([]*Op, len(h.Events)+1), others: map[int64]*Op{}, faults: map[int]*FaultSpan{}}
	for i := range h.Events {
		e := &h.Events[i]
		v.End = max(v.End, e.Time, e.End)
		switch {
		case e.Type >= Invoke && e.Type <= Info || e.Type == Ledger:
			v.addToOp(e, i)
		case e.Type == Fault && e.Fault != nil:
			v.addToFault(e, i)
		default:
			v.addSingle(e, i)
		}
	}
	for _, f := range v.Faults {
		if !f.Ended {
			f.To = v.End
		}
	}
	v.findHolds()
	return v
}

// addSingle adds an event that stands alone.
func (v *View) addSingle(e *Event, place int) {
	v.Singles = append(v.Singles, place)
	switch e.Type {
	case Lost:
		if g := v.Grant(e.Grant); g != nil {
			g.Lost = append(g.Lost, *e)
			g.giveUp(e.Time)
		}
	case Mark:
		v.Phases = append(v.Phases, *e)
	case End:
		v.Complete = true
	}
}

// addToOp adds an event to its op.
func (v *View) addToOp(e *Event, place int) {
	o := v.Op(e.Op)
	if o == nil {
		o = v.newOp(e.Op)
		o.Grant, o.Kind, o.Mode, o.Permits, o.Set, o.Key, o.Client = e.Grant, e.Kind, e.Mode, e.Permits, e.Set, e.Key,
			e.Client
		o.Start, o.End, o.Token, o.Value = e.Time, e.Time, e.Token, e.Value
		o.InTransaction = v.History.Header.Workload == WorkloadTransaction && (e.Kind == Read || e.Kind == Write)
		if at, found := slices.BinarySearch(v.Clients, o.Client); !found {
			v.Clients = slices.Insert(v.Clients, at, o.Client)
		}
	}
	o.Places = append(o.Places, place)
	switch e.Type {
	case Invoke:
		o.Asked = e.Time
	case Ledger:
		o.InLedger, o.Seq, o.Decided, o.Refused, o.Conflict = true, e.Seq, e.Time, e.Refused, e.Conflict
		o.Version, o.Replaced, o.Value = e.Version, e.Replaced, e.Value
		v.Ledger = append(v.Ledger, o)
		if e.Kind == Write {
			v.Writes = append(v.Writes, o)
		}
	default:
		o.complete(e)
		if e.Kind == Acquire && e.Type == OK {
			o.granted = &Grant{Op: o}
			v.Grants = append(v.Grants, o.granted)
		}
	}
}

// The usual op has an invocation, a completion and an entry in the ledger. Ops are made in batches.
const (
	usualPlaces = 3
	opBatch     = 256
)

func (v *View) newOp(id int64) *Op {
	if len(v.fresh) == 0 {
		v.fresh, v.places = make([]Op, opBatch), make([]int, opBatch*usualPlaces)
	}
	o := &v.fresh[0]
	o.ID, o.Places = id, v.places[0:0:usualPlaces]
	v.fresh, v.places = v.fresh[1:], v.places[usualPlaces:]
	v.Ops = append(v.Ops, o)
	if v.near(id) {
		v.ops[id] = o
	} else {
		v.others[id] = o
	}
	return o
}

// complete adds what a completion says. What it does not say, an entry in the ledger may have said.
func (o *Op) complete(e *Event) {
	o.Outcome, o.Text = e.Type, e.Text
	o.End = cmp.Or(max(e.End, 0), e.Time)
	if e.Start > 0 {
		o.Start, o.Reported = e.Start, true
	}
	o.Declined, o.NotHeld, o.Busy = e.Declined, e.NotHeld, e.Busy
	o.Refused, o.Conflict = o.Refused || e.Refused, o.Conflict || e.Conflict
	o.ValidFor, o.HasValidFor = e.ValidFor, e.HasValidFor
	if e.Token.Given() && (!o.Token.Given() || e.Token > o.Token) {
		o.Token = e.Token
	}
	if e.Version != 0 || e.Replaced != 0 {
		o.Version, o.Replaced = e.Version, e.Replaced
	}
	o.Value, o.Seq = cmp.Or(e.Value, o.Value), cmp.Or(e.Seq, o.Seq)
}

// addToFault adds an event to its fault.
func (v *View) addToFault(e *Event, place int) {
	f := v.faults[e.Fault.ID]
	if f == nil {
		f = &FaultSpan{FaultInfo: *e.Fault, Victim: e.Client}
		f.From = cmp.Or(f.From, e.Time)
		v.faults[f.ID] = f
		v.Faults = append(v.Faults, f)
	}
	f.Places = append(f.Places, place)
	if e.Fault.Phase == "end" {
		from := f.From
		f.FaultInfo, f.Ended = *e.Fault, true
		f.From, f.To = cmp.Or(f.From, from), cmp.Or(f.To, e.Time)
	}
}

// findHolds gives every grant its ops, and with them the end of its hold.
func (v *View) findHolds() {
	for _, o := range v.Ops {
		if g := v.Grant(o.Grant); g != nil && o != g.Op {
			g.Ops = append(g.Ops, o)
		}
	}
	slices.SortStableFunc(v.Grants, func(a, b *Grant) int { return cmp.Compare(a.End, b.End) })
	for _, g := range v.Grants {
		slices.SortStableFunc(g.Ops, func(a, b *Op) int { return cmp.Compare(a.Start, b.Start) })
		g.LastEnd = g.End
		for _, o := range g.Ops {
			if v.IsAct(o) {
				g.LastAct = max(g.LastAct, o.Start)
			}
			if o.Reported || o.InLedger {
				g.LastEnd = max(g.LastEnd, o.End)
			}
			if o.Kind == Release {
				g.giveUp(o.Asked)
			}
		}
	}
}

// giveUp notes an instant at which the client gave the grant up; 0 is none.
func (g *Grant) giveUp(at int64) {
	if g.GivenUp == 0 || at != 0 && at < g.GivenUp {
		g.GivenUp = at
	}
}

// Op returns the op with a number; nil: there is none.
func (v *View) Op(id int64) *Op {
	if v.near(id) {
		return v.ops[id]
	}
	return v.others[id]
}

// near reports whether an op's number is small, as a recorder gives them.
func (v *View) near(id int64) bool { return id >= 0 && id < int64(len(v.ops)) }

// Grant returns the grant whose acquire has a number; nil: there is none.
func (v *View) Grant(id int64) *Grant {
	if o := v.Op(id); o != nil {
		return o.granted
	}
	return nil
}

// Acts reports whether ops of the kind are acts of a holder, whatever came of them.
func (k Kind) Acts() bool { return k == Read || k == Write || k == Renew }

// IsAct reports whether an op is an act, by the definition of package checker: a read, write or
// renewal that the worker began, a release answered ok where releases confirm, or a commit of a
// transaction before the release.
func (v *View) IsAct(o *Op) bool {
	if o.Declined || !o.Reported && !o.InLedger {
		return false
	}
	return o.Kind.Acts() || o.Kind == Release && o.Outcome == OK && v.History.Header.Claims.ConfirmsOp(Release) ||
		o.Kind == Commit && !v.ReleasedBefore(o)
}

// ReleasedBefore reports whether the client asked for the release of the op's grant before the op.
func (v *View) ReleasedBefore(o *Op) bool {
	g := v.Grant(o.Grant)
	return g != nil && slices.ContainsFunc(g.Ops, func(x *Op) bool { return x.Kind == Release && x.Asked < o.Asked })
}

// HeldAt lists the grants that clients believed in at an instant: granted, and not given up.
func (v *View) HeldAt(at int64) (held []*Grant) {
	for _, g := range v.Grants {
		if g.End <= at && (g.GivenUp == 0 || g.GivenUp > at) {
			held = append(held, g)
		}
	}
	return held
}

// RunStart returns when the workload began.
func (v *View) RunStart() int64 {
	for _, m := range v.Phases {
		if m.Text == PhaseRun {
			return m.Time
		}
	}
	return 0
}

// FenceBefore returns the grant with the greatest token that the store had seen of the key when it
// decided about an op; nil when the ledger does not tell.
func (v *View) FenceBefore(o *Op) *Grant {
	var top *Grant
	for _, x := range v.Ledger {
		if x.Seq >= o.Seq || x.Key != o.Key || x.Refused || x.Kind == Read && !v.History.Header.Store.FenceReads {
			continue
		}
		if g := v.Grant(x.Grant); g != nil && (top == nil || g.Token > top.Token) {
			top = g
		}
	}
	return top
}

// ReplacedBy returns the write whose version an accepted write replaced; nil when the ledger does
// not tell. Replacing returns the one that replaced the version of an accepted write.
func (v *View) ReplacedBy(o *Op) *Op {
	return v.write(func(w *Op) bool { return w.Key == o.Key && w.Version == o.Replaced && w.Accepted() })
}

// Replacing: see ReplacedBy.
func (v *View) Replacing(o *Op) *Op {
	return v.write(func(w *Op) bool { return w.Key == o.Key && w.Replaced == o.Version && w.Accepted() })
}

func (v *View) write(fits func(*Op) bool) *Op {
	if i := slices.IndexFunc(v.Writes, fits); i >= 0 {
		return v.Writes[i]
	}
	return nil
}

// WholeLedger reports whether the ledger can be counted: the history has its end, no entry is
// missing in the numbering, every key's versions follow each other, and every write that may have
// reached the store is among them.
func (v *View) WholeLedger() bool {
	if v.History.Truncated || !v.Complete {
		return false
	}
	version := make([]int64, len(v.History.Keys))
	for i, o := range v.Ledger {
		if o.Seq != int64(i+1) || int(o.Key) < 0 || int(o.Key) >= len(version) {
			return false
		}
		if o.Kind != Write || !o.Accepted() {
			continue
		}
		if version[o.Key]++; o.Version != version[o.Key] {
			return false
		}
	}
	return !slices.ContainsFunc(v.Ops, func(o *Op) bool {
		return o.Kind == Write && !o.InLedger && !o.Declined && o.Outcome != Fail && !o.InTransaction
	})
}

// Accepted reports whether the store took the write: its answer says so, or its ledger. Of a write
// in a transaction only the ledger says so.
func (o *Op) Accepted() bool {
	return o.Kind == Write && !o.Refused && !o.Conflict && (o.Outcome == OK && !o.InTransaction || o.InLedger)
}

// longUnderWay is from when on (ns) the time that an op takes to the store is worth telling.
const longUnderWay = int64(20e6)

// Late reports whether a write was long under way, by the store's stamp.
func (o *Op) Late() bool {
	return o.Kind == Write && !o.InTransaction && o.Decided-o.Start > longUnderWay
}

// Slow reports whether the answer of a read was long in coming.
func (o *Op) Slow() bool { return o.Kind == Read && o.Outcome == OK && o.End-o.Start > longUnderWay }

// AtStore is when the store had to do with the op: when it decided about a late write, when a slow
// read was answered, else when the client began it.
func (o *Op) AtStore() int64 {
	switch {
	case o.Late():
		return o.Decided
	case o.Slow():
		return o.End
	}
	return o.Start
}

// Struck lists the clients that the fault struck.
func (f *FaultSpan) Struck() []int32 {
	if len(f.Clients) == 0 && f.Victim != 0 {
		return []int32{f.Victim}
	}
	return f.Clients
}

// Disturbs reports whether the fault disturbs the client.
func (f *FaultSpan) Disturbs(client int32) bool { return slices.Contains(f.Clients, client) }

// Kills reports whether the fault ends the process of a client.
func (f *FaultSpan) Kills() bool { return f.Touches().EndsClient() }

// briefCut bounds (ns) a fault that ends connections and is over as soon as it has struck.
const briefCut = int64(50e6)

// Sudden reports whether the fault was over as soon as it had struck.
func (f *FaultSpan) Sudden() bool {
	t := f.Touches()
	return t.Sudden || t.Ends == EndsConnection && f.To-f.From < briefCut
}
