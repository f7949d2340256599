package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Outcome is what came of one check.
type Outcome string

// The outcomes.
const (
	Passed Outcome = "ok"
	Failed Outcome = "FAIL"
	// Broke: the adapter broke the protocol, so nothing that it says can be relied upon.
	Broke Outcome = "BROKEN"
	// NotShown: the adapter left open what was asked, as it always may, or
	// claims nothing that could be wrong.
	NotShown Outcome = "?"
	// NotApplicable: the adapter does not declare what the check is about.
	NotApplicable Outcome = "-"
)

// Result is what came of one check.
type Result struct {
	Check   string
	Outcome Outcome
	// Text says what is wrong or not shown, why the check is not applicable, or
	// what else came of one that passed; Advice what to do.
	Text, Advice string
	// Exchange is what was said in the check, as lines; only where something is wrong.
	Exchange []string
}

// check is one thing that is demanded of every adapter, or of those for which applies returns "".
type check struct {
	name    string
	run     func(*trial)
	applies func(*trial) string
	// loses: what the check does makes locks be lost.
	loses bool
}

const (
	// longestMoment bounds the time limit of a call that is meant to run out of time.
	longestMoment = 300 * time.Millisecond
	// runs is how often a check is tried until it comes through before a lease is over.
	runs = 8
	// lates is how often an adapter must be late, one try after the other, until that is held
	// against it.
	lates = 3
	// shown is how many lines of an exchange are shown.
	shown = 14
)

// DefaultSlack is generous: a busy machine is no defect.
const DefaultSlack = 10 * time.Second

// Run tries the adapter. Told is called for each result, in order. The error is
// about the bench, not about the adapter.
func Run(ctx context.Context, b *Bench, told func(Result)) error {
	switch b.Kind {
	case adapter.KindJob:
		return run(ctx, b, jobChecks, told)
	case adapter.KindLeader:
		return run(ctx, b, leaderChecks, told)
	}
	return run(ctx, b, checks, told)
}

// run goes through some of the checks.
func run(ctx context.Context, b *Bench, checks []check, told func(Result)) error {
	t := &trial{ctx: ctx, bench: b, began: monotime.Now(), slack: b.Slack, runs: map[string]bool{}}
	if t.slack == 0 {
		t.slack = DefaultSlack
	}
	defer t.end()
	for _, c := range checks {
		r, err := t.try(c)
		if err != nil {
			return err
		}
		told(r)
		if (c.name == hello || c.name == tellingWork) && r.Outcome != Passed || c.name == granting && r.Outcome == Broke {
			return nil // nothing else can be asked, or would be answered otherwise
		}
	}
	return nil
}

// trial is the state of one run of the checks.
type trial struct {
	ctx   context.Context
	bench *Bench
	began int64
	slack time.Duration
	// clients stay for the next check, if they are as good as new.
	clients []*Client
	keys    int
	last    adapter.Reply // the last grant
	// runs are the names of the executions, or terms, that were told of.
	runs map[string]bool

	mu       sync.Mutex
	exchange []string
	aside    string // what else there is to say of the check in progress, though nothing is wrong
	doubt    *wrong // what the check in progress could not show, the first of it
}

// unshown ends a check in which nothing more can be shown: doubt says why.
type unshown struct{}

// wrong ends a check: something is wrong with the adapter.
type wrong struct{ text, advice string }

// late ends a check: the answer was right, and late. A busy machine makes every adapter late now
// and then.
type late struct{ wrong }

// again ends a check that took longer than a lease.
type again struct{}

// out ends a check: something is wrong with the bench.
type out struct{ err error }

func (t *trial) fail(advice, format string, args ...any) {
	panic(wrong{fmt.Sprintf(format, args...), advice})
}

// late is fail where all that is wrong is how long it took.
func (t *trial) late(advice, format string, args ...any) {
	panic(late{wrong{fmt.Sprintf(format, args...), advice}})
}

// notShown notes that the adapter's answer, which is allowed, leaves open what the check is about.
func (t *trial) notShown(advice, format string, args ...any) {
	if t.doubt == nil {
		t.doubt = &wrong{fmt.Sprintf(format, args...), advice}
	}
}

// left ends the check if the word leaves open what came of the op: it is always right to say that.
func (t *trial) left(op string, a answer, format string, args ...any) {
	if a.OK || adapter.Definite(op, a.Error) {
		return
	}
	t.notShown(sayMore, format, args...)
	panic(unshown{})
}

// leftOrWrong ends the check with an answer that is not ok: it leaves open what
// came of the op, or is wrong.
func (t *trial) leftOrWrong(op string, a answer, advice, format string, args ...any) {
	t.left(op, a, format, args...)
	if waitOn := t.tooSoon(a); waitOn != "" {
		advice = waitOn
	}
	t.fail(advice, format, args...)
}

// tooSoon is what to do about an acquire that said busy before any lease could be over, and had
// time to wait for that; "" if it did not.
func (t *trial) tooSoon(a answer) string {
	if a.Error != adapter.Busy || a.took() >= t.bench.TTL || a.took() > a.within/2 {
		return ""
	}
	return fmt.Sprintf("It gave up after %v, and had %v (timeout_ms): wait until that is over, or ask the lock again and again, and say busy only then.",
		a.took().Round(time.Millisecond), a.within)
}

// sayMore is what an adapter gains that leaves less open.
const sayMore = "That is always right to say. But lockchaos learns nothing from it: where the service has answered, and the answer is clear, say so."

