package audit

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// sample is the beginning of a log: its columns, and what they hold line by line.
type sample struct {
	names []string
	fixed bool // it has no other columns
	lines []map[string]string
}

// sampleCSV reads what the beginning of a CSV file holds.
func sampleCSV(head []byte, comma rune, names []string) *sample {
	s := &sample{names: slices.Clone(names), fixed: true}
	r := csv.NewReader(bytes.NewReader(whole(head)))
	r.Comma = comma
	if _, err := r.Read(); err != nil { // the names
		return s
	}
	for {
		record, err := r.Read()
		if err != nil { // which whoever reads the file will say
			return s
		}
		s.add(record)
	}
}

// add adds a line with a value for each column.
func (s *sample) add(record []string) {
	line := map[string]string{}
	for i, name := range s.names {
		if _, twice := line[name]; !twice {
			line[name] = strings.TrimSpace(record[i])
		}
	}
	s.lines = append(s.lines, line)
}

// whole leaves out a last line that the end of the buffer may have cut.
func whole(head []byte) []byte {
	if len(head) < DetectBytes {
		return head
	}
	return head[:bytes.LastIndexByte(head, '\n')+1]
}

// sampleJSON reads what the objects at the beginning of a file hold; a member of a member is a column with a path.
func sampleJSON(head []byte) *sample {
	s := &sample{}
	if first, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n")); banner(first) && !beginsList.Match(first) || someObject(first) || behindHalf(bytes.TrimSpace(head)) != nil {
		head = objects(head)
	}
	f := newForms(bufio.NewReader(bytes.NewReader(head)), "", false)
	names := map[string]bool{}
	for {
		form, err := f.next()
		if err != nil {
			break
		}
		var m map[string]any
		if decodeJSON(f, form, &m) != nil {
			break
		}
		line := map[string]string{}
		flatten(line, "", m)
		for name := range line {
			names[name] = true
		}
		s.lines = append(s.lines, line)
	}
	s.names = slices.Sorted(maps.Keys(names))
	return s
}

// objects are the lines that are an object each.
func objects(head []byte) (lines []byte) {
	for line := range bytes.Lines(head) {
		if someObject(line) {
			lines = append(lines, line...)
		}
	}
	return lines
}

// flatten puts the members of an object under their paths.
func flatten(line map[string]string, path string, m map[string]any) {
	for name, v := range m {
		switch v := v.(type) {
		case nil:
		case map[string]any:
			flatten(line, path+name+".", v)
		case []any:
			text, _ := json.Marshal(v) // what was JSON is JSON again
			line[path+name] = string(text)
		default:
			line[path+name] = strings.TrimSpace(fmt.Sprint(v))
		}
	}
}

// values are what a column holds where it is not empty.
func (s *sample) values(column string) (values []string) {
	for _, line := range s.lines {
		if v := line[column]; v != "" {
			values = append(values, v)
		}
	}
	return values
}

// distinct counts different values.
func distinct(values []string) int {
	seen := map[string]bool{}
	for _, v := range values {
		seen[v] = true
	}
	return len(seen)
}

// varied reports whether a column has more than one value, and repeats some: that of a name does.
func (s *sample) varied(column string) bool {
	values := s.values(column)
	n := distinct(values)
	return n > 1 && n < len(values)
}

// same reports whether two columns tell lines apart in the same way, so that either will do.
func (s *sample) same(a, b string) bool {
	there, back := map[string]string{}, map[string]string{}
	for _, line := range s.lines {
		x, y := line[a], line[b]
		if was, ok := there[x]; ok && was != y {
			return false
		}
		if was, ok := back[y]; ok && was != x {
			return false
		}
		there[x], back[y] = y, x
	}
	return true
}
