package conformance

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
)

// hello is the check that all others need, and granting the one without which
// they would tell the same again.
const (
	hello    = "says hello"
	granting = "grants a free key, and takes it back"
)

// promised begins an advice about a claim: to take it back would hide what was found.
const promised = "If the library promises this, that is a defect of the library: leave the claim, and the runs will show what comes of it. "

// checks are in the order in which an author meets them.
var checks = []check{
	{name: hello, run: greets},
	{name: "declares that an op is unsupported", run: unsupported},
	{name: granting, run: grants},
	{name: "tells when its attempts began", run: grants, applies: stamped},
	{name: "answers held", run: standing(adapter.OpHeld), applies: can(adapter.OpHeld)},
	{name: "answers renew", run: standing(adapter.OpRenew), applies: can(adapter.OpRenew)},
	{name: "refuses a second release", run: secondRelease, applies: confirms(adapter.OpRelease)},
	{name: "excludes a second client", run: exclusion, applies: exclusive},
	{name: "lets readers in together, and a writer alone", run: readers, applies: readWrite},
	{name: "keeps keys apart", run: keys},
	{name: "takes several keys together or none", run: severalKeys, applies: multiKey},
	{name: "hands the key over", run: handover, applies: exclusive},
	{name: "has tokens that rise", run: tokens, applies: fencing},
	{name: "leaves nothing behind when it gives up", run: givenUp, applies: exclusive},
	{name: "gives up a wait when it is told to", run: canceledWait, applies: canceled},
	{name: "dies with its holder", run: killedHolder, applies: exclusive, loses: true},
	{name: "loses what expired while it was frozen", run: frozenHolder, applies: expires, loses: true},
	{name: "tells the session that the service knows", run: endedSession, applies: tellsSessions, loses: true},
	{name: "notices by its own clock that it is cut off", run: cutOffHolder, applies: noticesAlone, loses: true},
	{name: "leaves open what a frozen service did not answer", run: frozenService, applies: hasService, loses: true},
	{name: "closes and ends", run: closes},
}

func exclusive(t *trial) string {
	if t.says().Permits > 1 {
		return "it is for exclusive locks"
	}
	return ""
}

func readWrite(t *trial) string {
	if !t.says().ReadWrite {
		return "the lock declares no readers"
	}
	return ""
}

func multiKey(t *trial) string {
	if t.says().MultiKey < 2 {
		return "the lock does not declare that one acquire may ask for several keys"
	}
	return ""
}

func expires(t *trial) string {
	if t.says().NoExpiry {
		return "the lock declares that it never expires"
	}
	return exclusive(t)
}

func fencing(t *trial) string {
	if t.says().Token != "fencing" {
		return "the lock declares no fencing tokens"
	}
	return ""
}

func can(op string) func(*trial) string {
	return func(t *trial) string {
		if s := t.says(); !s.Does(op) {
			return "the adapter does not say that it can"
		}
		return ""
	}
}

func canceled(t *trial) string {
	if why := can(adapter.OpCancel)(t); why != "" {
		return why
	}
	return exclusive(t)
}

func confirms(op string) func(*trial) string {
	return func(t *trial) string {
		for _, c := range t.says().Confirms {
			if c == op {
				return ""
			}
		}
		return "the adapter does not say that an ok confirms the hold"
	}
}

// stamped says which stamps the last grant came without, and what that costs.
// They are not demanded.
func stamped(t *trial) string {
	var missing string
	switch {
	case t.last.Attempt == 0 && t.last.First == 0:
		missing = "attempt_ns and first_ns"
	case t.last.Attempt == 0:
		missing = "attempt_ns"
	case t.last.First == 0:
		missing = "first_ns"
	default:
		return ""
	}
	return "grants come without " + missing + ": the checker counts from the request, so it misses dead grants, " +
		"and it cannot tell which of two clients that waited at the same time was granted the key first"
}

func noticesAlone(t *trial) string {
	if t.says().Notices != "alone" {
		return "the lock does not declare that it notices a loss alone"
	}
	return hasService(t)
}

func tellsSessions(t *trial) string {
	switch {
	case !t.says().Sessions:
		return "the lock does not declare that it tells its sessions"
	case t.bench.Expire == nil:
		return "the service has no sessions that can be ended"
	}
	return exclusive(t)
}

func hasService(t *trial) string {
	if len(t.bench.Hosts) == 0 {
		return "there is no service"
	}
	return ""
}

