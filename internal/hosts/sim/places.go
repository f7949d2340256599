package sim

// Act is what happens at a Place: a host call by its name, or one of these.
type Act string

// The acts that are no host calls.
const (
	// Sent and Received: a segment leaves its sender, or has come.
	Sent     Act = "sent"
	Received Act = "received"
	// Woken: a program that polls goes on.
	Woken Act = "woken"
	// Asked: a client's worker is handed a command.
	Asked Act = "asked"
)

// Place is an instant of a World at which the state of a host changes. A fault that strikes at the
// instant, and was scheduled before, is in effect before the change.
type Place struct {
	At   int64 // virtual time, ns
	Host string
	Act  Act
	// Peer is the other end of a segment's link; Empty: the segment begins or refuses a connection.
	Peer  string
	Empty bool
	// Event is the number, from 1, of the event that changes it among those that waited when the
	// instant began; 0: something caused the change within the instant.
	Event int
}

// Places has fn called from now on for every place; nil: for none any more.
func (w *World) Places(fn func(Place)) { w.places = fn }

// Note tells of a place on the host.
func (h *Host) Note(act Act) {
	if h.w.places != nil {
		h.w.places(Place{At: h.w.now, Host: h.Name, Act: act, Event: h.w.event()})
	}
}

// note tells of a place of a segment, as one of its ends sees it.
func (p *pipe) note(at, peer *Host, act Act, s *Segment) {
	if w := at.w; w.places != nil {
		w.places(Place{At: w.now, Host: at.Name, Act: act, Peer: peer.Name, Empty: len(s.Bytes) == 0,
			Event: w.event()})
	}
}
