package conformance

import (
	"time"

	"github.com/lockchaos/lockchaos/adapter"
)

// grant is a key that a client has been granted.
type grant struct {
	client *Client
	key    string
	answer
	// since is the latest instant that is known to lie before the lease began:
	// when it was asked for, or when the attempt began.
	since int64
}

func newGrant(c *Client, key string, a answer) grant { return grant{c, key, a, max(a.sent, a.Attempt)} }

func (t *trial) ask(c *Client, r adapter.Request) answer {
	a, err := c.ask(r)
	t.must(err)
	return a
}

// acquire asks for the key, with so much time.
func (t *trial) acquire(c *Client, key string, within time.Duration) answer {
	return t.acquireAs(c, key, false, within)
}

// acquireAs asks for the key as a reader, or as a client that excludes all others.
func (t *trial) acquireAs(c *Client, key string, read bool, within time.Duration) answer {
	return t.ask(c, adapter.Request{Op: adapter.OpAcquire, Key: key, Mode: c.Says.Asks(read),
		TimeoutMS: within.Milliseconds()})
}

// granted demands that the key, which is free or will be, is granted.
func (t *trial) granted(c *Client, key string) grant {
	return t.grantedAs(c, key, false)
}

// grantedAs is granted as a reader, or as a client that excludes all others.
func (t *trial) grantedAs(c *Client, key string, read bool) grant {
	a := t.acquireAs(c, key, read, t.bench.TTL+t.slack)
	// an open answer may have been cut off; what it left is gone when a lease
	// is over, for which the next one waits
	for range 2 {
		if a.OK || adapter.Definite(adapter.OpAcquire, a.Error) {
			break
		}
		a = t.acquireAs(c, key, read, t.bench.TTL+t.slack)
	}
	if waitOn := t.tooSoon(a); waitOn != "" {
		t.fail(waitOn, "%s asked for %s, which is free or will be in time, and was not granted it: %s", c.name, key, answered(a))
	}
	if !a.OK {
		t.leftOrWrong(adapter.OpAcquire, a, "",
			"%s asked for %s three times, which nobody holds, and was not granted it: %s", c.name, key, answered(a))
	}
	t.last = a.Reply
	return newGrant(c, key, a)
}

// soon demands that a key that is free is granted without much waiting.
func (t *trial) soon(c *Client, key, why string) grant {
	g := t.granted(c, key)
	if limit := t.bench.TTL/2 + t.slack/2; g.took() > limit {
		t.late("", "%s was granted %s after %v only: %s", c.name, key, g.took().Round(time.Millisecond), why)
	}
	return g
}

// on asks about a grant.
func (t *trial) on(op string, g grant, within time.Duration) answer {
	return t.ask(g.client, adapter.Request{Op: op, Key: g.key, Grant: g.ID, TimeoutMS: within.Milliseconds()})
}

// release demands that the grant, which still stands, is taken back.
func (t *trial) release(g grant) {
	if a := t.on(adapter.OpRelease, g, t.slack); !a.OK {
		t.overtaken(g.since)
		t.leftOrWrong(adapter.OpRelease, a, "Answer ok when the service has taken it back.",
			"%s released %s, which it held: %s", g.client.name, g.key, answered(a))
	}
}

// busy demands that the key, which another holds under a grant of since, is refused,
// and in time. An open question is asked again: one attempt may have been cut off on
// a busy machine, but not every one. It reports whether it was refused definitely.
func (t *trial) busy(c *Client, key string, since int64) bool { return t.busyAs(c, key, false, since) }

// busyAs is busy as a reader, or as a client that excludes all others.
func (t *trial) busyAs(c *Client, key string, read bool, since int64) bool {
	within := t.moment()
	a := t.acquireAs(c, key, read, within)
	waited := a.took() > within/2
	for range 2 {
		if a.OK || a.Error == adapter.Busy {
			break
		}
		if !t.leased() {
			within *= 4
		}
		a = t.acquireAs(c, key, read, within)
		waited = waited || a.took() > within/2
	}
	switch {
	case a.OK:
		t.overtaken(since)
		t.fail("This is no lock: two clients hold it, and nothing was disturbed.",
			"%s was granted %s while another client held it", c.name, key)
	case a.took() > within+t.slack/3:
		t.late("Keep the time limit: timeout_ms is how long the call may take.",
			"%s answered after %v; its time limit was %v", c.name, a.took().Round(time.Millisecond), within)
	case a.Error == adapter.Busy:
		return true
	case adapter.Definite(adapter.OpAcquire, a.Error):
		t.fail("", "%s asked for %s, which another client held, and said %s", c.name, key, answered(a))
	case !waited:
		t.fail(`Nothing disturbed the service: wait until the time is over, and say "busy" then. If it is the library that fails here, that is a defect of the library: nobody can wait for its lock.`,
			"%s asked three times for %s, which another client held, and said each time, long before its time was over, %s", c.name, key, answered(a))
	}
	t.notShown(`It is always right to leave that open. But when the time is over, and the service has said clearly that another holds the key, and nothing of this attempt is left there, `+
		`say "busy": else lockchaos must assume that this client may have been granted the key.`,
		"%s asked for %s, which another client held, and said %s", c.name, key, answered(a))
	return false
}

// refused demands that an op on a grant that is gone is not confirmed, if its ok claims anything.
func (t *trial) refused(op string, g grant, why string) {
	a := t.on(op, g, t.slack)
	switch {
	case a.OK && confirms(op)(t) != "":
		t.proves(op, g, why)
	case a.OK:
		t.fail("Ask the service, not what was believed: a checker takes this ok as proof that the lock was held.",
			"%s says ok to %s of %s %s", g.client.name, op, g.key, why)
	case !adapter.Definite(op, a.Error):
		t.notShown(`It is always right to leave that open. But when the service says that it is no longer ours say "not_held".`, "%s says %s to %s of %s %s",
			g.client.name, answered(a), op, g.key, why)
	case a.Error != adapter.NotHeld:
		t.fail(`Say "not_held" when the service says that it is no longer ours.`, "%s says %s to %s of %s %s",
			g.client.name, answered(a), op, g.key, why)
	}
}

// proves notes that the adapter says ok to an op on a grant that is gone, and
// never claimed that its ok proves anything.
func (t *trial) proves(op string, g grant, why string) {
	t.notShown(`"confirms" does not have "`+op+
		`", so nothing is held against it: an ok proves nothing. If the library promises that it does, that is a defect of the library; declare it.`,
		"%s says ok to %s of %s %s", g.client.name, op, g.key, why)
}

// open demands that a call that nobody answered is an open question.
func (t *trial) open(what string, a answer) {
	if a.OK {
		t.fail("Say ok only when the service has answered.", "%s was answered ok while the service was frozen", what)
	}
	if a.Error == adapter.Busy || a.Error == adapter.NotHeld || a.Error == adapter.Unsupported {
		t.fail(`A call that was sent and not answered may have happened. Say "unknown", or any word but busy, not_held and unsupported.`,
			"%s was answered %q while the service was frozen: that says for certain that nothing happened", what,
			a.Error)
	}
	if a.took() > t.moment()+t.slack/3 {
		t.late("Give your library a time limit for every call (connect, send, receive), and keep timeout_ms.",
			"%s took %v while the service was frozen; its time limit was %v",
			what, a.took().Round(time.Millisecond), t.moment())
	}
}

// answered is a reply in words.
func answered(a answer) string {
	switch {
	case a.OK:
		return "ok"
	case a.Text != "":
		return `"` + a.Error + `" (` + a.Text + `)`
	}
	return `"` + a.Error + `"`
}
