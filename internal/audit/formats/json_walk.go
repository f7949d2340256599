package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
)

// walkJSON walks through values of JSON of any size, and decodes only those of
// some paths, such as "data[].spans[]".
type walkJSON struct {
	file string
	in   *lineCounter
	d    *json.Decoder
	take map[string]func(raw []byte, line int) error
	end  map[string]func() error // what is to be done behind a value
}

func newWalkJSON(in io.Reader, file string) *walkJSON {
	w := &walkJSON{file: file, in: &lineCounter{in: in, line: 1}, take: map[string]func([]byte, int) error{},
		end: map[string]func() error{}}
	w.d = json.NewDecoder(w.in)
	w.d.UseNumber()
	return w
}

// document walks through the next value of the file. io.EOF: there is none;
// io.ErrUnexpectedEOF: the file ends within it.
func (w *walkJSON) document() error {
	if !w.d.More() { // of the outermost level, so the file ends
		if _, err := w.d.Token(); err != nil {
			return w.wrong(err)
		}
	}
	err := w.value("", 0)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// value walks through a value.
func (w *walkJSON) value(path string, depth int) error {
	if take := w.take[path]; take != nil {
		var raw json.RawMessage
		if err := w.d.Decode(&raw); err != nil {
			return w.wrong(err)
		}
		line, _ := w.in.place(w.d.InputOffset() - int64(len(raw)))
		if err := take(raw, line); err != nil {
			return err
		}
	} else if err := w.inside(path, depth); err != nil {
		return err
	}
	if end := w.end[path]; end != nil {
		return end()
	}
	return nil
}

// inside walks through a value's elements or members.
func (w *walkJSON) inside(path string, depth int) error {
	token, err := w.d.Token()
	if err != nil {
		return w.wrong(err)
	}
	open, brackets := token.(json.Delim)
	if !brackets {
		return nil
	}
	if depth == maxDepth {
		return w.wrong(fmt.Errorf("more than %d brackets in each other", maxDepth))
	}
	for w.d.More() {
		inner := path + "[]"
		if open == '{' {
			name, err := w.d.Token()
			if err != nil {
				return w.wrong(err)
			}
			inner = fmt.Sprint(name)
			if path != "" {
				inner = path + "." + inner
			}
		}
		if err := w.value(inner, depth+1); err != nil {
			return err
		}
	}
	if _, err := w.d.Token(); err != nil {
		return w.wrong(err)
	}
	return nil
}

// wrong gives an error its place.
func (w *walkJSON) wrong(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	line, column := w.in.place(w.d.InputOffset())
	if failed := w.in.failed; failed != nil {
		return fmt.Errorf("read %s: %w", w.file, failed)
	}
	return &history.SyntaxError{File: w.file, Line: line, Column: column, Err: err}
}

// lineCounter knows the lines of what is read, up to places that are asked for in order.
type lineCounter struct {
	in     io.Reader
	read   int64
	ends   []int64 // of lines, behind the last place
	line   int
	begin  int64 // of that line
	failed error
}

func (c *lineCounter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	for i, b := range p[:n] {
		if b == '\n' {
			c.ends = append(c.ends, c.read+int64(i))
		}
	}
	c.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.failed = err
	}
	return n, err
}

// place is the line and the column of an offset.
func (c *lineCounter) place(offset int64) (line, column int) {
	for len(c.ends) > 0 && c.ends[0] < offset {
		c.line++
		c.begin = c.ends[0] + 1
		c.ends = c.ends[1:]
	}
	return c.line, int(max(offset-c.begin, 0)) + 1
}

// inRaw finds the lines of values within one that was read.
type inRaw struct {
	raw  []byte
	at   int
	line int
}

// of is the line of the next value.
func (r *inRaw) of(one []byte) int {
	if i := bytes.Index(r.raw[r.at:], one); i > 0 {
		r.line += bytes.Count(r.raw[r.at:r.at+i], []byte("\n"))
		r.at += i
	}
	return r.line
}

// wrongRecord says that a record that begins on a line is wrong.
func wrongRecord(file string, line int, raw []byte, err error) error {
	near, _, _ := bytes.Cut(raw, []byte("\n"))
	return &history.SyntaxError{File: file, Line: line, Near: remarks.Excerpt(string(near)), Err: err}
}
