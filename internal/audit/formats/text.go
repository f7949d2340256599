package formats

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// textRows is lines of text, taken apart by a regular expression whose named
// groups are the columns.
type textRows struct {
	file    string
	pattern *regexp.Regexp
	columns [words.FieldCount]string // the group of each field
	fields  []int                    // the field of each group; -1: of none
	skip    bool
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

// Text is a log in lines of text.
const Text Format = "text"

func openText(f *File, _ *cutter, head []byte) (rows, error) {
	pattern, err := Pattern(f.Options.Pattern)
	if err != nil {
		return nil, err
	}
	r := &textRows{file: f.Name, pattern: pattern, skip: f.Options.SkipUnmatched}
	s := &words.Sample{Fixed: true}
	for _, name := range pattern.SubexpNames() {
		if name != "" && !slices.Contains(s.Names, name) {
			s.Names = append(s.Names, name)
		}
	}
	for line := range bytes.Lines(whole(head)) {
		if found := pattern.FindSubmatch(bytes.TrimRight(line, "\r\n")); found != nil {
			values := map[string]string{}
			for i, name := range pattern.SubexpNames() {
				values[name] += strings.TrimSpace(string(found[i]))
			}
			s.Lines = append(s.Lines, values)
		}
	}
	g := f.Lines.Columns
	if err := g.Choose(s); err != nil {
		return nil, &history.SyntaxError{File: f.Name, Line: 1, Err: err}
	}
	r.columns = g.Chosen
	for _, name := range pattern.SubexpNames() {
		field := -1
		if name != "" {
			field = slices.Index(r.columns[:], name)
		}
		r.fields = append(r.fields, field)
	}
	return r, nil
}

func (r *textRows) has(f words.Field, _ *words.LineCounts) bool {
	return r.columns[f] != "" && r.columns[f] != words.NoColumn
}

func (r *textRows) border(data []byte) int { return lastLine(data) }

func (r *textRows) splitter() splitter { return &splitText{textRows: r} }

// splitText takes blocks of lines apart.
type splitText struct {
	*textRows
	starts [words.FieldCount]int
}

func (s *splitText) split(w *words.Worker, b block) error {
	for at, line := 0, b.line; at < len(b.data); line++ {
		n := firstLine(b.data[at:])
		if n > maxRecord {
			return s.endless(block{data: b.data[at : at+n], line: line})
		}
		err := s.line(w, bytes.TrimRight(b.data[at:at+n], "\r\n"), line)
		if at += n; err != nil && !b.tears(w, at-n, at, err) {
			return err
		}
	}
	return nil
}

// line understands a line.
func (s *splitText) line(w *words.Worker, text []byte, line int) error {
	switch matched := len(bytes.TrimSpace(text)) > 0 && s.match(w, text); {
	case matched && w.Quick(line):
	case matched:
		return w.Row(line, &s.starts, func() []string { return []string{string(text)} })
	case len(bytes.TrimSpace(text)) == 0:
	case s.skip, BegunObject(bytes.TrimSpace(text)):
		w.Skip(text, line)
	default:
		return &history.SyntaxError{File: s.file, Line: line, Column: 1, Near: remarks.Excerpt(string(text)),
			Err: errors.New("--pattern does not match this line: let it, or leave out such lines with --skip-unmatched, which counts them")}
	}
	return nil
}

// match takes a line apart, if the pattern matches it. Several groups may have
// one name, for a line of either of two forms.
func (s *splitText) match(w *words.Worker, text []byte) bool {
	at := s.pattern.FindSubmatchIndex(text)
	if at == nil {
		return false
	}
	w.Fields, s.starts = [words.FieldCount][]byte{}, [words.FieldCount]int{}
	for i, f := range s.fields {
		if from, to := at[2*i], at[2*i+1]; f >= 0 && from >= 0 && len(w.Fields[f]) == 0 {
			w.Fields[f], s.starts[f] = bytes.TrimSpace(text[from:to]), from+1
		}
	}
	return true
}

// endless says that the line is too long.
func (r *textRows) endless(b block) error { return b.tooLong(r.file, 0, "a line") }
