package audit

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
)

// field is what a column of a log is to lockchaos.
type field uint8

const (
	fieldTime field = iota
	fieldEnd
	fieldClient
	fieldEvent
	fieldKey
	fieldToken
	fieldResult
	fieldCount
)

// Fields are the names of the fields that Options.Map gives columns to, in the order of their numbers.
var Fields = []string{"time", "end", "client", "event", "key", "token", "result"}

// row is one line of a log.
type row struct {
	line    int
	text    [fieldCount]string
	columns [fieldCount]int // where each field stands; 0: the line only
}

// rows reads a log line by line; io.EOF ends it.
type rows interface {
	next() (row, error)
	// has tells whether the log has the field at all.
	has(field) bool
}

// noColumn is what the user maps a field to that the log does not have.
const noColumn = "-"

// explicit is the mapping that the user gave.
func explicit(m map[string]string) (named [fieldCount]string, err error) {
	for name, column := range m {
		i := slices.Index(Fields, name)
		switch {
		case i < 0:
			return named, fmt.Errorf("a column can't be mapped to %q; the fields are %s", name, strings.Join(Fields, ", "))
		case column == "":
			return named, fmt.Errorf("the field %q needs the name of its column", name)
		}
		named[i] = column
	}
	return named, nil
}

// oneLine hands a reader one line at a time, so that it never reads ahead and the line at which it stopped is known.
type oneLine struct {
	in   *bufio.Reader
	last []byte
	rest []byte
	file string
}

func (o *oneLine) Read(p []byte) (int, error) {
	if len(o.rest) == 0 {
		line, err := o.in.ReadBytes('\n')
		if len(line) == 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				err = fmt.Errorf("read %s: %w", o.file, err)
			}
			return 0, err
		}
		o.last, o.rest = line, line
	}
	n := copy(p, o.rest)
	o.rest = o.rest[n:]
	return n, nil
}

// csvRows reads a CSV file with a header line, separated by commas, semicolons or tabs.
type csvRows struct {
	in    *oneLine
	csv   *csv.Reader
	index [fieldCount]int // the column of each field; -1: none
}

func newCSV(in *bufio.Reader, file string, g *guesser) (*csvRows, error) {
	r := &csvRows{in: &oneLine{in: in, file: file}}
	head, _ := in.Peek(in.Size())
	r.csv = csv.NewReader(r.in)
	r.csv.Comma, r.csv.ReuseRecord = separator(head), true
	names, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, &history.SyntaxError{File: file, Line: 1, Err: errors.New("empty file: a log in CSV begins with the names of its columns")}
	}
	if err != nil {
		return nil, r.wrong(err)
	}
	if err := g.choose(sampleCSV(head, r.csv.Comma, names)); err != nil {
		return nil, &history.SyntaxError{File: file, Line: 1, Column: 1, Near: excerpt(strings.TrimSpace(string(r.in.last))), Err: err}
	}
	r.index = g.indexes(names)
	return r, nil
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

func (r *csvRows) has(f field) bool { return r.index[f] >= 0 }

func (r *csvRows) next() (row, error) {
	record, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		return row{}, io.EOF
	}
	if err != nil {
		return row{}, r.wrong(err)
	}
	var out row
	out.line, _ = r.csv.FieldPos(0)
	for f, i := range r.index {
		if i < 0 {
			continue
		}
		out.text[f] = strings.TrimSpace(record[i])
		_, out.columns[f] = r.csv.FieldPos(i)
	}
	return out, nil
}

// wrong gives an error of the CSV reader its place and the offending line.
func (r *csvRows) wrong(err error) error {
	parse, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return err
	}
	return &history.SyntaxError{File: r.in.file, Line: parse.Line, Column: max(parse.Column, 1), Near: excerpt(strings.TrimSpace(string(r.in.last))), Err: parse.Err}
}
