package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxLine bounds a line, so that a file of another kind does not fill the memory. An event
// with the longest evidence is far below it. The header names all keys, and may be longer.
const (
	maxLine   = 1 << 20
	maxHeader = 64 << 20
)

var (
	errLongLine = longerThan(maxLine)
	errAfterEnd = errors.New("a line after the end event")
)

func longerThan(bytes int) error { return fmt.Errorf("line longer than %d bytes", bytes) }

func miscounted(said, counted int64) error {
	return fmt.Errorf("the end event counts %d events, the file has %d: lines are missing or were added", said, counted)
}

// SyntaxError says where a history can't be understood.
type SyntaxError struct {
	File         string
	Line, Column int // 1-based; Column 0: the whole line
	Near         string
	Err          error
}

func (e *SyntaxError) Error() string {
	where := fmt.Sprintf("%s:%d", e.File, e.Line)
	if e.Column > 0 {
		where += fmt.Sprintf(":%d", e.Column)
	}
	if e.Near == "" {
		return fmt.Sprintf("%s: %v", where, e.Err)
	}
	return fmt.Sprintf("%s: %v, near %q", where, e.Err, e.Near)
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// Reader reads a history event by event, in bounded memory.
type Reader struct {
	Header Header
	Keys   []string

	name      string
	in        *bufio.Reader
	keys      keyNames
	line      int
	events    int64
	ended     bool
	truncated bool
	blockSize int // of Each
}

// readAhead is how much is read from the file at a time.
const readAhead = 1 << 16

// NewReader reads the header, of a plain history or of one compressed by Zstandard. Name is for
// error messages. A history cut inside its header has nothing to judge by: that is an error.
func NewReader(r io.Reader, name string) (*Reader, error) {
	in, err := Decompressed(bufio.NewReaderSize(r, readAhead), name)
	if err != nil {
		return nil, err
	}
	rd := &Reader{name: name, in: in, blockSize: blockSize}
	longest := maxLine
	if begin, _ := in.Peek(1); len(begin) > 0 && begin[0] == '{' {
		longest = maxHeader
	}
	line, whole, err := rd.nextUpTo(longest)
	switch {
	case errors.Is(err, io.EOF):
		return nil, &SyntaxError{File: name, Line: 1,
			Err: errors.New("empty file: a history begins with a header line")}
	case err != nil:
		return nil, err
	case !whole:
		return nil, &SyntaxError{File: name, Line: 1,
			Err: errors.New("cut inside the header line: nothing can be judged without it")}
	}
	rd.Header, rd.Keys, err = parseHeader(line)
	if err != nil {
		return nil, rd.syntax(line, err)
	}
	rd.keys = newKeyNames(rd.Keys)
	return rd, nil
}

// Read fills in the next event. It returns io.EOF at the end of the history;
// Truncated then reports whether the End event was missing or the last line cut.
func (r *Reader) Read(e *Event) error {
	line, whole, err := r.next()
	if err != nil {
		if errors.Is(err, io.EOF) && !r.ended {
			r.truncated = true
		}
		return err
	}
	if r.ended {
		return r.syntax(line, errAfterEnd)
	}
	if err := r.parse(line, e); err != nil {
		if !whole { // the writer was stopped in the middle of this line
			r.truncated = true
			return io.EOF
		}
		return r.syntax(line, err)
	}
	if e.Type == End {
		if e.Seq != r.events {
			return r.syntax(line, miscounted(e.Seq, r.events))
		}
		r.ended = true
	}
	r.events++
	return nil
}

// parse reads one line, which has no newline: by hand, or if that gives up, as
// the JSON that it may be.
func (r *Reader) parse(line []byte, e *Event) error {
	if parseLine(line, 0, &r.keys, e) != len(line) {
		var err error
		if *e, err = parseEvent(line, r.keys.ids); err != nil {
			return err
		}
	}
	return r.Header.Claims.checkAsked(e)
}

// Truncated tells, after io.EOF, whether the history was cut.
func (r *Reader) Truncated() bool { return r.truncated }

// Line is the number of the line last read.
func (r *Reader) Line() int { return r.line }

// next returns the next line without its newline; whole is false when the newline is missing.
func (r *Reader) next() (line []byte, whole bool, err error) { return r.nextUpTo(maxLine) }

// nextUpTo is next of a line that may be so many bytes long.
func (r *Reader) nextUpTo(longest int) (line []byte, whole bool, err error) {
	r.line++
	line, err = r.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := append([]byte(nil), line...)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) <= longest {
			line, err = r.in.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
		if len(line) > longest {
			return nil, false, r.syntax(line, longerThan(longest))
		}
	}
	if errors.Is(err, io.EOF) {
		if len(line) == 0 {
			r.line--
			return nil, false, io.EOF
		}
		return line, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read %s: %w", r.name, err)
	}
	return line[:len(line)-1], true, nil
}

func (r *Reader) syntax(line []byte, err error) error {
	out := &SyntaxError{File: r.name, Line: r.line, Err: err}
	offset := int64(0)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	var word *wordError
	switch {
	case errors.As(err, &word):
		offset = int64(word.column(line))
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	case errors.Is(err, io.ErrUnexpectedEOF):
		offset = int64(len(line))
	}
	if offset > 0 {
		out.Column = int(offset)
		from, to := max(0, out.Column-20), min(len(line), out.Column+10)
		out.Near = string(line[min(from, len(line)):to])
	} else {
		out.Near = string(line[:min(len(line), 60)])
	}
	return out
}

// ReadFile reads a whole history file into memory. Where there is none of that
// name, but one that was compressed since (Compressed), it reads that.
func ReadFile(path string) (*History, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if small, e := os.Open(path + Compressed); e == nil {
			f, err, path = small, nil, path+Compressed
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	defer f.Close()
	return ReadAll(f, path)
}

// ReadAll reads a whole history into memory. Name is for error messages.
func ReadAll(in io.Reader, name string) (*History, error) {
	r, err := NewReader(in, name)
	if err != nil {
		return nil, err
	}
	h := &History{Header: r.Header, Keys: r.Keys}
	err = r.Each(func(events []Event) error {
		h.Events = append(h.Events, events...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	h.Truncated, h.Line = r.Truncated(), r.Line()
	return h, nil
}
