package formats

import (
	"bytes"
	"encoding/csv"
	"errors"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// splitCSV takes blocks of CSV apart: usual lines itself, and with encoding/csv
// what has quotes in or newlines between its quotes.
type splitCSV struct {
	*csvRows
	fields []int                 // the fields of each column, as bits
	starts [words.FieldCount]int // where the fields of a line begin
	csvReader
}

func newSplitCSV(r *csvRows) *splitCSV {
	s := &splitCSV{csvRows: r, fields: make([]int, len(r.names)),
		csvReader: csvReader{comma: r.comma, columns: r.columns}}
	for f, i := range r.index {
		if i >= 0 {
			s.fields[i] |= 1 << f
		}
	}
	return s
}

func (s *splitCSV) split(w *words.Worker, b block) error {
	for at, line := 0, b.line; at < len(b.data); line++ {
		n := firstLine(b.data[at:])
		text := bytes.TrimRight(b.data[at:at+n], "\r\n")
		var err error
		switch {
		case len(bytes.TrimSpace(text)) == 0:
		case n > maxRecord:
			return s.endless(block{data: b.data[at : at+maxRecord], line: line})
		case s.headsAgain(text):
			w.Head(line)
		case !s.quick(w, text):
			n, err = s.careful(w, block{data: b.data[at:], line: line})
			line += max(bytes.Count(b.data[at:at+n], []byte("\n"))-1, 0)
		case w.Quick(line):
		default:
			err = w.Row(line, &s.starts, func() []string {
				record, _, _, _ := s.next(text)
				return s.messages(record)
			})
		}
		if at += n; err != nil && !b.tears(w, at-n, at, err) {
			return err
		}
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
	record, in, n, err := s.next(b.data)
	if err != nil {
		return n, s.torn(w, block{data: b.data[:n], line: b.line}, err)
	}
	out := words.Row{Line: b.line, Messages: func() []string { return s.messages(record) }}
	for f, i := range s.index {
		if i >= 0 {
			out.Text[f] = strings.TrimSpace(record[i])
			_, out.Columns[f] = in.FieldPos(i)
		}
	}
	return n, w.Add(&out)
}

// messages are the texts of a record that may tell of a lock.
func (s *splitCSV) messages(record []string) (texts []string) {
	for i, text := range record[:min(len(record), len(s.names))] {
		if words.IsMessage(s.names[i]) && i != s.index[words.FieldEvent] {
			texts = append(texts, text)
		}
	}
	return texts
}

// torn leaves out a line that is no whole record.
func (s *splitCSV) torn(w *words.Worker, line block, err error) error {
	wrong, ok := errors.AsType[*history.SyntaxError](wrongCSV(s.file, line, err))
	text := bytes.TrimSpace(line.data)
	switch {
	case !ok:
		return err
	case s.banner(text):
		w.Skip(text, line.line)
		return nil
	case errors.Is(wrong.Err, csv.ErrQuote) && wrong.Column > len(text):
		wrong.Column, wrong.Err = bytes.LastIndexByte(line.data, '"')+1, errOpenQuote
	}
	w.Tear(line.line, wrong)
	return nil
}

var errOpenQuote = errors.New("a quote that is not closed")

// banner reports whether a line is several words and certainly no piece of a record. A
// piece without a separator is the beginning of one, with its time, or its last value.
func (s *splitCSV) banner(text []byte) bool {
	return s.timeFirst && !startsWithDigit(string(text)) && bytes.ContainsAny(text, " \t") &&
		!bytes.ContainsAny(text, "\"\x00"+string(s.comma))
}
