package sim

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Link is one direction between two hosts.
type Link struct {
	From, To *Host
	// Cut counts the faults that let nothing pass. Delay is added to each segment, Jitter at most
	// on top; Loss is the probability of a segment to be lost, Double that of one to be sent twice.
	Cut           int
	Delay, Jitter time.Duration
	Loss, Double  float64
	// Detour is added to each segment but for those that overtake the others: each with the
	// probability Overtake.
	Detour   time.Duration
	Overtake float64
	// Trap, if set, is asked about each segment before it leaves.
	Trap func(*Segment) Verdict
	Counts
	draws  *rand.Rand
	steady bool
}

// Counts are how many segments met what on a link: lost or cut, made late by Delay or Detour, not
// made late by Detour, sent twice.
type Counts struct{ Dropped, Late, Ahead, Doubled int }

// Less returns how many more these are than those before.
func (c Counts) Less(before Counts) Counts {
	return Counts{c.Dropped - before.Dropped, c.Late - before.Late, c.Ahead - before.Ahead, c.Doubled - before.Doubled}
}

// Plus returns the sum.
func (c Counts) Plus(o Counts) Counts {
	return Counts{c.Dropped + o.Dropped, c.Late + o.Late, c.Ahead + o.Ahead, c.Doubled + o.Doubled}
}

// Verdict is what a trap does with a segment.
type Verdict uint8

// The verdicts. A segment that is held leaves when Segment.Release is called; what follows it on
// its connection waits for it.
const (
	Pass Verdict = iota
	Hold
	Break // the connection is reset, and the segment is lost
)

// Segment is what is sent at once on one connection.
type Segment struct {
	// Conn tells connections apart, and is the same for both directions.
	Conn int64
	// Bytes are what is sent; none of the start of a connection.
	Bytes   []byte
	deliver func()
	pipe    *pipe
	passed  bool // a trap has seen it
}

// Release lets a segment go that is held.
func (s *Segment) Release() {
	s.passed = true
	s.pipe.stuck = false
	s.pipe.try(0)
}

// Link returns the link from one host to another.
func (w *World) Link(from, to *Host) *Link {
	key := [2]*Host{from, to}
	l := w.links[key]
	if l == nil {
		l = &Link{From: from, To: to, draws: w.Stream("link " + from.Name + " " + to.Name),
			steady: w.steady[LinkDraws(from.Name, to.Name)] || w.steady[LinkDraws(to.Name, from.Name)]}
		w.links[key] = l
	}
	return l
}

// The latency of a network in one rack.
const (
	latencyLeast = 50 * time.Microsecond
	latencyMore  = 200 * time.Microsecond
)

func (l *Link) latency() time.Duration {
	d := latencyLeast + time.Duration(drawn(l.draws, int64(latencyMore), l.steady))
	switch {
	case l.Detour <= 0:
	case l.draws.Float64() < l.Overtake:
		l.Ahead++
	default:
		l.Late++
		d += l.Detour
	}
	if l.Delay > 0 {
		l.Late++
		d += l.Delay
		if l.Jitter > 0 {
			d += time.Duration(l.draws.Int64N(2*int64(l.Jitter)+1)) - l.Jitter
		}
	}
	return max(d, latencyLeast)
}

// TCP's times for repeating what is not acknowledged.
const (
	repeatFirst   = 200 * time.Millisecond
	repeatLongest = 120 * time.Second
	handshake     = time.Second
)

func repeatAfter(first time.Duration, n int) time.Duration {
	for range n {
		if first *= 2; first >= repeatLongest {
			return repeatLongest
		}
	}
	return first
}

// lost reports whether a segment that leaves now is lost.
func (l *Link) lost() bool {
	if l.Cut > 0 || l.Loss > 0 && l.draws.Float64() < l.Loss {
		l.Dropped++
		return true
	}
	return false
}

// doubled reports whether a segment that leaves now is sent twice.
func (l *Link) doubled() bool {
	if l.Double > 0 && l.draws.Float64() < l.Double {
		l.Doubled++
		return true
	}
	return false
}

