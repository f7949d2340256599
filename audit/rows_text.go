package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
)

// maxLine is how long a line of text may be, in bytes.
const maxLine = 1 << 20

// textRows reads lines of text by a regular expression, whose named groups are the columns.
type textRows struct {
	in      *bufio.Reader
	file    string
	pattern *regexp.Regexp
	columns [fieldCount]string // the group of each field
	skip    bool
	line    int
	skipped int
	first   int // the first line that was skipped
}

// Pattern compiles a pattern for lines of text.
func Pattern(text string) (*regexp.Regexp, error) {
	pattern, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("the pattern is no regular expression: %w", err)
	}
	if !slices.ContainsFunc(pattern.SubexpNames(), func(name string) bool { return name != "" }) {
		return nil, errors.New(`the pattern names no group: its columns are named groups, such as (?P<time>\S+) (?P<client>\S+) (?P<event>\S+)`)
	}
	return pattern, nil
}

func newPattern(in *bufio.Reader, file, text string, skip bool, g *guesser) (*textRows, error) {
	pattern, err := Pattern(text)
	if err != nil {
		return nil, err
	}
	r := &textRows{in: in, file: file, pattern: pattern, skip: skip}
	head, _ := in.Peek(in.Size())
	s := &sample{fixed: true}
	for _, name := range pattern.SubexpNames() {
		if name != "" && !slices.Contains(s.names, name) {
			s.names = append(s.names, name)
		}
	}
	for line := range bytes.Lines(whole(head)) {
		if found := pattern.FindSubmatch(bytes.TrimRight(line, "\r\n")); found != nil {
			values := map[string]string{}
			for i, name := range pattern.SubexpNames() {
				values[name] += strings.TrimSpace(string(found[i]))
			}
			s.lines = append(s.lines, values)
		}
	}
	if err := g.choose(s); err != nil {
		return nil, &history.SyntaxError{File: file, Line: 1, Err: err}
	}
	r.columns = g.chosen
	return r, nil
}

func (r *textRows) has(f field) bool { return r.columns[f] != "" && r.columns[f] != noColumn }

func (r *textRows) next() (row, error) {
	for {
		text, err := r.read()
		if err != nil {
			return row{}, err
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		found := r.pattern.FindSubmatchIndex(text)
		if found == nil && !r.skip {
			return row{}, &history.SyntaxError{File: r.file, Line: r.line, Column: 1, Near: excerpt(string(text)),
				Err: errors.New("--pattern does not match this line: let it, or leave out such lines with --skip-unmatched, which counts them")}
		}
		if found == nil {
			if r.skipped++; r.skipped == 1 {
				r.first = r.line
			}
			continue
		}
		return r.row(text, found), nil
	}
}

// row takes a line apart. Several groups may have one name, for a line of either of two forms.
func (r *textRows) row(text []byte, found []int) row {
	out := row{line: r.line}
	for i, name := range r.pattern.SubexpNames() {
		f := slices.Index(r.columns[:], name)
		if from, to := found[2*i], found[2*i+1]; name != "" && f >= 0 && from >= 0 && out.text[f] == "" {
			out.text[f], out.columns[f] = strings.TrimSpace(string(text[from:to])), from+1
		}
	}
	return out
}

// read returns the next line without what ends it.
func (r *textRows) read() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, &history.SyntaxError{File: r.file, Line: r.line + 1, Column: 1, Near: excerpt(string(line)), Err: fmt.Errorf("a line of more than %d bytes", maxLine)}
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("read %s: %w", r.file, err)
		}
		r.line++
		return bytes.TrimRight(line, "\r\n"), nil
	}
}
