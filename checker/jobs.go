// # Executions of a job
//
// A scheduler is no lock (Claims.Job). Its grant is an execution of the job by an instance, its
// token the tick that is executed, in ms since 1970. An instance owns an execution for a TTL from
// the attempt that claimed it (without an attempt: from the start of its wait), or until it is
// marked as done, by a release that is answered ok. All properties of jobs are judged when the
// history is over, by all faults in it. The TTL is 500, and the tick of 0 is 1000:
//
//	A.acquire [-50,1] attempt 0 tick 1000, A.release [20,21]; B.acquire [-50,801] attempt 800 tick 1000
//
// B replayed the tick, which had been done. "B executed it when A's lease was over, so it is
// inherent" would clear a scheduler that forgets what was done. The claim of B may lie anywhere
// between its attempt and its answer. So where A marked the tick between those two, within its
// lease, either order convicts. Where the mark came after the lease, B may have claimed between
// the two, and it is twice-after-loss:
//
//	A.acquire [-50,1] attempt 0 tick 1000, A.release [590,601]; B.acquire [-50,602] attempt 595 tick 1000
//
// An instance may stand still between its claim and its telling of it. B claimed the tick first, A
// had it when B's lease was over, and B tells of it when A had marked it. "Told after the mark, so
// it is replayed" would accuse the scheduler of that. It is twice-after-loss, and an overlap is
// overlap-after-loss, wherever A began when B's lease might have been over:
//
//	A.acquire [-50,501] attempt 500 tick 1000, A.release [520,521]; B.acquire [-50,900] attempt 0 tick 1000
//
// Executions overlap if the later one began before the last read or write of the earlier one began.
// "Until it was marked as done" would accuse a frozen instance that wakes up, looks, and does
// nothing but mark. An execution without a read or a write overlaps nothing.
//
// A tick is missed if an instance waited for it for a whole period, which began a period or more
// after its process first waited for any; if nobody ever executed it, and nothing can have kept all
// of them from it: a fault or a stall on anyone, from a lease and a period before; a wrong clock,
// ever before; the end of an instance; or another execution that went on, or that was not marked as
// done and had its lease. "Nobody executed it, so it was missed" accuses each scheduler whose
// instance claims a tick and dies. A scheduler claims ticks whether or not it is asked for them, so
// none is judged from the last wait of an instance on that lives while the workload winds down:
// what it claims then it tells nobody. What came due under a fault is judged by the rule for
// misfires (owedticks.go).
//
// After a death another instance has the claimed time (Claims.Handover) and a period, since ticks
// come only so often. Injected faults on anyone else excuse it. Stalls of the instance that waits,
// or of the service, are taken off, and what is left must then be twice that time.
//
// After an orderly stop it is the same, with Claims.StopHandover, and an elected component or
// another lock that claims it is judged alike. An orderly stop is a close that was answered while
// the instance executed the job. "It was closed, so it gave up nothing it had to" accuses the
// instances that are closed when the workload winds down, and nobody waits; those do not count.
// With its close an instance gives its tick up: that another one executes it then is no
// twice-while-owned.
package checker

