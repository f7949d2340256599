package adapter

import (
	"encoding/json"
	"fmt"
)

// Exchange is what lockchaos and one adapter say to each other, without the pipes: it numbers
// requests, and says what each line of the adapter is. The zero value is a conversation that has
// not begun.
type Exchange struct {
	last    int64 // ID of the last request
	waiting int64 // ID of the request without an answer; 0: none
	op      string
	kind    string // of the greeting; "": it asked for a lock
	events  int
}

// NextID is the ID of the next request.
func (x *Exchange) NextID() int64 { return x.last + 1 }

// Begin numbers a request, and returns its line without the end of line.
func (x *Exchange) Begin(r *Request) ([]byte, error) {
	x.last++
	r.ID = x.last
	x.waiting, x.op, x.events = r.ID, r.Op, 0
	if r.Greeting != nil {
		x.kind = r.Kind
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return text, nil
}

// Take reads a line of the adapter: either the reply to the request that waits, or an event. The
// error completes "printed a line, which …".
func (x *Exchange) Take(text []byte) (*Reply, *Event, error) {
	l, err := parseLine(text)
	if err != nil {
		return nil, nil, err
	}
	if l.event != nil {
		if err := l.event.check(x.kind); err != nil {
			return nil, nil, err
		}
		if x.events++; x.events > maxEvents {
			return nil, nil, fmt.Errorf("is the %dth %s-event since the last request", x.events, l.event.Kind)
		}
		return nil, l.event, nil
	}
	switch {
	case l.id != x.waiting && l.id > 0 && l.id <= x.last:
		return nil, nil, fmt.Errorf("answers request %d twice", l.id)
	case l.id != x.waiting:
		return nil, nil, fmt.Errorf("answers request %d, which was never made (the last one is %d)", l.id, x.last)
	}
	reply, err := l.reply(x.op)
	if err != nil {
		return nil, nil, err
	}
	x.waiting = 0
	return &reply, nil, nil
}
