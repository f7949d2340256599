package audit

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/audit/remarks"
	"github.com/lockchaos/lockchaos/audit/words"
	"github.com/lockchaos/lockchaos/history"
)

// rows is the form of a log.
type rows interface {
	// border finds where in a piece of the log a record ends, as a cutter wants it.
	border(data []byte) int
	// endless is the error for a block that begins with a record without a border; nil: it is read without borders.
	endless(block) error
	// splitter returns what takes blocks apart, for one worker.
	splitter() splitter
	// has reports whether the log has the field at all, by what was found.
	has(words.Field, *words.Found) bool
}

// splitter takes blocks apart, and gives each row to a worker.
type splitter interface {
	split(w *words.Worker, b block) error
}

// keyless says that no column is the field key.
const keyless = "No column names the lock, so all lines are taken to be about one."

// tellColumns says what was found, now that the whole log has been read.
func tellColumns(g *words.Columns, l *log, read rows, found *words.Found) error {
	l.Add(&g.Remarks)
	if _, ok := read.(*jsonRows); ok { // a column may come late
		for f, name := range found.Used {
			if g.Named[f] != "" && g.Named[f] != words.NoColumn && g.Named[f] != words.FileColumn && name == "" {
				return &history.SyntaxError{File: l.file, Line: 1, Err: fmt.Errorf("no line has the column %q, which --map gives the field %q", g.Named[f], words.Field(f).Named())}
			}
			if g.Chosen[f] == "" {
				g.Chosen[f] = name
			}
		}
	}
	if _, text := read.(*textRows); found.Skipped > 0 && text {
		l.Leave("Lines that --pattern does not match: %d, the first is line %d; they are left out (--skip-unmatched).", found.Skipped, found.First)
	} else if found.Skipped > 0 {
		l.Leave("Lines that are no JSON: %d, the first is line %d; they are left out.", found.Skipped, found.First)
	}
	l.Doubt(found.Telling, "it is left out, and seems to tell of a lock.")
	if found.Other > 0 {
		l.Leave("Lines that say nothing about a lock: %d, the first is line %d; they are left out.", found.Other, found.Strange.Line)
	}
	if !read.has(words.FieldKey, found) {
		l.Leave(keyless)
	}
	l.columns = g
	return nil
}

// csvRows is a CSV file with a header line, separated by commas, semicolons or tabs.
type csvRows struct {
	file  string
	comma rune
	names []string
	index [words.FieldCount]int // the column of each field; -1: none
}

// newCSV reads the names of the columns.
func newCSV(c *cutter, head []byte, g *words.Columns) (*csvRows, error) {
	r := &csvRows{file: c.file, comma: separator(head)}
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
