package formats

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// scanner finds the fields of an object of JSON without decoding it. It takes what
// is plain: no escapes in the names and values that count, none of them twice.
// Whatever else there is, and whatever is no JSON, it refuses, for others to say.
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
	named uint16 // the fields that it is named for, as bits
	// at the top; its rank is -1 where it is no usual name of a field without a column
	place words.FieldMatch
	outer bool // columns are members of this one
}

// deepest is how many brackets in each other the scanner follows.
const deepest = maxDepth / 2

// object finds the fields of an object that is all of the text.
func (s *scanner) object(w *words.Worker, text []byte) bool {
	if len(text) == 0 || text[0] != '{' || len(text) > maxValue {
		return false
	}
	s.text, s.at, s.used, w.Fields, s.path, s.outer = text, 1, [words.FieldCount]string{}, [words.FieldCount][]byte{},
		s.path[:0], s.outer[:0]
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
	if m.outer && s.entered(m) {
		return false // a second one, which replaces the first one
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

// entered reports whether an object of a member's path was read before. What is
// known of a path may have been forgotten on the way, and learnt again.
func (s *scanner) entered(m *member) bool {
	return slices.ContainsFunc(s.outer, func(o *member) bool { return o.name == m.name })
}

// enter reads an object that columns lie in.
func (s *scanner) enter(w *words.Worker, m *member) bool {
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
		case !named && s.used[f] != "" && (s.ranks[f] < m.place.Rank || s.ranks[f] == m.place.Rank &&
			s.used[f] < m.name):
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
	m := &member{name: path, place: words.FieldMatch{Rank: -1}}
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
