package conformance

import (
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// tellingWork is the check without which nothing can be learned of an adapter whose work comes by
// itself.
const tellingWork = "tells when its work begins and ends"

// jobChecks and leaderChecks are those of an instance of a scheduler and of a candidate for
// leadership, in the order in which an author meets them.
var (
	jobChecks = []check{
		{name: hello, run: greets},
		{name: "declares that an op is unsupported", run: unsupported},
		{name: tellingWork, run: works},
		{name: "tells when it claimed its work", run: works, applies: stampedWork},
		{name: "refuses a go for what is over", run: refusesGo},
		{name: "tells which tick it executes", run: works, applies: tellsTicks},
		{name: "executes no tick twice", run: ticksOnce, applies: tellsTicks},
		{name: "executes one tick at a time", run: worksAlone, applies: noOverlap},
		{name: "goes on when an instance dies", run: killedWorker, loses: true},
		{name: "answers while the service is frozen, and goes on", run: frozenWork, applies: hasService, loses: true},
		{name: "closes and ends", run: func(t *trial) { t.ends(t.client(1)) }},
	}
	leaderChecks = []check{
		{name: hello, run: greets},
		{name: "declares that an op is unsupported", run: unsupported},
		{name: tellingWork, run: works},
		{name: "tells when it won the election", run: works, applies: stampedWork},
		{name: "refuses a go for a term that is over", run: refusesGo},
		{name: "has one leader at a time", run: worksAlone},
		{name: "goes on when the leader dies", run: killedWorker, loses: true},
		{name: "tells of a term that ended while it was frozen", run: frozenLeader, applies: tellsLoss, loses: true},
		{name: "notices by its own clock that it is cut off", run: cutOffLeader, applies: noticesAlone, loses: true},
		{name: "answers while the service is frozen, and goes on", run: frozenWork, applies: hasService, loses: true},
		{name: "closes and ends", run: func(t *trial) { t.ends(t.client(1)) }},
	}
)

// work is an execution of a job, or a term of a leader, that a client has told of.
type work struct {
	heard
	client *Client
}

// noun is what the adapter's work is called.
func (t *trial) noun() string {
	if t.bench.Kind == adapter.KindLeader {
		return "term"
	}
	return "execution"
}

// patienceForWork is how long the next execution or term may take to begin.
func (t *trial) patienceForWork() time.Duration {
	return max(t.says().Handover, t.bench.TTL) + t.bench.Every + t.slack
}

// poll is how often clients are looked at while none has told what is waited for.
const poll = 2 * time.Millisecond

// begins waits until one of the clients begins, and returns what it tells. What began long ago is
// ended without a word: its lease may be over.
func (t *trial) begins() work {
	limit := t.patienceForWork()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(poll) {
		t.must(t.ctx.Err())
		for _, c := range t.clients {
			w, found := c.next()
			if !found {
				t.must(c.conn.Broken())
				continue
			}
			t.lookAt(w)
			if monotime.Since(w.at) < t.bench.TTL/2 {
				return w
			}
			t.ask(c, adapter.Request{Op: adapter.OpGo, Run: w.Run, TimeoutMS: t.slack.Milliseconds()})
		}
	}
	t.fail(fmt.Sprintf(`Print {"event":"run","run":…} when the %s begins, and flush. The adapter begins by itself, without being asked, after its reply to the hello. `+
		`A lock that an earlier %[1]s left behind keeps others out.`, t.noun()),
		"for %v no %s began at any of %d clients", limit, t.noun(), len(t.clients))
	panic("fail returned")
}

// next takes the next run-event that nobody has taken.
func (c *Client) next() (work, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.taken < len(c.events) {
		h := c.events[c.taken]
		if c.taken++; h.Kind == adapter.EventRun {
			return work{h, c}, true
		}
	}
	return work{}, false
}

// lookAt demands that a run-event is as it should be.
func (t *trial) lookAt(w work) {
	if t.runs[w.Run] {
		t.fail(fmt.Sprintf(`Print the run-event once, and give each %s a name that no other one has, on any client: a random one, for example.`, t.noun()),
			"%s told of a %s %q, and one of that name was told of before", w.client.name, t.noun(), w.Run)
	}
	t.runs[w.Run] = true
	if w.Attempt != 0 && (w.Attempt > w.at || w.Attempt < t.began) {
		t.fail(`"attempt_ns" is a reading of CLOCK_MONOTONIC, in ns, just before the request was sent that claimed it. Leave it out if you do not know it.`,
			"%s told of a %s with attempt_ns %d; the event came at %d, and this test began at %d", w.client.name, t.noun(), w.Attempt, w.at, t.began)
	}
	t.last.Attempt = w.Attempt
	if wrong := wrongTick(w.Tick, w.wall, t.bench.Every.Milliseconds()); wrong != "" {
		t.fail(`"tick" is the instant that the execution is due at, in ms since 1970: a whole multiple of every_ms. Leave it out if the scheduler does not know it.`,
			"%s told of tick %d, which %s", w.client.name, w.Tick, wrong)
	}
}

// wrongTick says what is wrong with a tick that was told of at an instant (ms since 1970), of a job
// with a period (ms); "": nothing, or it was not told.
func wrongTick(tick, now, every int64) string {
	const day = 24 * 3600 * 1000
	near := func(t int64) bool { return t > now-day && t < now+day }
	switch {
	case tick == 0:
		return ""
	case near(tick * 1000):
		return "is in seconds"
	case near(tick / 1000):
		return "is in microseconds"
	case near(tick / 1_000_000):
		return "is in nanoseconds"
	case !near(tick):
		return fmt.Sprintf("is far from now (%d)", now)
	case tick%every != 0:
		return fmt.Sprintf("is no whole multiple of the period of %d ms", every)
	case tick > now:
		return fmt.Sprintf("is not due yet: it is %d", now)
	}
	return ""
}

// finish says that the work is over, and demands that the adapter ends it. A work that was lost
// meanwhile ends this run of the check.
func (t *trial) finish(w work) {
	t.over(w)
	if w.client.tells(t.slack, func(e adapter.Event) bool { return e.Run == w.Run && e.Kind != adapter.EventRun }) {
		t.unlessLost(w)
		return
	}
	t.fail(fmt.Sprintf(`Print {"event":"done","run":…} when the %s is over at the service: an execution is marked as done there, a leader has given its lease back.`, t.noun()),
		"%s was told that the work of %s is over, and has not told of its end for %v", w.client.name, w.Run, t.slack)
}

// over says that the work is over, and demands that the adapter accepts that at once.
func (t *trial) over(w work) {
	a := t.goOn(w.client, w.Run)
	switch {
	case !a.OK:
		t.unlessLost(w)
		t.unlessEnded(w, 0)
		t.leftOrWrong(adapter.OpGo, a, fmt.Sprintf(`Answer ok to a go while the %s is going on.`, t.noun()),
			"%s was told that the work of %s is over, and said %s, while it was going on", w.client.name, w.Run, answered(a))
	case a.took() > t.slack/3:
		t.late(`Answer go at once, on another thread than the one that ends the work. That it has ended, say by the event "done".`,
			"%s answered go after %v", w.client.name, a.took().Round(time.Millisecond))
	}
}

func (t *trial) goOn(c *Client, run string) answer {
	return t.ask(c, adapter.Request{Op: adapter.OpGo, Run: run, TimeoutMS: t.slack.Milliseconds()})
}

// unlessLost ends this run of the check if the adapter has told that the work is lost: on a busy
// machine a lease may be over.
func (t *trial) unlessLost(w work) {
	if w.client.tells(0, func(e adapter.Event) bool { return e.Run == w.Run && e.Kind == adapter.EventLost }) {
		panic(again{})
	}
}

// works has one client work three times. None of it may end before it is told to.
func works(t *trial) {
	t.client(1)
	for range 3 {
		w := t.begins()
		t.unlessEnded(w, t.moment())
		t.finish(w)
	}
}

func stampedWork(t *trial) string {
	if t.last.Attempt != 0 {
		return ""
	}
	return "runs come without attempt_ns: the checker takes it that each was claimed at any time since the one before had ended"
}

func tellsTicks(t *trial) string {
	for _, c := range t.clients {
		if c.tells(0, func(e adapter.Event) bool { return e.Tick != 0 }) {
			return ""
		}
	}
	return "runs come without a tick, so nobody can say whether one is executed twice"
}

func noOverlap(t *trial) string {
	if t.says().Overlap {
		return "the scheduler declares that executions may overlap"
	}
	return ""
}

func tellsLoss(t *trial) string {
	if s := t.says(); s.Validity != "session" || s.LostGrace == 0 || s.NoExpiry {
		return "it does not declare within which time it tells of a loss"
	}
	return ""
}

// unlessEnded demands that no adapter tells within the time that its work has ended, which it was
// not told to end.
func (t *trial) unlessEnded(w work, within time.Duration) {
	if w.client.tells(within, func(e adapter.Event) bool { return e.Run == w.Run && e.Kind == adapter.EventDone }) {
		t.fail(`The function that your library calls prints run, waits for the request "go", and returns. Only then print done.`,
			"%s told that %s is over, and was not told to end it", w.client.name, w.Run)
	}
}

// refusesGo asks twice to end the same work, and to end one that never was.
func refusesGo(t *trial) {
	t.client(1)
	w := t.begins()
	t.finish(w)
	for _, c := range []struct{ run, what string }{{w.Run, "of " + w.Run + " for the second time"}, {"nobody", "of one that never began"}} {
		switch a := t.goOn(w.client, c.run); {
		case a.OK:
			t.fail(`Answer "not_held" to a go for what is over, or never was.`, "%s says ok to a go %s", w.client.name, c.what)
		case a.Error != adapter.NotHeld:
			t.leftOrWrong(adapter.OpGo, a, `Answer "not_held" to a go for what is over, or never was.`, "%s says %s to a go %s", w.client.name, answered(a), c.what)
		}
	}
}

// ticksOnce has three instances share the ticks, and each tick be executed by one of them.
func ticksOnce(t *trial) {
	t.client(3)
	by := map[int64]string{}
	for range 8 {
		w := t.begins()
		if before := by[w.Tick]; before != "" && w.Tick != 0 {
			t.fail("Claim the tick at the service before the job is executed, and remember it for longer than the execution takes: another instance may look a moment later. "+promised,
				"tick %d was executed by %s and by %s, and nothing was disturbed", w.Tick, before, w.client.name)
		}
		by[w.Tick] = w.client.name
		t.finish(w)
		t.inTime(w)
	}
}

// inTime ends this run of the check if the lease of the work may have been over by now.
func (t *trial) inTime(w work) {
	claimed := w.at
	if w.Attempt != 0 { // on a busy machine the event comes later
		claimed = w.Attempt
	}
	if monotime.Since(claimed) >= t.bench.TTL {
		t.note("%s took longer than a lease of %v: once more", w.Run, t.bench.TTL)
		panic(again{})
	}
}

// worksAlone demands that nobody else begins while one of three clients works. A client that is
// slow to start, as on a busy machine, shows nothing: it goes on until each has worked, or for so
// many times that only a favourite of the lock can have.
func worksAlone(t *trial) {
	t.client(3)
	worked := map[*Client]bool{}
	for range 8 {
		w := t.begins()
		t.unlessSecond(w)
		t.finish(w)
		if worked[w.client] = true; len(worked) == len(t.clients) {
			return
		}
	}
}

// unlessSecond demands that nobody else begins for a period and a moment.
func (t *trial) unlessSecond(w work) {
	for end := time.Now().Add(t.bench.Every + t.moment()); time.Now().Before(end); time.Sleep(poll) {
		for _, c := range t.clients {
			other, found := c.next()
			if !found {
				continue
			}
			first, second := w, other // of which neither was told to end
			if other.at < w.at {
				first, second = other, w
			}
			t.unlessLost(first)
			t.inTime(first)
			t.fail("Two of them work at the same time, and nothing was disturbed. "+promised,
				"%s began %s while %s had not ended %s", second.client.name, second.Run, first.client.name, first.Run)
		}
	}
}

// killedWorker kills a client that works: others go on.
func killedWorker(t *trial) {
	t.client(3)
	w := t.begins()
	t.kill(w.client)
	limit := t.patienceForWork()
	for end := time.Now().Add(limit); time.Now().Before(end); {
		if next := t.begins(); next.client != w.client {
			t.finish(next)
			return
		}
	}
}

// frozenLeader stops the leader until another one leads.
func frozenLeader(t *trial) {
	t.client(3)
	w := t.begins()
	thaw := t.stop(w.client)
	defer thaw()
	next := t.begins()
	thaw()
	t.toldLoss(w, w.client.Says.LostGrace+t.slack/2)
	t.finish(next)
}

// toldLoss demands that the client tells of the loss of its term.
func (t *trial) toldLoss(w work, within time.Duration) {
	s := w.client.Says
	if !w.client.tells(within, func(e adapter.Event) bool { return e.Run == w.Run && e.Kind == adapter.EventLost }) {
		t.fail(`Print {"event":"lost","run":…} in the callback that your library calls when it leads no more. `+promised+
			"Only if it does not promise it leave lost_grace_ms out.",
			"%s lost %s, and did not tell within %v (it declares lost_grace_ms %d)", w.client.name, w.Run, within, s.LostGrace.Milliseconds())
	}
	if a := t.goOn(w.client, w.Run); a.OK {
		t.fail(`Answer "not_held" to a go for a term that is over.`, "%s had told that %s is lost, and says ok to its go", w.client.name, w.Run)
	}
}

// cutOffLeader freezes the service for longer than a lease.
func cutOffLeader(t *trial) {
	t.client(1)
	w := t.begins()
	thaw := t.freeze()
	defer thaw()
	t.toldLoss(w, t.bench.TTL+w.client.Says.LostGrace+t.slack/2)
	thaw()
	t.finish(t.begins())
}

// frozenWork ends work while the service is frozen. Whether it is marked as done is open, so the
// adapter need not tell of its end.
func frozenWork(t *trial) {
	t.client(1)
	w := t.begins()
	thaw := t.freeze()
	defer thaw()
	t.over(w)
	thaw()
	t.finish(t.begins())
}
