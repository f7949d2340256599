package forms

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/lockchaos/lockchaos/audit/words"
)

// scanner finds the fields of an object of JSON without decoding it. It takes what is plain: no escapes in the names and
// values that count, none of them twice. Whatever else there is, and whatever is no JSON, it refuses, for others to say.
type scanner struct {
	rows  *Members
	infos map[string]*member
	used  [words.FieldCount]string // the member of each field, in the object read last
	ranks [words.FieldCount]int
	path  []byte
	outer []*member // the objects that were entered
	text  []byte
	at    int
}

// member is what is known of a member by its path.
type member struct {
	name  string
	named uint8          // the fields that it is named for, as bits
	place words.Standing // at the top; its rank is -1 where it is no usual name of a field without a column
	outer bool           // columns are members of this one
}

// deepest is how many brackets in each other the scanner follows.
const deepest = maxDepth / 2

// object finds the fields of an object that is all of the text.
func (s *scanner) object(w *words.Worker, text []byte) bool {
	if len(text) == 0 || text[0] != '{' || len(text) > maxForm {
		return false
	}
	s.text, s.at, s.used, w.Fields, s.path, s.outer = text, 1, [words.FieldCount]string{}, [words.FieldCount][]byte{}, s.path[:0], s.outer[:0]
	return s.members(w) && s.at == len(text)
}

// members reads an object behind its brace. Of one that no column lies in, the path is not read.
func (s *scanner) members(w *words.Worker) bool {
	if s.space() == '}' {
		s.at++
		return true
	}
	for {
		name, ok := s.string()
		if !ok || bytes.IndexByte(name, '\\') >= 0 || !utf8.Valid(name) || s.space() != ':' {
			return false
		}
		s.at++
		s.space()
		if !s.value(w, s.member(name)) {
			return false
		}
		switch s.space() {
		case ',':
			s.at++
			s.space()
		case '}':
			s.at++
			return true
		default:
			return false
		}
	}
}

// value reads the value of a member, and keeps it where it counts.
func (s *scanner) value(w *words.Worker, m *member) bool {
	if m.named == 0 && m.place.Rank < 0 && !m.outer {
		return s.skip(0)
	}
	if m.outer && s.peek() == '{' {
		return m.named == 0 && m.place.Rank < 0 && s.enter(w, m)
	}
	var value []byte
	switch c := s.peek(); c {
	case '"':
		var ok bool
		if value, ok = s.string(); !ok || bytes.IndexByte(value, '\\') >= 0 {
			return false
		}
		value = bytes.TrimSpace(value)
		return s.keep(w, m, value, true)
	case '{', '[':
		return false
	default:
		from := s.at
		if !s.skip(0) {
			return false
		}
		return s.keep(w, m, s.text[from:s.at], c != 'n')
	}
}

// enter reads an object that columns lie in.
func (s *scanner) enter(w *words.Worker, m *member) bool {
	for _, o := range s.outer {
		if o == m {
			return false // a second one, which replaces the first one
		}
	}
	s.outer = append(s.outer, m)
	n := len(s.path)
	s.path = append(append(s.path, m.name[n:]...), '.')
	s.at++
	ok := s.members(w)
	s.path = s.path[:n]
	return ok
}

// keep gives a value to the fields that it is of.
func (s *scanner) keep(w *words.Worker, m *member, value []byte, some bool) bool {
	for f := words.Field(0); f < words.FieldCount; f++ {
		switch named := m.named&(1<<f) != 0; {
		case !named && (m.place.Rank < 0 || m.place.Field != f):
			continue
		case named && s.used[f] != "", s.used[f] == m.name:
			return false // a second one
		case !named && s.used[f] != "" && (s.ranks[f] < m.place.Rank || s.ranks[f] == m.place.Rank && s.used[f] < m.name):
			continue
		}
		if !some { // null is as good as nothing, and which member then counts others say
			return false
		}
		w.Fields[f], s.used[f], s.ranks[f] = value, m.name, m.place.Rank
	}
	return true
}

