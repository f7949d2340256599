package formats

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// splitJSON takes blocks of JSON apart: usual objects of one line itself, and
// all else with values and encoding/json.
type splitJSON struct {
	jsonRows
	scanner
	in *bufio.Reader
}

func newSplitJSON(r jsonRows) *splitJSON {
	s := &splitJSON{jsonRows: r, in: bufio.NewReader(nil)}
	s.scanner.rows = &s.jsonRows.Members
	return s
}

// errCut: a block ends in the middle of an object. Its border was none, since
// something before it is wrong.
var errCut = errors.New("a block ends in the middle of an object")

// cutBlock says how many bytes of such a block were understood.
type cutBlock struct{ until int }

func (c *cutBlock) Error() string { return errCut.Error() }

// untilCut hands out a block, and tells its end from the end of the log.
type untilCut struct {
	rest []byte
	more bool
}

func (u *untilCut) Read(p []byte) (int, error) {
	if len(u.rest) == 0 && u.more {
		return 0, errCut
	}
	if len(u.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

// values reads values from a place on; at its line 1 and column 1 the log begins.
func (s *splitJSON) values(in io.Reader, at value) *values {
	s.in.Reset(in)
	f := newValues(s.in, s.file, false)
	f.line, f.column = at.line, at.column-1
	f.begun = at.line > 1 || at.column > 1
	return f
}

func (s *splitJSON) split(w *words.Worker, b block) error {
	if s.list {
		return s.all(w, s.values(&untilCut{b.data, b.more}, value{line: b.line, column: 1}))
	}
	line, counted := b.line, 0
	for at := 0; ; {
		at += len(b.data[at:]) - len(bytes.TrimLeft(b.data[at:], " \t\r\n\f"))
		if at == len(b.data) {
			return nil
		}
		line += bytes.Count(b.data[counted:at], []byte("\n"))
		counted = at
		text, _, _ := bytes.Cut(b.data[at:], []byte("\n"))
		if object := bytes.TrimRight(text, " \t\r"); s.object(w, object) && w.Quick(line) {
			s.note(w)
			at += len(text)
			continue
		}
		if banner(text) {
			if bytes.IndexByte(text, 0) >= 0 {
				s.tear(w, text, line, errZeros)
			} else {
				w.Skip(text, line)
			}
			at += len(text)
			continue
		}
		behind, _, _ := bytes.Cut(bytes.TrimLeft(b.data[at+len(text):], " \t\r\n"), []byte("\n"))
		if (b.more || len(behind) > 0) && isTorn(text, behind) {
			s.tear(w, text, line, errHalf)
			at += len(text)
			continue
		}
		n, err := s.careful(w, b, at, line)
		if err != nil && !b.more && BegunObject(bytes.TrimSpace(b.data[at:])) {
			s.tear(w, text, line, errHalf)
			return nil // the log ends within an object
		}
		if err != nil {
			if errors.Is(err, errCut) {
				return &cutBlock{at}
			}
			return err
		}
		at += n
	}
}

// tear leaves out a piece of an object, of which the first line is given.
func (s *splitJSON) tear(w *words.Worker, text []byte, line int, err error) {
	w.Tear(line, &history.SyntaxError{File: s.file, Line: line, Column: 1,
		Near: remarks.Excerpt(string(bytes.TrimSpace(text))), Err: err})
}

// banner reports whether a line between objects is none in JSON: what a program
// or its runtime prints besides.
func banner(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && line[0] != '{' && !json.Valid(line)
}

// careful reads the object that stands at an offset of a block, and returns how long it is.
func (s *splitJSON) careful(w *words.Worker, b block, at, line int) (int, error) {
	from := &untilCut{b.data[at:], b.more}
	f := s.values(from, value{line: line, column: at - bytes.LastIndexByte(b.data[:at], '\n')})
	got, err := f.next()
	if err != nil {
		return 0, err
	}
	n := len(b.data) - at - len(from.rest) - s.in.Buffered()
	return n, s.value(w, f, got)
}

// all understands what values there are.
func (s *splitJSON) all(w *words.Worker, f *values) (err error) {
	for err == nil {
		err = s.some(w, f)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// some understands as many values as a block may have.
func (s *splitJSON) some(w *words.Worker, f *values) error {
	for !w.Full() {
		got, err := f.next()
		if err != nil {
			return err
		}
		if s.object(w, got.text) && w.Quick(got.line) {
			s.note(w)
			continue
		}
		if err := s.value(w, f, got); err != nil {
			return err
		}
	}
	return nil
}

// value understands a value with all that may be wrong with it.
func (s *splitJSON) value(w *words.Worker, f *values, got value) error {
	var m map[string]any
	if err := decodeJSON(f, got, &m); err != nil {
		return err
	}
	if m == nil {
		return f.wrong(got, "", errors.New("a line of a log is an object"))
	}
	names, texts, err := s.Texts(m)
	if several, ok := errors.AsType[*severalValues](err); ok {
		return f.wrong(got, quoted(innermost(m, several.member)), err)
	}
	out := words.Row{Line: got.line, Text: texts, Messages: func() (messages []string) {
		if !words.MayTell(got.text) {
			return nil
		}
		line := map[string]string{}
		flatten(line, "", m)
		for name, text := range line {
			if words.IsMessage(name) && name != names[words.FieldEvent] {
				messages = append(messages, text)
			}
		}
		return messages
	}}
	for i, name := range names {
		if name == "" {
			continue
		}
		w.Uses(words.Field(i), name)
		if where, ok := errors.AsType[*history.SyntaxError](f.wrong(got, quoted(innermost(m, name)), errCut)); ok &&
			where.Line == out.Line {
			out.Columns[i] = where.Column
		}
	}
	return w.Add(&out)
}

// note notes the members that the object was read by.
func (s *splitJSON) note(w *words.Worker) {
	for f, name := range s.used {
		if name != "" {
			w.Uses(words.Field(f), name)
		}
	}
}