// greets learns what the adapter declares. Where the user gave no TTL, all that
// follows goes by a lease that can't be set.
func greets(t *trial) {
	told := cmp.Or(t.bench.TTL, t.bench.Usual)
	c := t.client(1)
	if why := c.Says.Mismatch(t.bench.Kind); why != "" {
		t.must(c.conn.Break("%s", why))
	}
	ttl, err := c.Says.TTL(t.bench.TTL)
	t.must(err)
	if t.bench.TTL = cmp.Or(ttl, told); t.bench.TTL != told {
		t.aside = fmt.Sprintf("its lease can't be set, so the TTL is %v from now on", ttl)
		t.end() // it was told another TTL
	}
}

func unsupported(t *trial) {
	c := t.client(1)
	ops := []string{"frobnicate"}
	for _, op := range []string{adapter.OpHeld, adapter.OpRenew} {
		if !c.Says.Does(op) {
			ops = append(ops, op)
		}
	}
	for _, op := range ops {
		a := t.ask(c, adapter.Request{Op: op, Key: t.key(), TimeoutMS: t.slack.Milliseconds()})
		if a.OK || a.Error != adapter.Unsupported {
			t.fail(`Answer every op that the adapter does not know, or did not declare with "can" or "confirms", with the error "unsupported".`,
				"asked for %s, which it does not declare, it said %s", op, answered(a))
		}
	}
}

func grants(t *trial) {
	c, key := t.client(1), t.key()
	for range 3 {
		t.release(t.soon(c, key, "nobody held it"))
	}
}

// standing demands that an op is answered ok while the grant stands, and refused when it does not.
func standing(op string) func(*trial) {
	return func(t *trial) {
		g := t.granted(t.client(1), t.key())
		if a := t.on(op, g, t.slack); !a.OK {
			t.overtaken(g.since)
			t.leftOrWrong(op, a, "", "it was granted %s and still holds it, and says %s to %s", g.key, answered(a), op)
		}
		t.release(g)
		t.refused(op, g, "after its release")
	}
}

func secondRelease(t *trial) {
	g := t.granted(t.client(1), t.key())
	t.release(g)
	t.refused(adapter.OpRelease, g, "for the second time")
}

func exclusion(t *trial) {
	a, b, key := t.client(1), t.client(2), t.key()
	g := t.granted(a, key)
	t.busy(b, key, g.since)
	t.release(g)
	g = t.granted(b, key)
	t.busy(a, key, g.since)
	t.release(g)
}

// readers lets two readers hold a key together. Neither holds it beside a writer.
func readers(t *trial) {
	a, b, c, key := t.client(1), t.client(2), t.client(3), t.key()
	g := t.grantedAs(a, key, true)
	second := t.acquireAs(b, key, true, t.moment()+t.slack)
	if !second.OK {
		t.overtaken(g.since)
		t.leftOrWrong(adapter.OpAcquire, second,
			`Grant a key to every acquire of mode "read" while only readers hold it. `+promised+
				"Only if its readers are meant to exclude each other do not declare read_write.",
			"%s was not granted %s as a reader beside another reader: %s", b.name, key, answered(second))
	}
	h := newGrant(b, key, second)
	t.busy(c, key, max(g.since, h.since))
	t.release(g)
	t.busy(c, key, h.since)
	t.release(h)
	g = t.granted(c, key)
	t.busyAs(a, key, true, g.since)
	t.busy(b, key, g.since)
	t.release(g)
	t.release(t.grantedAs(a, key, true)) // what gave up has left nothing behind
	t.release(t.granted(b, key))
}

func keys(t *trial) {
	a, b := t.client(1), t.client(2)
	one := t.granted(a, t.key())
	other := t.soon(b, t.key(), "another key was taken, and this one was free")
	third := t.soon(a, t.key(), "its client held another key, and this one was free")
	for _, g := range []grant{one, other, third} {
		t.release(g)
	}
}

// severalKeys has a client take two keys in one acquire. Each of them is then taken, a set
// with one of them is refused and leaves nothing behind, and one release gives both back.
func severalKeys(t *trial) {
	a, b, c := t.client(1), t.client(2), t.client(3)
	first, second, third := t.key(), t.key(), t.key()
	both := t.acquireBoth(a, first, second, t.bench.TTL+t.slack)
	if !both.OK {
		t.leftOrWrong(adapter.OpAcquire, both, `Grant the keys of an acquire ("keys") if all of them are free.`,
			"%s asked for %s and %s together, which nobody holds, and was not granted them: %s", a.name, first, second,
			answered(both))
	}
	g := newGrant(a, first, both)
	t.busy(b, second, g.since)
	if refused := t.acquireBoth(b, third, second, t.moment()); refused.OK {
		t.overtaken(g.since)
		t.fail(`Grant the keys of an acquire ("keys") together, or none.`,
			"%s was granted %s and %s together, while another client held %s", b.name, third, second, second)
	}
	t.release(t.soon(c, third, "it was asked for together with a key that was taken; what was refused must leave nothing behind"))
	t.release(g)
	t.release(t.soon(c, second, "it was granted together with another key, and the release of that grant gives both back"))
}

