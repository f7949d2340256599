package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
)

// blockSize is how much of a file is decoded at once. Large enough that handing
// it over costs nothing, small enough that a few of them, with the events that
// are in them, stay near the processor.
const blockSize = 256 << 10

// block is a piece of a history that ends with a line.
type block struct {
	data   []byte
	events []Event
	lines  int   // that were read, the one that could not be understood included
	end    int   // which event is the first End event; -1: none
	cut    bool  // the last line lacks its newline, and is not whole
	failed bool  // the last line that was read could not be understood
	err    error // why; or why nothing more could be read from the file
	done   chan struct{}
}

// Each reads the rest of the history and calls do with its events, in order, many at a time.
// Blocks are decoded on all processors while do runs; do itself is called by one goroutine. The
// events are good until do returns. Like Read it ends at the end of the history, then Truncated
// reports whether that was cut; the first error, of do or of the history, ends it early.
func (r *Reader) Each(do func([]Event) error) error {
	workers := runtime.GOMAXPROCS(0)
	spare, work, order := make(chan *block, workers+2), make(chan *block, workers+2), make(chan *block, workers+2)
	quit := make(chan struct{})
	defer close(quit)
	for range cap(spare) {
		spare <- &block{done: make(chan struct{}, 1)}
	}
	for range workers {
		go func() {
			for b := range work {
				b.decode(r)
				b.done <- struct{}{}
			}
		}()
	}
	go r.cut(spare, work, order, quit)
	for b := range order {
		<-b.done
		if err := r.take(b, do); err != nil {
			return err
		}
		spare <- b
	}
	r.truncated = r.truncated || !r.ended
	return nil
}

// cut cuts the file into blocks, each to be decoded by somebody, all to be taken in order.
func (r *Reader) cut(spare <-chan *block, work, order chan<- *block, quit <-chan struct{}) {
	defer close(order)
	defer close(work)
	var rest []byte
	for last := false; !last; {
		var b *block
		select {
		case b = <-spare:
		case <-quit:
			return
		}
		b.data = append(b.data[:0], rest...)
		b.err = nil
		for end := -1; end < 0 && !last; {
			if len(b.data) > maxLine {
				last = true // decode will complain about the line
				break
			}
			from := len(b.data)
			b.data = grown(b.data, from+r.blockSize)
			n, err := io.ReadFull(r.in, b.data[from:])
			b.data = b.data[:from+n]
			if last = err != nil; last && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				b.err = fmt.Errorf("read %s: %w", r.name, err)
			}
			if end = bytes.LastIndexByte(b.data[from:], '\n'); end >= 0 && !last {
				end += from
				rest = append(rest[:0], b.data[end+1:]...)
				b.data = b.data[:end+1]
			}
		}
		order <- b // both have room for every block there is
		work <- b
	}
}

// grown returns a slice of n bytes that begins with what b has.
func grown(b []byte, n int) []byte {
	if n <= cap(b) {
		return b[:n]
	}
	return append(make([]byte, 0, max(n, 2*cap(b))), b...)[:n]
}

// decode reads the lines of a block. It looks at nothing of the reader that changes.
func (b *block) decode(r *Reader) {
	b.events, b.lines, b.end, b.cut, b.failed = b.events[:0], 0, -1, false, false
	for p := 0; p < len(b.data); {
		n := len(b.events)
		if n == cap(b.events) {
			b.events = append(b.events, Event{})
		}
		b.events = b.events[:n+1]
		e := &b.events[n]
		b.lines++
		next := parseLine(b.data, p, &r.keys, e)
		var err error
		if next < 0 || next-p > maxLine {
			next, err = b.slowLine(p, r, e)
		}
		if err == nil && (e.Mode != ModeNone || e.Permits != 0 || e.Set != 0 || r.Header.Claims.ReadWrite) {
			err = r.Header.Claims.checkAsked(e)
		}
		if err != nil {
			b.events = b.events[:n]
			b.cut = next == len(b.data) && len(b.data)-p <= maxLine
			if !b.cut {
				b.err, b.failed = err, true
			}
			return
		}
		if e.Type == End && b.end < 0 {
			b.end = n
		}
		p = next + 1
	}
}

// slowLine reads the line at p as JSON, and returns where it ends.
func (b *block) slowLine(p int, r *Reader, e *Event) (end int, err error) {
	end = len(b.data)
	if n := bytes.IndexByte(b.data[p:], '\n'); n >= 0 {
		end = p + n
	}
	if end-p > maxLine {
		return end, errLongLine
	}
	*e, err = parseEvent(b.data[p:end], r.keys.ids)
	return end, err
}

// take has the events of a block judged, once it is certain that they belong where they are.
func (r *Reader) take(b *block, do func([]Event) error) error {
	before := r.line
	if r.ended && b.lines > 0 {
		return r.misplaced(b, 0)
	}
	if b.end >= 0 {
		if e := &b.events[b.end]; e.Seq != r.events+int64(b.end) {
			r.line += b.end + 1
			return r.syntax(b.line(b.end), miscounted(e.Seq, r.events+int64(b.end)))
		}
		if b.lines > b.end+1 {
			return r.misplaced(b, b.end+1)
		}
		r.ended = true
	}
	r.line += b.lines
	if b.failed {
		return r.syntax(b.line(r.line-before-1), b.err)
	}
	r.events += int64(len(b.events))
	r.truncated = r.truncated || b.cut
	if err := do(b.events); err != nil {
		return err
	}
	return b.err
}

func (r *Reader) misplaced(b *block, line int) error {
	r.line += line + 1
	return r.syntax(b.line(line), errAfterEnd)
}

// line returns a line of the block, from 0, without its newline.
func (b *block) line(n int) []byte {
	rest := b.data
	for ; n > 0; n-- {
		rest = rest[bytes.IndexByte(rest, '\n')+1:]
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return line
}
