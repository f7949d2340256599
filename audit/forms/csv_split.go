package forms

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"

	"github.com/lockchaos/lockchaos/audit/words"
)

// splitCSV takes blocks of CSV apart: usual lines itself, and with encoding/csv what has quotes in or newlines between
// its quotes.
type splitCSV struct {
	*csvRows
	fields []int                 // the fields of each column, as bits
	starts [words.FieldCount]int // where the fields of a line begin
	in     *bufio.Reader
}

func newSplitCSV(r *csvRows) *splitCSV {
	s := &splitCSV{csvRows: r, fields: make([]int, len(r.names)), in: bufio.NewReader(nil)}
	for f, i := range r.index {
		if i >= 0 {
			s.fields[i] |= 1 << f
		}
	}
	return s
}

func (s *splitCSV) split(w *words.Worker, b block) error {
	for at, line := 0, b.line; at < len(b.data); line++ {
		text, _, _ := bytes.Cut(b.data[at:], []byte("\n"))
		next := min(at+len(text)+1, len(b.data))
		text = bytes.TrimSuffix(text, []byte("\r"))
		switch {
		case len(text) == 0:
		case next-at > maxRecord || !s.quick(w, text):
			n, err := s.careful(w, block{data: b.data[at:], line: line})
			if err != nil {
				return err
			}
			next = at + n
			line += bytes.Count(b.data[at:next], []byte("\n")) - 1
		case w.Quick(line):
		default:
			if err := w.Row(line, &s.starts); err != nil {
				return err
			}
		}
		at = next
	}
	return nil
}

// quick takes a line apart without quotes in quotes, if it has as many columns as the heading.
func (s *splitCSV) quick(w *words.Worker, text []byte) bool {
	w.Fields = [words.FieldCount][]byte{}
	comma := byte(s.comma)
	at := 0
	for i, fields := range s.fields {
		value, width := text[at:], len(text)-at
		if len(value) > 0 && value[0] == '"' {
			end := bytes.IndexByte(value[1:], '"')
			if end < 0 || end+2 < len(value) && value[end+2] != comma {
				return false
			}
			value, width = value[1:end+1], end+2
		} else {
			if end := bytes.IndexByte(value, comma); end >= 0 {
				value, width = value[:end], end
			}
			if bytes.IndexByte(value, '"') >= 0 {
				return false
			}
		}
		for f := 0; fields != 0; f, fields = f+1, fields>>1 {
			if fields&1 != 0 {
				w.Fields[f], s.starts[f] = bytes.TrimSpace(value), at+1
			}
		}
		if at += width; at == len(text) {
			return i == len(s.fields)-1
		}
		at++ // the comma
	}
	return false // more columns
}

// careful reads the record that a block begins with, and returns how long it is.
func (s *splitCSV) careful(w *words.Worker, b block) (int, error) {
	s.in.Reset(bytes.NewReader(b.data))
	in := csv.NewReader(s.in)
	in.Comma, in.FieldsPerRecord = s.comma, len(s.names)
	record, err := in.Read()
	n := int(in.InputOffset())
	switch {
	case errors.Is(err, io.EOF):
		return len(b.data), nil
	case err != nil:
		return n, wrongCSV(s.file, b, err)
	case n > maxRecord:
		b.data = b.data[:maxRecord]
		return n, s.endless(b)
	}
	var out words.Row
	line, _ := in.FieldPos(0)
	out.Line = b.line + line - 1
	for f, i := range s.index {
		if i >= 0 {
			out.Text[f] = strings.TrimSpace(record[i])
			_, out.Columns[f] = in.FieldPos(i)
		}
	}
	return n, w.Add(&out)
}
