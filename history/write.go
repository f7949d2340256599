package history

import (
	"bufio"
	"fmt"
	"io"
)

// Encoder writes a history to a file, in the order in which it is given: for
// histories that nobody records while they happen (see Recorder for those).
type Encoder struct {
	out    io.Writer
	keys   []string
	line   []byte
	events int64
}

// NewEncoder writes the header. Each line is a write of its own: out is best buffered.
func NewEncoder(out io.Writer, header Header, keys []string) (*Encoder, error) {
	line, err := MarshalHeader(header, keys)
	if err != nil {
		return nil, err
	}
	e := &Encoder{out: out, keys: keys, line: line}
	return e, e.write()
}

// Encode writes an event. An End event counts what was written before it, whatever it says itself.
func (e *Encoder) Encode(event *Event) (err error) {
	if event.Type == End {
		counted := *event
		counted.Seq = e.events
		event = &counted
	}
	if e.line, err = AppendEvent(e.line[:0], e.keys, event); err != nil {
		return err
	}
	e.events++
	return e.write()
}

func (e *Encoder) write() error {
	if _, err := e.out.Write(e.line); err != nil {
		return fmt.Errorf("history: write: %w", err)
	}
	return nil
}

// Encode writes a whole history as a file of it: the header and a line for each
// event. What was truncated reads as truncated again, since it has no End event.
func (h *History) Encode(w io.Writer) error {
	out := bufio.NewWriter(w)
	enc, err := NewEncoder(out, h.Header, h.Keys)
	if err != nil {
		return err
	}
	for i := range h.Events {
		if err := enc.Encode(&h.Events[i]); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("history: write: %w", err)
	}
	return nil
}
