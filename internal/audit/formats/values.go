package formats

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
)

const (
	maxValue = 1 << 20 // bytes of one op
	maxDepth = 256     // brackets in brackets
)

// value is one value of a file of EDN or JSON, and where it stands.
type value struct {
	text         []byte
	line, column int
}

// values cuts a file of EDN or JSON into its outermost maps, one after the other or inside
// one vector. It knows strings, comments and brackets only: what a value means, and whether
// it is right, is for a library to say. So a file of any size is read in bounded memory, an
// error has its place in the file, and no depth of brackets reaches a recursive decoder.
type values struct {
	in           *bufio.Reader
	file         string
	edn          bool
	line, column int // of the byte read last
	newline      bool
	close        byte // what ends the vector around the values; 0: there is none
	ended        bool
	begun        bool
	buf          []byte
}

func newValues(in *bufio.Reader, file string, edn bool) *values {
	return &values{in: in, file: file, edn: edn, line: 1}
}

// next returns the next value; its text is good until the next call. io.EOF ends the file.
func (f *values) next() (value, error) {
	for {
		c, err := f.skip()
		if errors.Is(err, io.EOF) && f.close != 0 && !f.ended {
			return value{}, f.fail("", fmt.Errorf("the file ends before the %q that closes the whole", f.close))
		}
		if err != nil {
			return value{}, err
		}
		around, err := f.around(c)
		if err != nil {
			return value{}, err
		}
		if around {
			continue
		}
		got, err := f.value(c)
		if err != nil {
			return value{}, err
		}
		if !f.edn || !bytes.HasPrefix(got.text, []byte("#_")) { // EDN's way to leave a value out
			return got, nil
		}
	}
}

// around reports whether c is a bracket of the vector around all values.
func (f *values) around(c byte) (bool, error) {
	first := !f.begun
	f.begun = true
	switch {
	case first && (c == '[' || c == '(' && f.edn):
		f.close = closing(c)
	case f.ended:
		return false, f.fail(string(c), errors.New("something after the end of the whole"))
	case f.close != 0 && c == f.close:
		f.ended = true
	default:
		return false, nil
	}
	return true, nil
}

// value reads the value that begins with c.
func (f *values) value(c byte) (value, error) {
	got := value{line: f.line, column: f.column}
	f.buf = f.buf[:0]
	var open []byte // what closes the brackets that are open
	prev := byte(' ')
	for {
		f.buf = append(f.buf, c)
		if len(f.buf) > maxValue {
			return value{}, f.fail(string(f.buf[:40]), fmt.Errorf("one op of more than %d bytes", maxValue))
		}
		var err error
		if open, err = f.special(c, prev, open); err != nil {
			return value{}, err
		}
		if len(open) == 0 && f.complete(c) {
			got.text = f.buf
			return got, nil
		}
		prev = c
		if c, err = f.read(); errors.Is(err, io.EOF) {
			if len(open) > 0 {
				return value{}, (&values{file: f.file, line: got.line,
					column: got.column}).fail(string(f.buf[:min(len(f.buf), 60)]),
					fmt.Errorf("the file ends before the %q that closes this", open[len(open)-1]))
			}
			got.text = f.buf
			return got, nil
		} else if err != nil {
			return value{}, err
		}
	}
}

// special reads on where c begins a string, character or comment, and returns the open brackets.
func (f *values) special(c, prev byte, open []byte) ([]byte, error) {
	switch {
	case c == '"':
		return open, f.quoted()
	case c == '{' || c == '[' || c == '(' && f.edn:
		if open = append(open, closing(c)); len(open) > maxDepth {
			return nil, f.fail(string(c), fmt.Errorf("more than %d brackets in each other", maxDepth))
		}
	case c == '}' || c == ']' || c == ')' && f.edn:
		if len(open) == 0 || open[len(open)-1] != c {
			return nil, f.fail(string(c), errors.New("a closing bracket that closes nothing"))
		}
		open = open[:len(open)-1]
	case f.edn:
		return open, f.specialInEDN(c, prev)
	}
	return open, nil
}

