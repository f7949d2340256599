package conformance

import (
	"context"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/internal/hosts"
)

// patience bounds what must come: even an abandoned lock has expired within it.
func (t *trial) patience() (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.ctx, t.bench.TTL+2*t.slack)
}

func killedHolder(t *trial) {
	b, key := t.client(1), t.key()
	a := t.client(2)
	t.granted(a, key)
	t.kill(a)
	r := t.acquire(b, key, t.bench.TTL+t.slack)
	if !r.OK {
		t.leftOrWrong(adapter.OpAcquire, r, "A lease must expire, and a session end, soon after its TTL of "+
			t.bench.TTL.String()+" (ttl_ms of the hello): is it given to the service? A lock whose lease can't be set says how long it is: lease_ms.",
			"the holder of %s was killed, and %v later %s still was not granted: %s", key,
			r.took().Round(time.Millisecond), b.name, answered(r))
	}
	t.release(newGrant(b, key, r))
}

// kill kills a client for good.
func (t *trial) kill(c *Client) {
	ctx, cancel := t.patience()
	defer cancel()
	c.conn.Expect()
	t.must(c.proc.Kill(ctx))
	t.note("%s is killed", c.name)
	t.without(c)
}

// stop stops a client. The returned function lets it go on, once.
func (t *trial) stop(c *Client) (thaw func()) {
	ctx, cancel := t.patience()
	defer cancel()
	stop, err := c.proc.Stop(ctx)
	t.must(err)
	t.note("%s is stopped (SIGSTOP)", c.name)
	return sync.OnceFunc(func() {
		t.must(stop.Resume())
		t.note("%s goes on", c.name)
	})
}

// frozenHolder stops the holder until another has the key, as a long garbage collection would.
func frozenHolder(t *trial) {
	a, b, c, key := t.client(1), t.client(2), t.client(3), t.key()
	old := t.granted(a, key)
	thaw := t.stop(a)
	r := t.acquire(b, key, t.bench.TTL+t.slack)
	thaw()
	if !r.OK {
		t.leftOrWrong(adapter.OpAcquire, r,
			`Give the TTL of the hello to the service. A lock whose lease can't be set says how long it is (lease_ms), and one that never expires while its holder lives says that: "no_expiry": true.`,
			"the holder of %s was frozen, and %v later, its TTL being %v, %s still was not granted: %s", key,
			r.took().Round(time.Millisecond), t.bench.TTL, b.name, answered(r))
	}
	next := newGrant(b, key, r)
	// it had to wait for the end of the other lease
	next.since = max(next.since, old.sent+int64(t.bench.TTL))
	why := "after " + b.name + " had been granted it"
	t.learns(old)
	for _, op := range []string{adapter.OpHeld, adapter.OpRenew} {
		if a.Says.Does(op) {
			t.notConfirmed(op, old, next, why)
		}
	}
	t.notConfirmed(adapter.OpRelease, old, next, why)
	// What the loser did must not have touched the new hold.
	if r := t.acquire(c, key, t.moment()); r.OK {
		t.overtaken(next.since)
		t.fail("A release must free only what is this grant's own: compare before you delete.",
			"%s had been granted %s; then the stale release of %s freed it, and %s was granted it as well", b.name, key,
			a.name, c.name)
	}
	t.release(next)
	t.release(t.granted(a, key)) // the loser can go on
}

// notConfirmed demands that an op on a lost grant is not answered as if it
// stood. Where the new lease may be over too, who holds is open.
func (t *trial) notConfirmed(op string, old, next grant, why string) {
	a := t.on(op, old, t.slack)
	if !a.OK {
		return
	}
	if confirms(op)(t) != "" {
		if op != adapter.OpRelease { // one that is too late is mere tidying
			t.proves(op, old, why)
		}
		return
	}
	t.overtaken(next.since)
	t.fail("Ask the service, and compare. "+promised+"What it does not promise must not be among confirms: "+
		`now "confirms" is `+list(old.client.Says.Confirms)+".",
		"%s says ok to %s of %s %s", old.client.name, op, old.key, why)
}

// learns demands the lost-event that a session promises.
func (t *trial) learns(old grant) {
	s := old.client.Says
	if s.Validity != "session" || s.LostGrace == 0 {
		return
	}
	if within := s.LostGrace + t.slack/2; !old.client.toldOf(old.key, old.ID, within) {
		t.fail(`Send {"event":"lost","key":…} as soon as the session is known to be over. `+promised+
			"Only if it does not promise it leave lost_grace_ms out.",
			"the session of %s is over, and it did not tell within %v (it declares lost_grace_ms %d)", old.client.name,
			within, s.LostGrace.Milliseconds())
	}
}

