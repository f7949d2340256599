package reports

import (
	"cmp"
	"slices"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// grant is a successful acquire and what was done under it.
type grant struct {
	*op
	ops  []*op // every other op under the grant, in the order of their starts
	lost []history.Event
	// last is the start of the last act, 0 when there is none; done the end of everything that the client did under it.
	last, done int64
}

// fault is one fault, put together from its two events.
type fault struct {
	history.FaultInfo
	// victim is the client that was struck, also where that touches nothing that the lock has promised to it; 0: nodes were.
	victim int32
	ended  bool
}

// struck lists the clients that the fault struck.
func (f *fault) struck() []int32 {
	if len(f.Clients) == 0 && f.victim != 0 {
		return []int32{f.victim}
	}
	return f.Clients
}

// touches tells whether the fault disturbs the client.
func (f *fault) touches(client int32) bool { return slices.Contains(f.Clients, client) }

// record is a history made ready to be looked things up in.
type record struct {
	voice
	h       *history.History
	unsaid  func(op int64) bool // an op that stands on no line of the log
	ops     map[int64]*op
	order   []*op // by first appearance
	grants  []*grant
	byGrant map[int64]*grant
	clients []int32
	faults  []*fault
	ledger  []*op // writes in the store's order
	entries []*op // reads and writes in the store's order
	phases  []history.Event
	end     int64 // the last stamp

	ended  bool // the history has its End event
	counts bool // what the writes counted can be told: see counters

	stale map[int64]bool // accepted writes that violate unfenced-write
	// unordered are grants of which the verdict says that a rival may have been granted the key before or after them.
	unordered map[int64]bool
	lossy     map[int64]bool // accepted writes that violate lost-update
}

// newRecord reads a history, and marks in it what the verdict found.
func newRecord(h *history.History, v checker.Verdict) *record {
	r := &record{voice: voiceOf(&h.Header), h: h, ops: map[int64]*op{}, byGrant: map[int64]*grant{}, stale: map[int64]bool{}, lossy: map[int64]bool{}, unordered: map[int64]bool{}}
	begun := map[int]*fault{}
	for i := range h.Events {
		e := &h.Events[i]
		r.end = max(r.end, e.Time, e.End)
		switch e.Type {
		case history.Invoke, history.OK, history.Fail, history.Info, history.Ledger:
			r.addOp(e)
		case history.Lost:
			if g := r.byGrant[e.Grant]; g != nil {
				g.lost = append(g.lost, *e)
			}
		case history.Fault:
			r.addFault(e, begun)
		case history.Mark:
			r.phases = append(r.phases, *e)
		case history.End:
			r.ended = true
		}
	}
	for _, f := range r.faults {
		if !f.ended {
			f.To = r.end
		}
	}
	r.link()
	r.mark(v)
	r.counts = r.counters(v) != nil
	return r
}

func (r *record) addOp(e *history.Event) {
	o := r.ops[e.Op]
	if o == nil {
		o = &op{id: e.Op, grant: e.Grant, kind: e.Kind, mode: e.Mode, key: e.Key, client: e.Client, start: e.Time, end: e.Time, token: e.Token,
			value: e.Value}
		r.ops[e.Op] = o
		r.order = append(r.order, o)
	}
	switch e.Type {
	case history.Invoke:
	case history.Ledger:
		o.decided = e.Time
		o.inLedger, o.seq, o.refused, o.conflict = true, e.Seq, e.Refused, e.Conflict
		o.version, o.replaced, o.value = e.Version, e.Replaced, e.Value
		r.entries = append(r.entries, o)
		if e.Kind == history.Write {
			r.ledger = append(r.ledger, o)
		}
	default:
		r.complete(o, e)
	}
}

func (r *record) complete(o *op, e *history.Event) {
	o.how, o.text = e.Type, e.Text
	o.end = e.Time
	if e.Start > 0 {
		o.start, o.reported = e.Start, true
	}
	if e.End > 0 {
		o.end = e.End
	}
	o.declined, o.notHeld, o.busy = e.Declined, e.NotHeld, e.Busy
	o.refused, o.conflict = o.refused || e.Refused, o.conflict || e.Conflict
	o.validFor, o.hasValidFor, o.attempt = e.ValidFor, e.HasValidFor, e.Attempt
	o.token = max(o.token, e.Token)
	if e.Version != 0 || e.Replaced != 0 {
		o.version, o.replaced = e.Version, e.Replaced
	}
	if e.Value != 0 {
		o.value = e.Value
	}
	if e.Seq != 0 {
		o.seq = e.Seq
	}
	if e.Kind == history.Acquire && e.Type == history.OK {
		g := &grant{op: o}
		r.grants = append(r.grants, g)
		r.byGrant[o.id] = g
	}
}

func (r *record) addFault(e *history.Event, begun map[int]*fault) {
	if e.Fault == nil {
		return
	}
	f := begun[e.Fault.ID]
	if f == nil {
		f = &fault{FaultInfo: *e.Fault, victim: e.Client}
		if f.From == 0 {
			f.From = e.Time
		}
		begun[f.ID] = f
		r.faults = append(r.faults, f)
	}
	if e.Fault.Phase == "end" {
		from := f.From
		f.FaultInfo, f.ended = *e.Fault, true
		if f.From == 0 {
			f.From = from
		}
		if f.To == 0 {
			f.To = e.Time
		}
	}
}

// link gives every grant its ops, and finds the clients.
func (r *record) link() {
	for _, o := range r.order {
		if !slices.Contains(r.clients, o.client) {
			r.clients = append(r.clients, o.client)
		}
		if g := r.byGrant[o.grant]; g != nil && o != g.op {
			g.ops = append(g.ops, o)
		}
	}
	slices.Sort(r.clients)
	slices.SortStableFunc(r.grants, func(a, b *grant) int { return cmp.Compare(a.end, b.end) })
	for _, g := range r.grants {
		slices.SortStableFunc(g.ops, func(a, b *op) int { return cmp.Compare(a.start, b.start) })
		g.done = g.end
		for _, o := range g.ops {
			if r.isAct(o) {
				g.last = max(g.last, o.start)
			}
			if o.reported || o.inLedger {
				g.done = max(g.done, o.end)
			}
		}
	}
}

// isAct repeats the definition of package checker for drawing: a read, write or renewal that was begun, or a confirmed release.
func (r *record) isAct(o *op) bool {
	if o.declined || !o.reported && !o.inLedger {
		return false
	}
	switch o.kind {
	case history.Read, history.Write, history.Renew:
		return true
	case history.Release:
		return o.how == history.OK && r.h.Header.Claims.ConfirmsOp(history.Release)
	}
	return false
}

// mark finds the writes that the verdict complains of: of a violation's writes the last in the ledger, behind which the others stand.
func (r *record) mark(v checker.Verdict) {
	for _, p := range v.Properties {
		set := r.stale
		switch p.Name {
		case checker.MutualExclusion:
			r.markUnordered(p)
			continue
		case checker.UnfencedWrite:
		case checker.LostUpdate:
			set = r.lossy
		default:
			continue
		}
		for _, x := range p.Violations {
			var last *op
			for _, id := range x.Ops {
				if o := r.ops[id]; o != nil && o.accepted() && (last == nil || o.seq > last.seq) {
					last = o
				}
			}
			if last != nil {
				set[last.id] = true
			}
		}
	}
}

func (r *record) markUnordered(p checker.PropertyResult) {
	for _, v := range p.Violations {
		if v.Unordered && v.A != nil && v.B != nil {
			r.unordered[v.A.Grant], r.unordered[v.B.Grant] = true, true
		}
	}
}

// harmful tells whether the store should not have taken the write.
func (r *record) harmful(o *op) bool { return r.stale[o.id] || r.lossy[o.id] }

// key returns a key's name, fit to be shown.
func (r *record) key(id history.KeyID) string {
	if int(id) < 0 || int(id) >= len(r.h.Keys) {
		return "?"
	}
	return clip(r.h.Keys[id], 40)
}

// start returns when the workload began.
func (r *record) start() int64 {
	for _, m := range r.phases {
		if m.Text == history.PhaseRun {
			return m.Time
		}
	}
	return 0
}

// grantName names a grant as a reader finds it in the history: by its fencing token, else by the op of its acquire.
func grantName(id, token int64) string {
	if token != 0 {
		return "#" + itoa(token)
	}
	return "grant " + itoa(id)
}