// pipe is one direction of a connection: it keeps the order, and repeats what is lost.
type pipe struct {
	link   *Link
	conn   int64
	queue  []*Segment
	busy   bool // a repetition is under way
	stuck  bool // a trap holds the first of the queue
	last   int64
	broken func() // resets the connection
	closed bool
	first  time.Duration // until the first repetition; 0: repeatFirst
	in     *Instance     // whose connection it is; nil: it is none of a program
}

func (p *pipe) send(bytes []byte, deliver func()) {
	if p.closed {
		return
	}
	p.hold(len(bytes))
	p.queue = append(p.queue, &Segment{Conn: p.conn, Bytes: bytes, deliver: deliver, pipe: p})
	if !p.busy && !p.stuck {
		p.try(0)
	}
}

// try sends what is queued, for the n-th time.
func (p *pipe) try(n int) {
	w := p.link.From.w
	p.busy = false
	for len(p.queue) > 0 && !p.closed {
		s := p.queue[0]
		if p.link.Trap != nil && !s.passed {
			switch p.link.Trap(s) {
			case Hold:
				p.tell(p.link.From, "held", s)
				p.stuck = true
				return
			case Break:
				p.tell(p.link.From, "broken off", s)
				p.broken()
				return
			}
			s.passed = true
		}
		if p.link.lost() {
			p.tell(p.link.From, "lost", s)
			p.busy = true
			first := p.first
			if first == 0 {
				first = repeatFirst
			}
			w.After(repeatAfter(first, n), func() { p.try(n + 1) })
			return
		}
		what := "sent"
		if p.link.doubled() {
			what = "sent twice" // the receiver's TCP has the first already, and drops the copy
		}
		p.tell(p.link.From, what, s)
		p.note(p.link.From, p.link.To, Sent, s)
		p.queue = p.queue[1:]
		// after the one before it: the order within an instant is drawn
		p.last = max(p.last+1, w.now+int64(p.link.latency()))
		w.push(event{at: p.last, fn: func() {
			p.hold(-len(s.Bytes))
			if !p.closed {
				p.tell(p.link.To, "received", s)
				p.note(p.link.To, p.link.From, Received, s)
				s.deliver()
			}
		}})
	}
}

// tell has a segment traced, as one of its ends sees it.
func (p *pipe) tell(who *Host, what string, s *Segment) {
	if w := p.link.From.w; w.trace != nil {
		w.trace(w.now, who.Name, fmt.Sprintf("%s %s>%s #%d %d bytes %.200q", what, p.link.From.Name, p.link.To.Name,
			s.Conn, len(s.Bytes), s.Bytes))
	}
}

// hold counts what is on its way for a program.
func (p *pipe) hold(n int) {
	if p.in != nil {
		p.in.w.hold(n, p.in)
	}
}

func (p *pipe) close() {
	for _, s := range p.queue {
		p.hold(-len(s.Bytes))
	}
	p.closed, p.queue = true, nil
}

// Channel is an ordered connection between two hosts for messages that are functions: what the
// protected store is asked, and answers.
type Channel struct{ there, back *pipe }

// Channel connects two hosts.
func (w *World) Channel(a, b *Host) *Channel {
	w.seq++
	c := &Channel{}
	id := -int64(w.seq)
	c.there = &pipe{link: w.Link(a, b), conn: id, broken: c.Close}
	c.back = &pipe{link: w.Link(b, a), conn: id, broken: c.Close}
	return c
}

// Ask has deliver called at the other end. The text is what traps see.
func (c *Channel) Ask(text string, deliver func()) { c.there.send([]byte(text), deliver) }

// Answer has deliver called at this end.
func (c *Channel) Answer(text string, deliver func()) { c.back.send([]byte(text), deliver) }

// Close ends the connection: what is on its way is lost.
func (c *Channel) Close() {
	c.there.close()
	c.back.close()
}

// Closed reports whether the connection has ended.
func (c *Channel) Closed() bool { return c.there.closed }
