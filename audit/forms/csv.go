package forms

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/audit/remarks"
	"github.com/lockchaos/lockchaos/audit/words"
	"github.com/lockchaos/lockchaos/history"
)

// csvRows is a CSV file with a header line, separated by commas, semicolons or tabs.
type csvRows struct {
	file  string
	comma rune
	names []string
	index [words.FieldCount]int // the column of each field; -1: none
}

// CSV is a log in CSV.
const CSV Format = "csv"

// openCSV reads the names of the columns.
func openCSV(f *File, c *cutter, head []byte) (rows, error) {
	g := f.Lines.Columns
	r := &csvRows{file: f.Name, comma: separator(head)}
	c.border = r.border
	b, n, err := r.heading(c)
	if errors.Is(err, io.EOF) {
		err = &history.SyntaxError{File: r.file, Line: 1, Err: errors.New("empty file: a log in CSV begins with the names of its columns")}
	}
	if err != nil {
		return nil, err
	}
	first := b.data[:n]
	if err := g.Choose(sampleCSV(head, r.comma, r.names)); err != nil {
		return nil, &history.SyntaxError{File: r.file, Line: 1, Column: 1, Near: remarks.Excerpt(strings.TrimSpace(string(first))), Err: err}
	}
	r.index = g.Indexes(r.names)
	b.data, b.line = b.data[n:], b.line+bytes.Count(first, []byte("\n"))
	c.held = &b
	return r, nil
}

// heading reads the first record, and returns the block that it begins and how long it is.
func (r *csvRows) heading(c *cutter) (b block, n int64, err error) {
	for {
		if b, err = c.next(); errors.Is(err, errNoBorder) {
			return b, 0, r.endless(b)
		} else if err != nil {
			return b, 0, err
		}
		in := csv.NewReader(bytes.NewReader(b.data))
		in.Comma = r.comma
		r.names, err = in.Read()
		switch {
		case errors.Is(err, io.EOF): // empty lines only
		case err != nil:
			return b, 0, wrongCSV(r.file, b, err)
		default:
			return b, in.InputOffset(), nil
		}
	}
}

// separator is what occurs most in the first line.
func separator(head []byte) rune {
	line, _, _ := strings.Cut(string(head), "\n")
	best := ','
	for _, c := range ";\t" {
		if strings.Count(line, string(c)) > strings.Count(line, string(best)) {
			best = c
		}
	}
	return best
}

func (r *csvRows) has(f words.Field, _ *words.Found) bool { return r.index[f] >= 0 }

func (r *csvRows) border(data []byte) int { return lastRecord(data) }

func (r *csvRows) splitter() splitter { return newSplitCSV(r) }

// endless says that the record is too long: it is of the field that is too long, unless the quotes are wrong.
func (r *csvRows) endless(b block) error {
	closed := b.data
	if bytes.Count(closed, []byte(`"`))%2 != 0 {
		closed = append(slices.Clip(closed), '"')
	}
	in := csv.NewReader(bytes.NewReader(closed))
	in.Comma = r.comma
	if _, err := in.Read(); err != nil {
		return wrongCSV(r.file, b, err)
	}
	return b.tooLong(r.file, lastField(b.data, byte(r.comma)), "a record")
}

// lastField is where the field begins in which data ends.
func lastField(data []byte, comma byte) (at int) {
	within := false
	for i, c := range data {
		switch {
		case c == '"':
			within = !within
		case !within && (c == comma || c == '\n'):
			at = i + 1
		}
	}
	return at
}

// wrongCSV gives an error of the CSV reader its place in the log and the offending line.
func wrongCSV(file string, b block, err error) error {
	parse, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return err
	}
	near := b.data
	for range parse.Line - 1 {
		_, near, _ = bytes.Cut(near, []byte("\n"))
	}
	near, _, _ = bytes.Cut(near, []byte("\n"))
	return &history.SyntaxError{File: file, Line: b.line + parse.Line - 1, Column: max(parse.Column, 1), Near: remarks.Excerpt(strings.TrimSpace(string(near))), Err: parse.Err}
}