// member is what is known of a member of the object that is being read.
func (s *scanner) member(name []byte) *member {
	top := len(s.path) == 0
	path := name
	if !top {
		s.path = append(s.path, name...)
		path = s.path
		defer func() { s.path = s.path[:len(s.path)-len(name)] }()
	}
	if m, ok := s.infos[string(path)]; ok && (top || m.place.Rank < 0) && bytes.IndexByte(name, '.') < 0 {
		return m
	}
	return s.learn(string(path), string(name), top)
}

// learn finds out what a member is.
func (s *scanner) learn(path, name string, top bool) *member {
	m := &member{name: path, place: words.Standing{Rank: -1}}
	dotted := strings.Contains(name, ".")
	for f, column := range s.rows.Named {
		switch {
		case column == words.NoColumn:
		case column == "" && top:
			if p := s.rows.place(path); p.Rank >= 0 && p.Field == words.Field(f) {
				m.place = p
			}
		case column == path && (top || !dotted):
			m.named |= 1 << f
		case !dotted && strings.HasPrefix(column, path+"."):
			m.outer = true
		}
	}
	if s.infos == nil || len(s.infos) > mostColumns {
		s.infos = map[string]*member{}
	}
	if !dotted {
		s.infos[path] = m
	}
	return m
}

// skip reads a value that does not count.
func (s *scanner) skip(depth int) bool {
	switch c := s.peek(); {
	case c == '"':
		_, ok := s.string()
		return ok
	case c == '{' || c == '[':
		return depth < deepest && s.skipInner(c, depth)
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	}
	return s.number()
}

// skipInner reads an object or a list that does not count.
func (s *scanner) skipInner(open byte, depth int) bool {
	s.at++
	if s.space() == open+2 { // the closing bracket, in ASCII
		s.at++
		return true
	}
	for {
		if open == '{' {
			if _, ok := s.string(); !ok || s.space() != ':' {
				return false
			}
			s.at++
			s.space()
		}
		if !s.skip(depth + 1) {
			return false
		}
		switch s.space() {
		case ',':
			s.at++
			s.space()
		case open + 2:
			s.at++
			return true
		default:
			return false
		}
	}
}

// peek is the next byte; 0 at the end.
func (s *scanner) peek() byte {
	if s.at >= len(s.text) {
		return 0
	}
	return s.text[s.at]
}

// space skips blanks and returns what follows; newlines as well, which an object in a list may have.
func (s *scanner) space() byte {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t' || s.text[s.at] == '\r' || s.text[s.at] == '\n') {
		s.at++
	}
	return s.peek()
}

func (s *scanner) word(word string) bool {
	if !bytes.HasPrefix(s.text[s.at:], []byte(word)) {
		return false
	}
	s.at += len(word)
	return true
}

// string reads a string and returns what stands between its quotes.
func (s *scanner) string() ([]byte, bool) {
	if s.peek() != '"' {
		return nil, false
	}
	from := s.at + 1
	for i := from; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.at = i + 1
			return s.text[from:i], true
		case c < ' ':
			return nil, false
		case c == '\\':
			n := escape(s.text[i+1:])
			if n == 0 {
				return nil, false
			}
			i += n
		}
	}
	return nil, false
}

// escape is how long an escape is behind its backslash; 0: it is none.
func escape(text []byte) int {
	switch {
	case len(text) > 0 && bytes.IndexByte([]byte(`"\/bfnrt`), text[0]) >= 0:
		return 1
	case len(text) > 4 && text[0] == 'u':
		for _, c := range text[1:5] {
			if (c < '0' || c > '9') && (c|' ' < 'a' || c|' ' > 'f') {
				return 0
			}
		}
		return 5
	}
	return 0
}

// number reads a number as JSON has it.
func (s *scanner) number() bool {
	if s.peek() == '-' {
		s.at++
	}
	if zero := s.peek() == '0'; zero {
		s.at++
	} else if !s.digits() {
		return false
	}
	if s.peek() == '.' {
		if s.at++; !s.digits() {
			return false
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c = s.peek(); c == '+' || c == '-' {
			s.at++
		}
		return s.digits()
	}
	return true
}

// digits reads at least one digit.
func (s *scanner) digits() bool {
	from := s.at
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		s.at++
	}
	return s.at > from
}
