package formats

import "bytes"

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

// space skips blanks and returns what follows; newlines as well, which an
// object in a list may have.
func (s *scanner) space() byte {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t' || s.text[s.at] == '\r' ||
		s.text[s.at] == '\n') {
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
