package netfault

// Bounds are when a call's last request left, and when the last answer to the
// call arrived, as monotime.Now counts. 0: not seen.
type Bounds struct{ Sent, Came int64 }

// exchanged follows what a host and its servers say to each other during one
// call. It takes TCP segments that bear data, in the order of their stamps.
type exchanged struct {
	since int64
	// conn is the connection on which the host has asked; several: it was not the only one.
	conn    Connection
	several bool
	asked   int64 // when the last request left
	bounds  Bounds
	// by is the connection of the last answer; open: a request has left since.
	by   Connection
	open bool
	// ends are behind the last byte that the host has sent on each connection:
	// what lies before is sent again.
	ends map[Connection]uint32
}

// begin begins a call.
func (t *exchanged) begin(at int64) {
	*t = exchanged{since: at, ends: t.ends}
}

// note takes a packet of the host's to a server, or back.
func (t *exchanged) note(p *Packet) {
	c := p.Connection()
	switch {
	case p.Flags&(FlagFIN|FlagRST|FlagSYN) != 0 && !HasPayload(p):
		delete(t.ends, c)
	case !p.TCP || !HasPayload(p):
	case p.Dir == In:
		t.by, t.open = c, false
		t.bounds = Bounds{Sent: t.asked, Came: p.At}
	case t.fresh(c, p):
		t.several = t.several || t.conn != Connection{} && t.conn != c
		t.conn, t.asked, t.open = c, p.At, true
	}
}

// fresh reports whether a segment bears what the host has not sent before.
func (t *exchanged) fresh(c Connection, p *Packet) bool {
	end, known := t.ends[c]
	if known && !before(end, p.end()) {
		return false
	}
	if t.ends == nil { // of a host that speaks before its first call
		t.ends = map[Connection]uint32{}
	}
	t.ends[c] = p.end()
	return true
}

// end returns the bounds of a call that ended at an instant. The last answer counts
// only if it came within the call. The last request counts only if it was the last
// thing that the host said, on the one connection on which it spoke and was
// answered: anything else may have been said after what the call asked for was done.
func (t *exchanged) end(at int64) Bounds {
	b := t.bounds
	if b.Came <= t.since || b.Came > at {
		return Bounds{}
	}
	if t.several || t.open || t.by != t.conn {
		b.Sent = 0
	}
	return b
}
