package sim

import (
	"strings"
	"testing"
)

// second is another connection to the same Redis.
func (x *wired) second() *wired {
	first := x.s
	s := &socket{in: first.in, node: first.node, connected: true}
	s.back = pipe{link: first.back.link, conn: 2, broken: s.reset, in: first.in}
	s.peer = s.node.server.accept(s)
	s.node.sockets = append(s.node.sockets, s)
	return &wired{x.World, s}
}

// come is what has come on a connection by itself.
func (x *wired) come() string {
	_ = x.Run(func() bool { return len(x.events) == 0 })
	text := string(x.s.received)
	x.s.unread -= len(text)
	x.s.drop()
	return text
}

// TestPublish: a message comes to those that subscribe to its channel, whether it is published by a
// command, by a script or in a transaction, and to nobody who has unsubscribed or gone.
func TestPublish(t *testing.T) {
	x := wire(t)
	hears, left := x.second(), x.second()
	for _, one := range []*wired{hears, left} {
		if got := one.ask(t, "SUBSCRIBE", "freed", "other"); !strings.HasPrefix(got, "*3\r\n$9\r\nsubscribe\r\n$5\r\nfreed\r\n:1\r\n") {
			t.Fatalf("%q", got)
		}
	}
	const message = "*3\r\n$7\r\nmessage\r\n$5\r\nfreed\r\n$1\r\nk\r\n"
	publishes := func(want string, args ...string) {
		t.Helper()
		if got := x.ask(t, args...); !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", args, got, want)
		}
	}
	heard := func(times int) {
		t.Helper()
		if got := hears.come(); got != strings.Repeat(message, times) {
			t.Errorf("%q, want %d messages", got, times)
		}
	}
	publishes(":2\r\n", "PUBLISH", "freed", "k")
	heard(1)
	left.s.reset()
	publishes(":1\r\n", "EVAL", "return redis.call('PUBLISH', 'freed', 'k')", "0")
	heard(1)
	publishes("OK", "MULTI")
	publishes("QUEUED", "PUBLISH", "freed", "k")
	heard(0)
	publishes("*1\r\n:1\r\n", "EXEC")
	heard(1)
	publishes(":0\r\n", "PUBLISH", "nobody's", "k")
	if got := hears.ask(t, "GET", "k"); !strings.HasPrefix(got, "-ERR Can't execute 'GET'") {
		t.Errorf("a command of a connection with subscriptions: %q", got)
	}
	if got := hears.ask(t, "MULTI"); !strings.HasPrefix(got, "-ERR Can't execute 'MULTI'") {
		t.Errorf("a transaction of a connection with subscriptions: %q", got)
	}
	if got := hears.ask(t, "EVAL", "return redis.call('SET', 'k', '1')", "0"); !strings.HasPrefix(got, "-ERR Can't execute 'EVAL'") {
		t.Errorf("a script of a connection with subscriptions: %q", got)
	}
	if got := hears.ask(t, "PING"); got != "*2\r\n$4\r\npong\r\n$0\r\n\r\n" {
		t.Errorf("%q", got)
	}
	if got := hears.ask(t, "UNSUBSCRIBE"); strings.Count(got, "unsubscribe") != 2 {
		t.Errorf("%q", got)
	}
	publishes(":0\r\n", "PUBLISH", "freed", "k")
	heard(0)
	if got := hears.ask(t, "EVAL", "return 1", "0"); got != ":1\r\n" { // MULTI was refused: nothing is queued
		t.Errorf("a script when nothing is subscribed to: %q", got)
	}
	if got := hears.ask(t, "GET", "k"); got != "$-1\r\n" {
		t.Errorf("a command when nothing is subscribed to: %q", got)
	}
	if got := x.ask(t, "EVAL", "return redis.pcall('SUBSCRIBE', 'freed')", "0"); !strings.Contains(got, "not allowed from script") {
		t.Errorf("%q", got)
	}
}