import (
	"cmp"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// jobs are the executions of a history, and when its instances could have made more. Ticks are
// seldom, so all are kept, and judged when the history is over. For a lock there is nothing here.
type jobs struct {
	rules  *rules
	faults *faults
	on     bool // the history is one of a job
	// kept: executions are kept, of a job, or of a lock that claims something of orderly stops. A
	// hold of such a lock is taken for an execution.
	kept bool

	executions []*execution // in the order in which they began, once sorted
	byGrant    map[int64]*execution
	byKey      map[history.KeyID][]*execution // once sorted
	keys       []history.KeyID                // those of byKey, in order
	idles      []idle
	deaths     []death
	exits      []exit

	// lives are those of the instances that live. Once the workload winds down nobody asks any
	// more, and what an instance claims after its latest wait it tells nobody. So from silent on,
	// the earliest of these, a tick that is not told of may have been executed.
	lives  map[int32]life
	silent int64 // 0: the workload goes on, or the history does not say
	quiet  bool  // the workload winds down

	ticks, handovers, releases int // those that were judged
	owed                       int // ticks that were overtaken and left open
	// distinct counts the ticks that were executed, or those with an effect where effects are
	// judged; ineffective those that began and had none.
	distinct, ineffective int
	unlisted              bool
}

// execution is one run of a job by an instance.
type execution struct {
	*grant
	// from is the earliest instant at which the instance may have claimed it, begun when it told
	// that it runs.
	from, begun int64
	// last is the start of the latest act of its application, lastOp that act; 0: there was none.
	last, lastOp int64
	// lastWrite is the start of its latest effect; 0: it had none.
	lastWrite int64
	// effect is when the store took its first effect, by its ledger, and effectOp which that is; 0:
	// it took none.
	effect, effectOp int64
	// hindered: its application could not read or write, or nobody knows whether it did. marks: it
	// was to be marked as done, whatever came of that.
	hindered, marks bool
	// done is when it was marked as done: from the start to the end of that; 0: it was not.
	doneFrom, done int64
	// told is when the scheduler said that it is lost, gone when the instance died or was stopped
	// in order; 0: neither. given is when such a stop began, with which the instance gives it up.
	told, gone, given int64
}

// effective reports whether the store took an effect of the execution.
func (x *execution) effective() bool { return x.effect != 0 }

// idle is a time in which an instance waited for a tick. Nothing was between the waits that it is
// made of.
type idle struct {
	client   int32
	key      history.KeyID
	from, to int64
	// began is when the instance's process first waited for anything.
	began int64
}

// life is that of a process of a client: when it first waited, and until when it last did.
type life struct {
	process       int32
	began, latest int64
}

// death is the end of an instance that executed a job. orderly: it was closed.
type death struct {
	of      *execution
	at      int64
	orderly bool
}

// exit is the end of an instance's process.
type exit struct {
	client int32
	at     int64
}

// noExecutions says that nothing was executed; empty when something was.
func noExecutions(s *Sweep) string {
	return noneOf(int64(len(s.jobs.executions)), "No tick was executed.")
}

// waited notes the end of an instance's wait for a tick.
func (js *jobs) waited(o *op, e *history.Event) {
	if o.start == 0 {
		return
	}
	end := stamp(e.End, e.Time)
	l, known := js.lives[o.client]
	if !known || l.process != o.process {
		l.process, l.began = o.process, o.start
	}
	l.latest = max(l.latest, end)
	js.lives[o.client] = l
	for i := len(js.idles) - 1; i >= 0; i-- {
		w := &js.idles[i]
		if w.client != o.client {
			continue
		}
		if w.key == o.key && w.began == l.began && o.start-w.to <= js.rules.Stall && !js.executed(o.client, w.to) {
			w.to = end
			return
		}
		break
	}
	js.idles = append(js.idles, idle{o.client, o.key, o.start, end, l.began})
}

// executed reports whether a client's latest execution began at an instant or later.
func (js *jobs) executed(client int32, since int64) bool {
	for i := len(js.executions) - 1; i >= 0; i-- {
		if x := js.executions[i]; x.client == client {
			return x.begun >= since
		}
	}
	return false
}

// began notes an execution.
func (js *jobs) began(g *grant) {
	pin(g)
	x := &execution{grant: g, from: cmp.Or(g.attempt, g.start), begun: g.end}
	if !js.on {
		x.from = g.end // an attempt at a lock may be as long as its wait
	}
	js.executions, js.byGrant[g.id] = append(js.executions, x), x
}

// acted notes an act of an execution's application, or that it is marked as done.
func (js *jobs) acted(g *grant, o *op, e *history.Event) {
	x := js.byGrant[g.id]
	if x == nil {
		return
	}
	x.hindered = x.hindered || isStoreOp(o.kind) && e.Type != history.OK
	x.marks = x.marks || o.kind == history.Release
	if o.start == 0 {
		return
	}
	switch {
	case o.kind == history.Release:
		if e.Type == history.OK {
			x.doneFrom, x.done = o.start, stamp(e.End, e.Time)
		}
	case isStoreOp(o.kind):
		if o.start >= x.last {
			x.last, x.lastOp = o.start, o.id
		}
		if o.kind == history.Write && e.Type != history.Fail {
			x.lastWrite = max(x.lastWrite, o.start)
		}
	}
}

// applied notes that the store took an effect of an execution.
func (js *jobs) applied(g *grant, e *history.Event) {
	if x := js.byGrant[g.id]; x != nil && x.effect == 0 {
		x.effect, x.effectOp = e.Time, e.Op
	}
}

// lost notes that the scheduler has told of the loss of an execution.
func (js *jobs) lost(g *grant, t int64) {
	if x := js.byGrant[g.id]; x != nil {
		x.told = earlier(x.told, t)
	}
}

// mark notes that the workload winds down.
func (js *jobs) mark(e *history.Event) {
	if e.Text != history.PhaseQuiet || js.silent != 0 {
		return
	}
	js.quiet = true
	for _, l := range js.lives {
		js.silent = earlier(js.silent, l.latest)
	}
}

// died notes the end of an instance's process, and whether it executed the job. It may be told
// late, when the next one lives already. 0: no process is told.
func (js *jobs) died(client, process int32, t int64) {
	if process == 0 || js.lives[client].process <= process {
		delete(js.lives, client)
	}
	if js.kept {
		js.exits = append(js.exits, exit{client, t})
	}
	if x := js.running(client); x != nil && (process == 0 || x.process <= process) {
		x.gone = t
		js.deaths = append(js.deaths, death{of: x, at: t})
	}
}

// closed notes the orderly stop of an instance, and whether it executed the job. Once the workload
// winds down every instance is closed, and nobody waits to go on.
func (js *jobs) closed(client int32, from, to int64) {
	if x := js.running(client); x != nil && from != 0 && !js.quiet {
		x.given, x.gone = from, to
		js.deaths = append(js.deaths, death{x, to, true})
	}
}

// waiting are the times in which instances waited, of each key that was executed.
func (js *jobs) waiting() map[history.KeyID]intervals[idle] {
	waits, all := map[history.KeyID][]idle{}, map[history.KeyID]intervals[idle]{}
	for _, w := range js.idles {
		waits[w.key] = append(waits[w.key], w)
	}
	for _, key := range js.keys {
		all[key] = newIntervals(waits[key], func(w idle) (int64, int64) { return w.from, w.to })
	}
	return all
}

// running is a client's latest execution, if that is neither done nor over with its instance.
func (js *jobs) running(client int32) *execution {
	for i := len(js.executions) - 1; i >= 0; i-- {
		if x := js.executions[i]; x.client == client {
			if x.done == 0 && x.gone == 0 {
				return x
			}
			return nil
		}
	}
	return nil
}

// owned is until when an execution is certainly its instance's own: for the lease that it has,
// or until the instance gives it up.
func (js *jobs) owned(x *execution) int64 { return earlier(x.given, x.from+js.rules.TTL) }

// late reports whether b, of which its instance told after a, may have been claimed before a, and
// told of only when its lease was over: its instance stood still, or the answer came late.
func (js *jobs) late(a, b *execution) bool { return a.begun >= js.owned(b) }

// lostByStall reports whether a stall of the machine alone explains that of two executions the one
// that was claimed first was lost.
func (js *jobs) lostByStall(a, b *execution) bool {
	if js.late(a, b) {
		return js.onlyStalled(b, b.begun)
	}
	return js.onlyStalled(a, b.begun)
}

// sort puts the executions into the order in which they began, and those of each key by themselves.
func (js *jobs) sort() {
	slices.SortStableFunc(js.executions, func(a, b *execution) int { return cmp.Compare(a.begun, b.begun) })
	js.byKey = map[history.KeyID][]*execution{}
	for _, x := range js.executions {
		if js.byKey[x.key] == nil {
			js.keys = append(js.keys, x.key)
		}
		js.byKey[x.key] = append(js.byKey[x.key], x)
	}
	slices.Sort(js.keys)
}

// exactly reports whether the scheduler claims that the effect of a tick comes once.
func (js *jobs) exactly() bool { return js.rules.Claims.Job == history.ExactlyOnce }

// begunOn are the executions of a key, in the order in which they began.
func (js *jobs) begunOn(key history.KeyID) []*execution { return js.byKey[key] }

// effectsOn are the executions of a key that had an effect, in the order in which those came.
func (js *jobs) effectsOn(key history.KeyID) (all []*execution) {
	for _, x := range js.byKey[key] {
		if x.effective() {
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, func(a, b *execution) int { return cmp.Compare(a.effect, b.effect) })
	return all
}

// disturbed reports whether such faults touched any instance but one, or the service, in a time,
// or a clock was wrong before.
func (js *jobs) disturbed(from, to int64, except int32, which faultFilter) bool {
	fs := js.faults
	if fs.skewedSince != 0 && fs.skewedSince <= to || touched(fs.service, from, to, which) {
		return true
	}
	for client := range fs.byClient {
		if int32(client) != except && touched(fs.byClient[client].spans, from, to, which) {
			return true
		}
	}
	return false
}

// onlyStalled reports whether a stall of the machine alone explains that an instance was late, from
// its claim to an instant.
func (js *jobs) onlyStalled(x *execution, until int64) bool {
	return !js.faults.disturbed(x.client, x.from, until, injectedOnly) &&
		js.faults.disturbed(x.client, x.from, until, uninjectedOnly)
}
