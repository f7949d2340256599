package reports

import (
	"cmp"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Grant is a successful acquire and what was done under it.
type Grant struct {
	*Op
	Ops  []*Op // every other op under the grant, in the order of their starts
	Lost []history.Event
	// last is the start of the last act, 0 when there is none; done the end of everything that the client did under it.
	Last, Done int64
}

// Fault is one fault, put together from its two events.
type Fault struct {
	history.FaultInfo
	// Victim is the client that was struck, also where that touches nothing that the lock has promised to it; 0: nodes were.
	Victim int32
	Ended  bool
}

// Struck lists the clients that the fault struck.
func (f *Fault) Struck() []int32 {
	if len(f.Clients) == 0 && f.Victim != 0 {
		return []int32{f.Victim}
	}
	return f.Clients
}

// Disturbs tells whether the fault disturbs the client.
func (f *Fault) Disturbs(client int32) bool { return slices.Contains(f.Clients, client) }

// Record is a history made ready to be looked things up in.
type Record struct {
	Voice
	History *history.History
	Unsaid  func(op int64) bool // an op that stands on no line of the log
	Ops     map[int64]*Op
	Order   []*Op // by first appearance
	Grants  []*Grant
	ByGrant map[int64]*Grant
	Clients []int32
	Faults  []*Fault
	Ledger  []*Op // writes in the store's order
	entries []*Op // reads and writes in the store's order
	Phases  []history.Event
	End     int64 // the last stamp

	ended  bool // the history has its End event
	counts bool // what the writes counted can be told: see counters

	Stale map[int64]bool // accepted writes that violate unfenced-write
	// Unordered are grants of which the verdict says that a rival may have been granted the key before or after them.
	Unordered map[int64]bool
	Lossy     map[int64]bool // accepted writes that violate lost-update
}

// NewRecord reads a history, and marks in it what the verdict found.
func NewRecord(h *history.History, v checker.Verdict) *Record {
	r := &Record{Voice: voiceOf(&h.Header), History: h, Ops: map[int64]*Op{}, ByGrant: map[int64]*Grant{}, Stale: map[int64]bool{}, Lossy: map[int64]bool{}, Unordered: map[int64]bool{}}
	begun := map[int]*Fault{}
	for i := range h.Events {
		e := &h.Events[i]
		r.End = max(r.End, e.Time, e.End)
		switch e.Type {
		case history.Invoke, history.OK, history.Fail, history.Info, history.Ledger:
			r.addOp(e)
		case history.Lost:
			if g := r.ByGrant[e.Grant]; g != nil {
				g.Lost = append(g.Lost, *e)
			}
		case history.Fault:
			r.addFault(e, begun)
		case history.Mark:
			r.Phases = append(r.Phases, *e)
		case history.End:
			r.ended = true
		}
	}
	for _, f := range r.Faults {
		if !f.Ended {
			f.To = r.End
		}
	}
	r.link()
	r.mark(v)
	r.counts = r.counters(v) != nil
	return r
}

func (r *Record) addOp(e *history.Event) {
	o := r.Ops[e.Op]
	if o == nil {
		o = &Op{ID: e.Op, Grant: e.Grant, Kind: e.Kind, Mode: e.Mode, Key: e.Key, Client: e.Client, Start: e.Time, End: e.Time, Token: e.Token,
			value: e.Value}
		r.Ops[e.Op] = o
		r.Order = append(r.Order, o)
	}
	switch e.Type {
	case history.Invoke:
	case history.Ledger:
		o.Decided = e.Time
		o.InLedger, o.seq, o.Refused, o.Conflict = true, e.Seq, e.Refused, e.Conflict
		o.Version, o.Replaced, o.value = e.Version, e.Replaced, e.Value
		r.entries = append(r.entries, o)
		if e.Kind == history.Write {
			r.Ledger = append(r.Ledger, o)
		}
	default:
		r.complete(o, e)
	}
}

func (r *Record) complete(o *Op, e *history.Event) {
	o.How, o.Text = e.Type, e.Text
	o.End = e.Time
	if e.Start > 0 {
		o.Start, o.reported = e.Start, true
	}
	if e.End > 0 {
		o.End = e.End
	}
	o.Declined, o.NotHeld, o.Busy = e.Declined, e.NotHeld, e.Busy
	o.Refused, o.Conflict = o.Refused || e.Refused, o.Conflict || e.Conflict
	o.ValidFor, o.HasValidFor, o.attempt = e.ValidFor, e.HasValidFor, e.Attempt
	o.Token = max(o.Token, e.Token)
	if e.Version != 0 || e.Replaced != 0 {
		o.Version, o.Replaced = e.Version, e.Replaced
	}
	if e.Value != 0 {
		o.value = e.Value
	}
	if e.Seq != 0 {
		o.seq = e.Seq
	}
	if e.Kind == history.Acquire && e.Type == history.OK {
		g := &Grant{Op: o}
		r.Grants = append(r.Grants, g)
		r.ByGrant[o.ID] = g
	}
}

func (r *Record) addFault(e *history.Event, begun map[int]*Fault) {
	if e.Fault == nil {
		return
	}
	f := begun[e.Fault.ID]
	if f == nil {
		f = &Fault{FaultInfo: *e.Fault, Victim: e.Client}
		if f.From == 0 {
			f.From = e.Time
		}
		begun[f.ID] = f
		r.Faults = append(r.Faults, f)
	}
	if e.Fault.Phase == "end" {
		from := f.From
		f.FaultInfo, f.Ended = *e.Fault, true
		if f.From == 0 {
			f.From = from
		}
		if f.To == 0 {
			f.To = e.Time
		}
	}
}

// link gives every grant its ops, and finds the clients.
func (r *Record) link() {
	for _, o := range r.Order {
		if !slices.Contains(r.Clients, o.Client) {
			r.Clients = append(r.Clients, o.Client)
		}
		if g := r.ByGrant[o.Grant]; g != nil && o != g.Op {
			g.Ops = append(g.Ops, o)
		}
	}
	slices.Sort(r.Clients)
	slices.SortStableFunc(r.Grants, func(a, b *Grant) int { return cmp.Compare(a.End, b.End) })
	for _, g := range r.Grants {
		slices.SortStableFunc(g.Ops, func(a, b *Op) int { return cmp.Compare(a.Start, b.Start) })
		g.Done = g.End
		for _, o := range g.Ops {
			if r.IsAct(o) {
				g.Last = max(g.Last, o.Start)
			}
			if o.reported || o.InLedger {
				g.Done = max(g.Done, o.End)
			}
		}
	}
}

// IsAct repeats the definition of package checker for drawing: a read, write or renewal that was begun, or a confirmed release.
func (r *Record) IsAct(o *Op) bool {
	if o.Declined || !o.reported && !o.InLedger {
		return false
	}
	switch o.Kind {
	case history.Read, history.Write, history.Renew:
		return true
	case history.Release:
		return o.How == history.OK && r.History.Header.Claims.ConfirmsOp(history.Release)
	}
	return false
}

// mark finds the writes that the verdict complains of: of a violation's writes the last in the ledger, behind which the others stand.
func (r *Record) mark(v checker.Verdict) {
	for _, p := range v.Properties {
		set := r.Stale
		switch p.Name {
		case checker.MutualExclusion:
			r.markUnordered(p)
			continue
		case checker.UnfencedWrite:
		case checker.LostUpdate:
			set = r.Lossy
		default:
			continue
		}
		for _, x := range p.Violations {
			var last *Op
			for _, id := range x.Ops {
				if o := r.Ops[id]; o != nil && o.Accepted() && (last == nil || o.seq > last.seq) {
					last = o
				}
			}
			if last != nil {
				set[last.ID] = true
			}
		}
	}
}

func (r *Record) markUnordered(p checker.PropertyResult) {
	for _, v := range p.Violations {
		if v.Unordered && v.A != nil && v.B != nil {
			r.Unordered[v.A.Grant], r.Unordered[v.B.Grant] = true, true
		}
	}
}

// Harmful tells whether the store should not have taken the write.
func (r *Record) Harmful(o *Op) bool { return r.Stale[o.ID] || r.Lossy[o.ID] }

// Key returns a key's name, fit to be shown.
func (r *Record) Key(id history.KeyID) string {
	if int(id) < 0 || int(id) >= len(r.History.Keys) {
		return "?"
	}
	return phrase.Clip(r.History.Keys[id], 40)
}

// Start returns when the workload began.
func (r *Record) Start() int64 {
	for _, m := range r.Phases {
		if m.Text == history.PhaseRun {
			return m.Time
		}
	}
	return 0
}

// GrantName names a grant as a reader finds it in the history: by its fencing token, else by the op of its acquire.
func GrantName(id, token int64) string {
	if token != 0 {
		return "#" + phrase.Itoa(token)
	}
	return "grant " + phrase.Itoa(id)
}

// suddenly bounds a fault that ends connections and may last or not: it is over at once where it leaves them broken.
const suddenly = int64(50e6)

// Kills tells whether nobody goes on after the fault.
func (f *Fault) Kills() bool { return f.Touches().Ends == history.EndsProcess }

// Sudden tells whether the fault was over as soon as it had struck.
func (f *Fault) Sudden() bool {
	t := f.Touches()
	return t.Sudden || t.Ends == history.EndsConnection && f.To-f.From < suddenly
}

// FenceBefore returns the grant with the greatest token that the store had seen of the key when it decided about an op; nil when the
// ledger does not tell.
func (r *Record) FenceBefore(o *Op) *Grant {
	var top *Grant
	for _, x := range r.entries {
		if x.seq >= o.seq || x.Key != o.Key || x.Refused {
			continue
		}
		if x.Kind == history.Read && !r.History.Header.Store.FenceReads {
			continue
		}
		if g := r.ByGrant[x.Grant]; g != nil && (top == nil || g.Token > top.Token) {
			top = g
		}
	}
	return top
}

// ReplacedBy returns the write whose version an accepted write replaced; nil when the ledger does not tell.
func (r *Record) ReplacedBy(o *Op) *Op {
	for _, w := range r.Ledger {
		if w.Key == o.Key && w.Version == o.Replaced && w.Accepted() {
			return w
		}
	}
	return nil
}
