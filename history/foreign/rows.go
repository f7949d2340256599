package foreign

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
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

// usualColumns are the columns that are taken for a field where nobody says so, in the form that plain gives them.
var usualColumns = [fieldCount][]string{
	fieldTime:   {"time", "ts", "timestamp", "datetime", "start", "startedat"},
	fieldEnd:    {"end", "finishedat"},
	fieldClient: {"client", "clientid", "pod", "worker", "owner", "host", "hostname", "instance", "holder", "process"},
	fieldEvent:  {"event", "action", "op", "operation", "type", "msg"},
	fieldKey:    {"key", "resource", "lock", "lockname", "name"},
	fieldToken:  {"token", "fence", "fencingtoken", "fencetoken", "revision"},
	fieldResult: {"result", "status", "outcome"},
}

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

func newCSV(in *bufio.Reader, file string, named [fieldCount]string) (*csvRows, error) {
	r := &csvRows{in: &oneLine{in: in, file: file}}
	if mark, err := in.Peek(3); err == nil && string(mark) == "\ufeff" { // what spreadsheets begin a file with
		in.Discard(3)
	}
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
	for i := range fieldCount {
		if r.index[i], err = column(names, i, named[i]); err != nil {
			return nil, &history.SyntaxError{File: file, Line: 1, Column: 1, Near: excerpt(strings.TrimSpace(string(r.in.last))), Err: err}
		}
	}
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

// column finds the column of a field: the one that the user named, else a usual one.
func column(names []string, f field, named string) (int, error) {
	if named != "" {
		i := slices.Index(names, named)
		if i < 0 {
			return 0, fmt.Errorf("there is no column %q for the field %q; the columns are %s", named, Fields[f], strings.Join(names, ", "))
		}
		return i, nil
	}
	for _, want := range usualColumns[f] {
		for i, name := range names {
			if plain(name) == want {
				return i, nil
			}
		}
	}
	return -1, nil
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
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	return &history.SyntaxError{File: r.in.file, Line: parse.Line, Column: max(parse.Column, 1), Near: excerpt(strings.TrimSpace(string(r.in.last))), Err: parse.Err}
}

// jsonRows reads JSON objects, one a line or in one list. A column is the name of a member, or a path such as "lock.name".
type jsonRows struct {
	forms *forms
	named [fieldCount]string
	seen  [fieldCount]bool
}

func (r *jsonRows) has(f field) bool { return r.seen[f] }

func (r *jsonRows) next() (row, error) {
	f, err := r.forms.next()
	if err != nil {
		return row{}, err
	}
	var m map[string]any
	if err := decodeJSON(r.forms, f, &m); err != nil {
		return row{}, err
	}
	if m == nil {
		return row{}, r.forms.wrong(f, "", errors.New("a line of a log is an object"))
	}
	out := row{line: f.line}
	for i := range fieldCount {
		name, v := r.member(m, i)
		if v == nil {
			continue
		}
		r.seen[i] = true
		switch v := v.(type) {
		case map[string]any, []any:
			return row{}, r.forms.wrong(f, quoted(name), fmt.Errorf("%s, for the field %q, is no single value", name, Fields[i]))
		default:
			out.text[i] = strings.TrimSpace(fmt.Sprint(v))
		}
		var where *history.SyntaxError
		if errors.As(r.forms.wrong(f, quoted(name), errTime), &where) && where.Line == out.line {
			out.columns[i] = where.Column
		}
	}
	return out, nil
}

// quoted is a member's name as it stands in a file.
func quoted(name string) string {
	b, _ := json.Marshal(name) // a string always marshals
	return string(b)
}

// member finds the member of a field.
func (r *jsonRows) member(m map[string]any, f field) (string, any) {
	if name := r.named[f]; name != "" {
		if v, ok := m[name]; ok {
			return name, v
		}
		inner, last := m, name
		for {
			outer, rest, path := strings.Cut(last, ".")
			if !path {
				return last, inner[last]
			}
			next, ok := inner[outer].(map[string]any)
			if !ok {
				return name, nil
			}
			inner, last = next, rest
		}
	}
	for _, want := range usualColumns[f] {
		if v, ok := m[want]; ok {
			return want, v
		}
	}
	for _, want := range usualColumns[f] {
		for name, v := range m {
			if plain(name) == want {
				return name, v
			}
		}
	}
	return "", nil
}