func (f *values) specialInEDN(c, prev byte) error {
	switch {
	case c == '\\':
		return f.take() // a character: a bracket, perhaps
	case c == ';':
		if err := f.comment(); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		f.buf[len(f.buf)-1] = '\n'
	case c == '0' && delimits(prev):
		f.unhex()
	}
	return nil
}

// complete reports whether a value outside of brackets ends with c: a map does,
// and whatever is none at the end of its word.
func (f *values) complete(c byte) bool {
	if c == '}' || c == ']' || c == ')' || c == '"' {
		return true
	}
	next, err := f.in.Peek(1)
	if err != nil || f.edn && f.buf[0] == '#' {
		return err != nil || next[0] == '\n'
	}
	return delimits(next[0]) || next[0] == '{' || next[0] == f.close
}

func delimits(c byte) bool {
	return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == ',' || c == '[' || c == '(' || c == '{'
}

func closing(c byte) byte {
	switch c {
	case '{':
		return '}'
	case '[':
		return ']'
	}
	return ')'
}

// unhex makes a symbol of a number such as 0x1f, which Clojure prints inside of
// #object and EDN does not know.
func (f *values) unhex() {
	if next, err := f.in.Peek(1); err == nil && next[0] == 'x' {
		f.buf[len(f.buf)-1] = ' '
	}
}

// quoted reads the rest of a string.
func (f *values) quoted() error {
	for {
		if err := f.take(); err != nil {
			return err
		}
		switch f.buf[len(f.buf)-1] {
		case '\\':
			if err := f.take(); err != nil {
				return err
			}
		case '"':
			return nil
		}
		if len(f.buf) > maxValue {
			return f.fail(string(f.buf[:40]), fmt.Errorf("one op of more than %d bytes", maxValue))
		}
	}
}

// take reads a byte into the value; the file may not end there.
func (f *values) take() error {
	c, err := f.read()
	if errors.Is(err, io.EOF) {
		return f.fail(string(f.buf[max(0, len(f.buf)-40):]),
			errors.New("the file ends inside of a string or character"))
	}
	f.buf = append(f.buf, c)
	return err
}

// skip returns the first byte that is neither space nor comment.
func (f *values) skip() (byte, error) {
	for {
		c, err := f.read()
		switch {
		case err != nil:
			return 0, err
		case c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f':
		case c == ',' && (f.edn || f.close != 0):
		case f.edn && c == ';':
			if err := f.comment(); err != nil {
				return 0, err
			}
		default:
			return c, nil
		}
	}
}

func (f *values) comment() error {
	for {
		if c, err := f.read(); err != nil || c == '\n' {
			return err
		}
	}
}

func (f *values) read() (byte, error) {
	c, err := f.in.ReadByte()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			err = fmt.Errorf("read %s: %w", f.file, err)
		}
		return 0, err
	}
	if f.newline {
		f.line, f.column, f.newline = f.line+1, 0, false
	}
	f.column++
	f.newline = c == '\n'
	return c, nil
}

// fail says that the file is wrong at the byte read last.
func (f *values) fail(near string, err error) error {
	return &history.SyntaxError{File: f.file, Line: f.line, Column: max(f.column, 1), Near: remarks.Excerpt(near),
		Err: err}
}

// wrong says that a value is wrong at the first place at which it has the text,
// or at its beginning.
func (f *values) wrong(in value, text string, err error) error {
	at := 0
	if text != "" {
		at = max(0, bytes.Index(in.text, []byte(text)))
	}
	return f.wrongAt(in, at, err)
}

// wrongAt says that a value is wrong at an offset (bytes).
func (f *values) wrongAt(in value, at int, err error) error {
	at = max(0, min(at, len(in.text)))
	line, column := in.line, in.column
	before := in.text[:at]
	if n := bytes.Count(before, []byte("\n")); n > 0 {
		line, column = line+n, at-bytes.LastIndexByte(before, '\n')
	} else {
		column += at
	}
	near := in.text[at:]
	if i := bytes.IndexByte(near, '\n'); i > 0 {
		near = near[:i]
	}
	return &history.SyntaxError{File: f.file, Line: line, Column: column, Near: remarks.Excerpt(string(near)), Err: err}
}