// endedSession has the service end the session that came with a grant: another
// is granted the key, and the loser can go on under a new one.
func endedSession(t *trial) {
	a, b, key := t.client(1), t.client(2), t.key()
	old := t.granted(a, key)
	ctx, cancel := t.patience()
	defer cancel()
	ended, err := t.bench.Expire(ctx, a.host.Addr, old.Session)
	t.must(err)
	if len(ended) == 0 {
		t.fail(`"session" must be the number of the session (etcd: of the lease) that the grant belongs to, and for ZooKeeper its password.`,
			"%s was granted %s with session %#x, and the service knows of no such session", a.name, key,
			uint64(old.Session.ID))
	}
	t.note("%s", ended[0])
	r := t.acquire(b, key, t.bench.TTL+t.slack)
	if !r.OK {
		t.leftOrWrong(adapter.OpAcquire, r, "A grant must end with the session that it comes with.",
			"the session of the holder of %s was ended, and %v later %s still was not granted: %s",
			key, r.took().Round(time.Millisecond), b.name, answered(r))
	}
	t.learns(old)
	t.release(newGrant(b, key, r))
	again := t.granted(a, key)
	if again.Session.ID == old.Session.ID {
		t.fail("Tell the new session when the old one has ended.",
			"%s was granted %s again with session %#x, which has ended", a.name, key, uint64(old.Session.ID))
	}
	t.release(again)
}

// cutOffHolder stops every node of the service until the holder's lock has told
// of its loss by its own clock.
func cutOffHolder(t *trial) {
	a := t.client(1)
	g := t.granted(a, t.key())
	thaw := t.freeze()
	defer thaw()
	if within := t.bench.TTL + a.Says.LostGrace + t.slack/2; !a.toldOf(g.key, g.ID, within) {
		t.fail(`Count a TTL from the sending of the last renewal that was answered, and send {"event":"lost","key":…} when it is over. `+promised+`Only if it does not promise it declare "notices": "undisturbed".`,
			"the service has not answered %s for %v, and its lock told of no loss (it declares notices alone, lost_grace_ms %d)", a.name, within, a.Says.LostGrace.Milliseconds())
	}
	t.without(a)
}

// frozenService stops every node of the service in the middle of things.
// Whatever was asked may be carried out when it goes on.
func frozenService(t *trial) {
	a, b, free := t.client(1), t.client(2), t.key()
	t.release(t.granted(b, free)) // it is connected, so that what it asks is sent
	g := t.granted(a, t.key())
	thaw := t.freeze()
	defer thaw()
	acquired := t.acquire(b, free, t.moment())
	released := t.on(adapter.OpRelease, g, t.moment())
	thaw()
	t.open(b.name+": acquire", acquired)
	t.open(a.name+": release", released)
	// What the open calls left ends by itself, or else with its client, and everyone can go on.
	if a.Says.NoExpiry {
		t.kill(a)
		t.kill(b)
	}
	for _, key := range []string{free, g.key} {
		for n := 3; n > 0; n-- {
			t.release(t.granted(t.client(n), key))
		}
	}
}

// freeze stops the service. The returned function lets it go on, once.
func (t *trial) freeze() (thaw func()) {
	ctx, cancel := t.patience()
	defer cancel()
	var stops []*hosts.Pause
	done := false
	thaw = func() {
		if done {
			return
		}
		done = true
		for _, s := range stops {
			t.must(s.Resume())
		}
		t.note("the service goes on")
	}
	for _, h := range t.bench.Hosts {
		s, err := h.Stop(ctx)
		if err != nil {
			thaw()
			t.must(err)
		}
		stops = append(stops, s)
	}
	t.note("the service is frozen (SIGSTOP)")
	return thaw
}

// closes demands that an adapter ends when it is told to, and leaves nothing running.
func closes(t *trial) {
	c := t.client(1)
	t.release(t.granted(c, t.key()))
	t.ends(c)
}

// ends closes an adapter.
func (t *trial) ends(c *Client) {
	t.demandReachable(c)
	a := t.ask(c, adapter.Request{Op: adapter.OpClose, TimeoutMS: t.slack.Milliseconds()})
	if !a.OK {
		t.fail("", "it said %s to close", answered(a))
	}
	c.conn.Expect()
	t.must(c.in.Close())
	t.note("%s: end of its standard input", c.name)
	ctx, cancel := context.WithTimeout(t.ctx, t.slack)
	defer cancel()
	select {
	case <-c.proc.Done():
	case <-ctx.Done():
		t.fail("End when standard input ends. Threads of a library may keep the process alive: exit explicitly.",
			"it did not end within %v of close and the end of its standard input", t.slack)
	}
	left, err := c.host.PIDs()
	t.must(err)
	if len(left) > 0 {
		t.fail("End what the adapter has started before it ends itself.", "it ended and left %d processes running",
			len(left))
	}
	t.without(c)
}

func list(words []string) string {
	text := "["
	for i, w := range words {
		if i > 0 {
			text += ", "
		}
		text += w
	}
	return text + "]"
}
