package words

import "strings"

// Sample is the beginning of a log: its columns, and what they hold line by line.
type Sample struct {
	Names []string
	Fixed bool // it has no other columns
	Lines []map[string]string
}

// Add adds a line with a value for each column.
func (s *Sample) Add(record []string) {
	line := map[string]string{}
	for i, name := range s.Names {
		if _, twice := line[name]; !twice {
			line[name] = strings.TrimSpace(record[i])
		}
	}
	s.Lines = append(s.Lines, line)
}

// values are what a column holds where it is not empty.
func (s *Sample) values(column string) (values []string) {
	for _, line := range s.Lines {
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
func (s *Sample) varied(column string) bool {
	values := s.values(column)
	n := distinct(values)
	return n > 1 && n < len(values)
}

// same reports whether two columns tell lines apart in the same way, so that either will do.
func (s *Sample) same(a, b string) bool {
	there, back := map[string]string{}, map[string]string{}
	for _, line := range s.Lines {
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
