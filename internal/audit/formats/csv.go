package formats

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// csvRows is a CSV file with a header line, separated by commas, semicolons or tabs.
type csvRows struct {
	csvReader
	file  string
	names []string
	first []byte                // the line that names them
	index [words.FieldCount]int // the column of each field; -1: none
	// timeFirst: records begin with a time, and that with a digit.
	timeFirst bool
}

// CSV is a log in CSV.
const CSV Format = "csv"

// openCSV reads the names of the columns.
func openCSV(f *File, c *cutter, head []byte) (rows, error) {
	g := f.Lines.Columns
	if n := beforeHeading(head); n > 0 {
		skipped := bytes.Count(head[:n], []byte("\n"))
		f.Leave("Lines before the names of the columns: %d; they are left out.", skipped)
		if _, err := io.CopyN(io.Discard, c.in, int64(n)); err != nil {
			return nil, err
		}
		c.line, head = c.line+skipped, head[n:]
	}
	r := &csvRows{file: f.Name, csvReader: csvReader{comma: separator(head), columns: -1}}
	c.border = r.headingEnd
	b, n, err := r.heading(c)
	if errors.Is(err, io.EOF) {
		err = &history.SyntaxError{File: r.file, Line: 1,
			Err: errors.New("empty file: a log in CSV begins with the names of its columns")}
	}
	if err != nil {
		return nil, err
	}
	first := b.data[:n]
	r.columns, r.first = len(r.names), bytes.TrimSpace(bytes.Clone(first))
	sample := r.sample(head)
	if err := g.Choose(sample); err != nil {
		return nil, &history.SyntaxError{File: r.file, Line: 1, Column: 1,
			Near: remarks.Excerpt(strings.TrimSpace(string(first))), Err: err}
	}
	r.index = g.Indexes(r.names)
	r.timeFirst = r.index[words.FieldTime] == 0 &&
		!slices.ContainsFunc(sample.Lines,
			func(line map[string]string) bool { return !startsWithDigit(line[r.names[0]]) })
	b.data, b.line = b.data[n:], b.line+bytes.Count(first, []byte("\n"))
	c.held = &b
	return r, nil
}

// headsAgain reports whether a line names the columns once more.
func (r *csvRows) headsAgain(line []byte) bool {
	return bytes.Equal(bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff"))), r.first)
}

func startsWithDigit(text string) bool { return text != "" && text[0] >= '0' && text[0] <= '9' }

// heading reads the first record, and returns the block that it begins and how long it is.
func (r *csvRows) heading(c *cutter) (b block, n int64, err error) {
	for {
		if b, err = c.next(); errors.Is(err, errNoBorder) {
			return b, 0, r.endless(b)
		} else if err != nil {
			return b, 0, err
		}
		var in *csv.Reader
		r.names, in, err = r.parse(b.data, false)
		switch {
		case errors.Is(err, io.EOF): // empty lines only
		case err != nil:
			return b, 0, wrongCSV(r.file, b, err)
		default:
			return b, in.InputOffset(), nil
		}
	}
}

// headingEnd is where the first record ends. Empty lines before it do not count.
func (r *csvRows) headingEnd(data []byte) int {
	lines := data[:lastLine(data)]
	_, in, err := r.parse(lines, true)
	switch {
	case err == nil:
		return int(in.InputOffset())
	case errors.Is(err, errCut) && len(bytes.Trim(lines, "\r\n")) > 0:
		return 0
	}
	return len(lines)
}

// beforeHeading is how long the lines are before the names of the columns: a
// program's banner, which has no separator, and the separator that spreadsheets note.
func beforeHeading(head []byte) (n int) {
	for line := range bytes.Lines(head) {
		switch {
		case !bytes.ContainsAny(line, ",;\t"), bytes.HasPrefix(line, []byte("sep=")):
			n += len(line)
		case looksLikeHeader(string(line)):
			return n
		default:
			return 0
		}
	}
	return 0
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

func (r *csvRows) has(f words.Field, _ *words.LineCounts) bool { return r.index[f] >= 0 }

func (r *csvRows) splitter() splitter { return newSplitCSV(r) }

// endless says that the record is too long: it is of the field that is too
// long, unless the quotes are wrong.
func (r *csvRows) endless(b block) error {
	closed := b.data
	if odd(closed) {
		closed = append(slices.Clip(closed), '"')
	}
	any := csvReader{comma: r.comma, columns: -1}
	if _, _, err := any.parse(closed, false); err != nil {
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
	return &history.SyntaxError{File: file, Line: b.line + parse.Line - 1, Column: max(parse.Column, 1),
		Near: remarks.Excerpt(strings.TrimSpace(string(near))), Err: parse.Err}
}
