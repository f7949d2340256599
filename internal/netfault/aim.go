package netfault

import (
	"bytes"
	"time"
)

// Is reports whether a packet is one that is aimed at.
type Is func(p *Packet) bool

// HasPayload reports whether a packet bears data, and not only an acknowledgement
// or the start or the end of a connection.
func HasPayload(p *Packet) bool { return len(p.Payload) > 0 }

// Contains is true of packets whose payload contains the text: a key, a value, a command.
func Contains(text string) Is {
	return func(p *Packet) bool { return bytes.Contains(p.Payload, []byte(text)) }
}

// Hold holds the next packet that is aimed at, and lets all others pass: those
// behind it overtake it. It is held for the given time at the most; 0 means until
// Release. (The queue drops retransmissions of a TCP segment that it holds.)
func Hold(is Is, longest time.Duration) Decide {
	struck := false
	return func(p *Packet) Fate {
		if struck || !is(p) {
			return Fate{}
		}
		struck = true
		return Fate{Hold: true, Delay: longest}
	}
}

// Reply reports whether a packet that comes back is a reply that is aimed at.
// nil: any packet with a payload is.
type Reply func(request, reply *Packet) bool

// RedisYes is true of Redis's replies that say that something was done: no nil,
// no number below 1, no error. Replies to what is no Redis command pass for yes.
func RedisYes(request, reply *Packet) bool {
	if !bytes.HasPrefix(request.Payload, []byte("*")) {
		return true
	}
	for _, no := range []string{"$-1", "*-1", "_", ":0", ":-", "-"} {
		if bytes.HasPrefix(reply.Payload, []byte(no)) {
			return false
		}
	}
	return true
}

// exchange follows requests that are aimed at to their replies, one at a time.
type exchange struct {
	request Is
	reply   Reply
	asked   *Packet // the request; nil: none is open
}

// asks reports whether the packet is a request to follow.
func (e *exchange) asks(p *Packet) bool {
	if e.asked != nil || !e.request(p) {
		return false
	}
	e.asked = p
	return true
}

// answered reports whether the packet is the reply that is aimed at. After
// another one, the next request is followed.
func (e *exchange) answered(p *Packet) bool {
	if e.asked == nil || !p.answers(e.asked) || !HasPayload(p) {
		return false
	}
	if e.reply != nil && !e.reply(e.asked, p) {
		e.asked = nil
		return false
	}
	return true
}

// HoldReply holds the reply to the next request that is aimed at: the first packet
// with a payload that comes back on its connection. If that is not a reply that is
// aimed at, the next request is meant. The request must pass the queue too.
func HoldReply(request Is, reply Reply, longest time.Duration) Decide {
	e := &exchange{request: request, reply: reply}
	struck := false
	return func(p *Packet) Fate {
		if struck || e.asks(p) || !e.answered(p) {
			return Fate{}
		}
		struck = true
		return Fate{Hold: true, Delay: longest}
	}
}

// Moment is when an aimed cut strikes, as the server sees it.
type Moment uint8

// The moments.
const (
	BeforeRequest Moment = iota // the request does not arrive: it had no effect
	// the request arrived and was answered, and the reply is lost: it took
	// effect, and its client cannot know
	AfterRequest
	AfterReply // the reply has arrived and was acknowledged
)

// Cutting is how an aimed cut ends a connection.
type Cutting uint8

// The ways.
const (
	Silence Cutting = iota // no packet passes any more
	// both ends learn of it at once: the host's own process gets an error, the peer a RST
	Reset
	// no data passes any more, and an end that is closed, or whose process dies, can tell the other
	Mute
)

// CutAt cuts the connection of the next request that is aimed at, at a given
// moment of it. Both directions must pass the queue.
//
// The reply is the first packet with a payload that comes back; if it is not one
// that is aimed at, the next request is meant. Where one connection carries many
// requests at once (HTTP/2, ZooKeeper), that may be another's reply: the request
// was then received by the server's kernel, but perhaps not yet carried out.
func CutAt(when Moment, request Is, reply Reply, how Cutting) Decide {
	c := &cutter{exchange: exchange{request: request, reply: reply}, when: when, how: how}
	return c.decide
}

// cutter follows one connection through a request.
type cutter struct {
	exchange
	when Moment
	how  Cutting

	replied *Packet // the last packet of the reply
	done    bool    // cut
}

func (c *cutter) decide(p *Packet) Fate {
	switch {
	case c.asks(p):
		if c.when == BeforeRequest {
			return c.cut(true)
		}
	case c.asked == nil || p.Connection() != c.asked.Connection():
	case c.done:
		return Fate{Drop: c.drops(p)}
	case c.replies(p):
		if c.when == AfterRequest {
			return c.cut(true)
		}
		c.replied = p
	case c.acknowledges(p):
		return c.cut(HasPayload(p)) // the next request may bear the acknowledgement
	}
	return Fate{}
}

// replies reports whether the packet is of the reply.
func (c *cutter) replies(p *Packet) bool {
	if c.replied == nil {
		return c.answered(p)
	}
	return p.answers(c.asked) && HasPayload(p)
}

// acknowledges reports whether the packet says that the reply has arrived.
func (c *cutter) acknowledges(p *Packet) bool {
	return c.replied != nil && !p.answers(c.asked) && p.Flags&FlagACK != 0 && !before(p.Ack, c.replied.end())
}

// drops reports whether a packet of a connection that is cut is lost. What
// resets the connection must reach its end, and an end that finds the reset's
// sequence number odd asks back with a bare acknowledgement (RFC 5961, 3.2).
func (c *cutter) drops(p *Packet) bool {
	switch c.how {
	case Reset:
		return p.Flags&FlagRST == 0 && (HasPayload(p) || p.Flags&(FlagFIN|FlagSYN) != 0)
	case Mute:
		return HasPayload(p)
	}
	return true
}

func (c *cutter) cut(drop bool) Fate {
	c.done = true
	return Fate{Drop: drop, Reset: c.how == Reset}
}