func (t *trial) must(err error) {
	var broken *adapter.BrokenError
	if err != nil && !errors.As(err, &broken) {
		err = out{err}
	}
	if err != nil {
		panic(err)
	}
}

func (o out) Error() string { return o.err.Error() }

// try runs one check, as often as it takes.
func (t *trial) try(c check) (r Result, err error) {
	r = Result{Check: c.name}
	if c.applies != nil {
		if why := c.applies(t); why != "" {
			r.Outcome, r.Text = NotApplicable, why
			return r, nil
		}
	}
	tooLate := 0
	for range runs {
		if err := t.ctx.Err(); err != nil {
			return r, err
		}
		t.mu.Lock()
		t.exchange = nil
		t.mu.Unlock()
		t.doubt, t.aside = nil, ""
		before := t.losses()
		switch p := t.once(c).(type) {
		case nil:
			if r.Outcome, r.Text = Passed, t.aside; t.doubt != nil {
				r.Outcome, r.Text, r.Advice, r.Exchange = NotShown, t.doubt.text, t.doubt.advice, t.said()
			}
			return r, nil
		case unshown:
			r.Outcome, r.Text, r.Advice, r.Exchange = NotShown, t.doubt.text, t.doubt.advice, t.said()
			t.end() // what was left open may have happened, or may yet
			return r, nil
		case again:
			continue
		case wrong:
			if !c.loses && t.losses() > before {
				t.end() // a session was over, and nobody had disturbed it but the machine
				continue
			}
			r.Outcome, r.Text, r.Advice = Failed, p.text, p.advice
		case late:
			if tooLate++; tooLate < lates {
				t.end()
				continue
			}
			r.Outcome, r.Text, r.Advice = Failed, p.text, p.advice
		case *adapter.BrokenError:
			r.Outcome, r.Text = Broke, p.Error()
		case out:
			return r, p.err
		default:
			panic(p)
		}
		r.Exchange = t.said()
		t.end() // what is in whatever state
		return r, nil
	}
	r.Outcome, r.Text = Failed, fmt.Sprintf("%d times, a lease or session of %v was over before what was asked of the lock was answered", runs, t.bench.TTL)
	r.Advice = "If the machine is busy try a longer --ttl; else the adapter is slow to answer."
	return r, nil
}

func (t *trial) once(c check) (p any) {
	defer func() { p = recover() }()
	c.run(t)
	for _, client := range t.clients {
		t.demandReachable(client)
	}
	return nil
}

// demandReachable demands that all that came of an adapter is where faults strike. Of
// one that has ended the next request tells.
func (t *trial) demandReachable(c *Client) {
	select {
	case <-c.proc.Done():
		return
	default:
	}
	what, err := c.strays()
	t.must(err)
	if what != "" {
		t.must(c.conn.Break("%s", what))
	}
}

// end ends all clients.
func (t *trial) end() {
	for _, c := range t.clients {
		c.stop()
	}
	t.clients = nil
}

// moment is the time limit of a call that is meant to run out of time. Three of
// them fit into a lease.
func (t *trial) moment() time.Duration { return min(longestMoment, t.bench.TTL/5) }

// said is the end of the exchange.
func (t *trial) said() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.exchange[max(0, len(t.exchange)-shown):])
}

// note adds a line to the exchange.
func (t *trial) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.exchange = append(t.exchange, fmt.Sprintf("%9.3f s  %s", monotime.Since(t.began).Seconds(),
		fmt.Sprintf(format, args...)))
}

// line is what a client and its adapter say to each other.
func (t *trial) line(client string, sent bool, text string) {
	if t.bench.Trace != nil {
		t.bench.Trace(client, sent, text)
	}
	const most = 400
	if len(text) > most {
		text = text[:most] + "…"
	}
	arrow := "←"
	if sent {
		arrow = "→"
	}
	t.note("%s %s %s", client, arrow, text)
}

// client returns the nth client (from 1), started if it is not there.
func (t *trial) client(n int) *Client {
	for len(t.clients) < n {
		c, err := t.bench.Start(t.ctx, t.line)
		if c != nil {
			t.clients = append(t.clients, c)
		}
		t.must(err)
	}
	return t.clients[n-1]
}

// without takes the client out of those that are kept.
func (t *trial) without(c *Client) {
	t.clients = slices.DeleteFunc(t.clients, func(o *Client) bool { return o == c })
	c.stop()
}

func (t *trial) key() string {
	t.keys++
	return fmt.Sprintf("k%d", t.keys)
}

// says is what the adapter declares.
func (t *trial) says() adapter.Declaration { return t.client(1).Says }

// leased reports whether a grant runs out by itself.
func (t *trial) leased() bool {
	s := t.says()
	return s.Validity != "session" && !s.NoExpiry
}

// losses counts the lost-events of all clients.
func (t *trial) losses() (n int) {
	for _, c := range t.clients {
		c.mu.Lock()
		for _, h := range c.events {
			if h.Kind == adapter.EventLost {
				n++
			}
		}
		c.mu.Unlock()
	}
	return n
}

// overtaken ends this run of the check if a lease that began at since may be
// over: its holder may have lost it to another.
func (t *trial) overtaken(since int64) {
	if t.leased() && monotime.Since(since) >= t.bench.TTL {
		t.note("a lease of %v was over: once more", t.bench.TTL)
		panic(again{})
	}
}
