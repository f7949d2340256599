package history

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Recorder appends events to a history as they happen.
//
// Record stamps the event and puts it in order under one lock, so that the order of
// lines and the order of stamps are the same and an op's driver may send as soon as
// Record of its invocation returns. One goroutine writes: it takes what has gathered
// since its last write, so a slow disk makes longer writes, not slower clients. It rests
// for a moment after each write, since waking it for each event takes longer than the event.
type Recorder struct {
	clock  func() int64
	origin int64
	keys   []string

	mu     sync.Mutex
	buf    []byte
	spare  []byte
	events int64
	closed bool
	err    error

	wake   chan struct{}
	ending chan struct{}
	failed chan struct{}
	done   chan struct{}
}

// rest is how long the writer lets events gather: nobody who follows a run notices.
const rest = 5 * time.Millisecond

// NewRecorder writes the header line to w and starts the writer. Clock is the
// monotonic clock (ns); events are stamped relative to h.Origin.
func NewRecorder(w io.Writer, h Header, keys []string, clock func() int64) (*Recorder, error) {
	line, err := MarshalHeader(h, keys)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(line); err != nil {
		return nil, fmt.Errorf("write history header: %w", err)
	}
	r := &Recorder{clock: clock, origin: h.Origin, keys: keys, wake: make(chan struct{}, 1),
		ending: make(chan struct{}), failed: make(chan struct{}), done: make(chan struct{})}
	go r.write(w)
	return r, nil
}

// Record stamps e.Time, when it is 0, and appends the event. It returns the stamp. What is
// recorded after Close or Stop is dropped. An error of the file shows at Failed and at Close:
// a harness that can't write its history has no result, but it must still heal its faults.
func (r *Recorder) Record(e Event) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Time == 0 {
		e.Time = r.clock() - r.origin
	}
	if !r.closed && r.err == nil {
		r.append(&e)
	}
	return e.Time
}

// append encodes an event and wakes the writer. The caller holds the lock.
func (r *Recorder) append(e *Event) {
	buf, err := AppendEvent(r.buf, r.keys, e)
	if err != nil {
		r.fail(err)
		return
	}
	r.buf = buf
	r.events++
	select {
	case r.wake <- struct{}{}:
	default: // the writer has been told already
	}
}

// fail keeps the first error. The caller holds the lock.
func (r *Recorder) fail(err error) {
	if r.err == nil {
		r.err = err
		close(r.failed)
	}
}

// Failed is closed when the history can't be written any more; Close tells why.
func (r *Recorder) Failed() <-chan struct{} { return r.failed }

// Now is the recorder's clock: ns since the history's origin.
func (r *Recorder) Now() int64 { return r.clock() - r.origin }

// Relative turns a stamp of the monotonic clock into one of the history; 0 stays 0 (not known).
func (r *Recorder) Relative(stamp int64) int64 {
	if stamp == 0 {
		return 0
	}
	return stamp - r.origin
}

// Close appends the End event, waits until all is written and returns the first
// error that the recorder met.
func (r *Recorder) Close() error { return r.end(true) }

// Stop waits until all is written, and leaves the history without its End
// event: what was recorded of a run that failed.
func (r *Recorder) Stop() error { return r.end(false) }

// end closes the recorder. The End event counts the events before it, so both
// happen under one lock.
func (r *Recorder) end(complete bool) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return errors.New("history: recorder closed twice")
	}
	if complete && r.err == nil {
		r.append(&Event{Time: r.clock() - r.origin, Type: End, Seq: r.events})
	}
	r.closed = true
	close(r.ending)
	r.mu.Unlock()
	<-r.done
	if r.err != nil {
		return fmt.Errorf("write history: %w", r.err)
	}
	return nil
}

func (r *Recorder) write(w io.Writer) {
	defer close(r.done)
	defer r.flush(w)
	for {
		select {
		case <-r.wake:
			r.flush(w)
		case <-r.ending:
			return
		}
		select {
		case <-time.After(rest):
		case <-r.ending:
			return
		}
	}
}

func (r *Recorder) flush(w io.Writer) {
	r.mu.Lock()
	full := r.buf
	r.buf, r.spare = r.spare[:0], nil
	r.mu.Unlock()
	var err error
	if len(full) > 0 {
		_, err = w.Write(full)
	}
	r.mu.Lock()
	r.spare = full
	if err != nil {
		r.fail(err)
	}
	r.mu.Unlock()
}