// acquireBoth asks for two keys in one acquire.
func (t *trial) acquireBoth(c *Client, first, second string, within time.Duration) answer {
	return t.ask(c, adapter.Request{Op: adapter.OpAcquire, Key: first, Keys: []string{first, second},
		TimeoutMS: within.Milliseconds()})
}

// handover lets one client wait until another releases.
func handover(t *trial) {
	a, b, key := t.client(1), t.client(2), t.key()
	for range 3 {
		t.handOver(a, b, key)
	}
}

func (t *trial) handOver(a, b *Client, key string) {
	g := t.granted(a, key)
	result := make(chan any, 1)
	var next grant
	go func() {
		defer func() { result <- recover() }()
		next = t.granted(b, key)
	}()
	answered := sync.OnceValue(func() any { return <-result })
	// whatever ends this run of the check: the next must not find the waiter still asking
	defer answered()
	t.release(g)
	released := time.Now()
	if p := answered(); p != nil {
		panic(p)
	}
	if took := time.Since(released); took > t.bench.TTL/2+t.slack/2 {
		t.fail("A waiter should ask often, or be woken.", "%s waited for %s, and was granted it %v after its release",
			b.name, key, took.Round(time.Millisecond))
	}
	t.release(next)
}

func tokens(t *trial) {
	key := t.key()
	var before grant
	for i := range 6 {
		g := t.granted(t.client(1+i%2), key)
		if i > 0 && g.Token <= before.Token {
			t.fail(`A fencing token must rise with every grant of a key, whoever is granted. `+promised+
				`Only if it is meant for telling grants apart declare "owner" or "version".`,
				"%s was granted %s with token %d, after %s had been granted it with %d", g.client.name, key, g.Token,
				before.client.name, before.Token)
		}
		before = g
		t.release(g)
	}
}

// givenUp lets a waiter run out of time. It lives on, and with it whatever it
// may have left in a queue.
func givenUp(t *trial) {
	a, b, c, key := t.client(1), t.client(2), t.client(3), t.key()
	g := t.granted(a, key)
	sure := t.busy(b, key, g.since)
	t.release(g)
	if !sure {
		return // it may have left something behind, and says so
	}
	for range 5 {
		t.release(t.soon(c, key, b.name+
			" had asked for it, had run out of time and said busy: has it left something behind?"))
	}
	t.release(t.soon(b, key, "nobody held it"))
}

// canceledWait gives up a wait long before its time is over. The waiter lives
// on, and with it whatever it may have left in a queue.
func canceledWait(t *trial) {
	a, b, c, key := t.client(1), t.client(2), t.client(3), t.key()
	g := t.granted(a, key)
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	moment := time.AfterFunc(t.moment(), cancel)
	defer moment.Stop()
	r, err := b.askUntil(ctx, adapter.Request{Op: adapter.OpAcquire, Key: key, Mode: b.Says.Asks(false),
		TimeoutMS: (t.bench.TTL + 3*t.slack).Milliseconds()})
	t.must(err)
	switch {
	case r.OK:
		t.overtaken(g.since)
		t.fail("This is no lock: two clients hold it, and nothing was disturbed.",
			"%s was granted %s while another client held it", b.name, key)
	case r.took() > t.moment()+t.slack/2:
		t.late("Read standard input while an acquire is under way, and give the wait up when a line with its id and op cancel comes; or leave \"cancel\" out of \"can\".",
			"%s was told after %v to give up its wait for %s, and answered after %v", b.name, t.moment(), key,
			r.took().Round(time.Millisecond))
	}
	if r.Error != adapter.Busy {
		t.leftOrWrong(adapter.OpAcquire, r, "", "%s gave up its wait for %s, and said %s", b.name, key, answered(r))
	}
	t.release(g)
	for range 3 {
		t.release(t.soon(c, key, b.name+" had given up its wait for it, and said busy: has it left something behind?"))
	}
	t.release(t.soon(b, key, "nobody held it"))
}
