package script

import (
	"errors"
	"strings"
)

// matcher matches Lua patterns as Lua 5.1 does (lstrlib.c), and counts its steps: a pattern can try
// more ways than anybody waits for, and the one of gopher-lua cannot be stopped.
type matcher struct {
	m        *meter
	src, pat string
	level    int
	captures [mostCaptures]capture
	depth    int
}

// mostCaptures is Lua's LUA_MAXCAPTURES; mostDepth bounds how deep a pattern nests.
const (
	mostCaptures = 32
	mostDepth    = 1000
)

// The lengths of captures that are no strings.
const (
	open     = -1
	position = -2
)

type capture struct{ at, length int }

// malformed is the panic of a pattern that is none.
type malformed struct{ error }

func wrong(text string) { panic(malformed{errors.New(text)}) }

// match returns where the match of pat[p:] that begins at src[s:] ends; -1: there is none.
func (x *matcher) match(s, p int) int {
	if x.depth++; x.depth > mostDepth {
		wrong("pattern too complex")
	}
	defer func() { x.depth-- }()
	for {
		if p == len(x.pat) {
			return s
		}
		if !x.m.spend(1) {
			return -1
		}
		switch c := x.pat[p]; {
		case c == '(':
			return x.begin(s, p+1)
		case c == ')':
			return x.finish(s, p+1)
		case c == '$' && p+1 == len(x.pat):
			if s == len(x.src) {
				return s
			}
			return -1
		case c == '%':
			if to, after := x.special(s, p+1); to < 0 {
				return -1
			} else if after > p {
				s, p = to, after
				continue
			}
		}
		end := x.classEnd(p)
		to, more := x.item(s, p, end)
		if !more {
			return to
		}
		if to == s {
			p = end + 1 // a ? that is left out
		} else {
			s, p = to, end
		}
	}
}

// item matches a class and what repeats it. If more is set, the match goes on at to.
func (x *matcher) item(s, p, end int) (to int, more bool) {
	one := s < len(x.src) && x.single(x.src[s], p, end)
	var next byte
	if end < len(x.pat) {
		next = x.pat[end]
	}
	switch {
	case next == '?':
		if one {
			if e := x.match(s+1, end+1); e >= 0 {
				return e, false
			}
		}
		return s, true
	case next == '*':
		return x.most(s, p, end), false
	case next == '-':
		return x.least(s, p, end), false
	case !one:
		return -1, false
	case next == '+':
		return x.most(s+1, p, end), false
	}
	return s + 1, true
}

// special matches %b, %f and %1 at src[s:], with pat[p:] after the %. to is -1 if
// there is no match; after is where the pattern goes on, 0 if it is none of these.
func (x *matcher) special(s, p int) (to, after int) {
	if p == len(x.pat) {
		wrong("malformed pattern (ends with '%')")
	}
	switch c := x.pat[p]; {
	case c == 'b':
		return x.balanced(s, p+1), p + 3
	case c == 'f':
		return x.frontier(s, p+1)
	case c >= '0' && c <= '9':
		return x.again(s, c), p + 1
	}
	return s, 0
}

func (x *matcher) frontier(s, p int) (to, after int) {
	if p >= len(x.pat) || x.pat[p] != '[' {
		wrong("missing '[' after '%f' in pattern")
	}
	end := x.classEnd(p)
	var before, at byte
	if s > 0 {
		before = x.src[s-1]
	}
	if s < len(x.src) {
		at = x.src[s]
	}
	if x.inSet(before, p, end-1) || !x.inSet(at, p, end-1) {
		return -1, end
	}
	return s, end
}

func (x *matcher) most(s, p, end int) int {
	n := 0
	for s+n < len(x.src) && x.single(x.src[s+n], p, end) && x.m.spend(1) {
		n++
	}
	for ; n >= 0; n-- {
		if e := x.match(s+n, end+1); e >= 0 {
			return e
		}
	}
	return -1
}

func (x *matcher) least(s, p, end int) int {
	for {
		if e := x.match(s, end+1); e >= 0 {
			return e
		}
		if s >= len(x.src) || !x.single(x.src[s], p, end) || !x.m.spend(1) {
			return -1
		}
		s++
	}
}

// begin begins the capture after a parenthesis.
func (x *matcher) begin(s, p int) int {
	what := open
	if p < len(x.pat) && x.pat[p] == ')' {
		p, what = p+1, position
	}
	if x.level >= mostCaptures {
		wrong("too many captures")
	}
	x.captures[x.level] = capture{s, what}
	x.level++
	e := x.match(s, p)
	if e < 0 {
		x.level--
	}
	return e
}

func (x *matcher) finish(s, p int) int {
	for l := x.level - 1; l >= 0; l-- {
		if c := &x.captures[l]; c.length == open {
			c.length = s - c.at
			e := x.match(s, p)
			if e < 0 {
				c.length = open
			}
			return e
		}
	}
	wrong("invalid pattern capture")
	return -1
}

func (x *matcher) balanced(s, p int) int {
	if p+1 >= len(x.pat) {
		wrong("unbalanced pattern")
	}
	if s >= len(x.src) || x.src[s] != x.pat[p] {
		return -1
	}
	depth := 1
	for i := s + 1; i < len(x.src) && x.m.spend(1); i++ {
		switch x.src[i] {
		case x.pat[p+1]:
			if depth--; depth == 0 {
				return i + 1
			}
		case x.pat[p]:
			depth++
		}
	}
	return -1
}

// again matches what was captured before.
func (x *matcher) again(s int, digit byte) int {
	l := int(digit) - '1'
	if l < 0 || l >= x.level || x.captures[l].length == open {
		wrong("invalid capture index")
	}
	c := x.captures[l]
	if c.length >= 0 && x.m.spend(int64(c.length)/64) && strings.HasPrefix(x.src[s:], x.src[c.at:c.at+c.length]) {
		return s + c.length
	}
	return -1
}

func (x *matcher) classEnd(p int) int {
	c := x.pat[p]
	p++
	switch c {
	case '%':
		if p == len(x.pat) {
			wrong("malformed pattern (ends with '%')")
		}
		return p + 1
	case '[':
		if p < len(x.pat) && x.pat[p] == '^' {
			p++
		}
		for first := true; first || p < len(x.pat) && x.pat[p] != ']'; first = false {
			if p >= len(x.pat) {
				break
			}
			if p++; x.pat[p-1] == '%' {
				p++
			}
		}
		if p >= len(x.pat) {
			wrong("malformed pattern (missing ']')")
		}
		return p + 1
	}
	return p
}

// single reports whether a byte is of the class from p to end.
func (x *matcher) single(b byte, p, end int) bool {
	switch x.pat[p] {
	case '.':
		return true
	case '%':
		return class(b, x.pat[p+1])
	case '[':
		return x.inSet(b, p, end-1)
	}
	return b == x.pat[p]
}

// inSet reports whether a byte is of the set from p, which begins with [, to end, which is ].
func (x *matcher) inSet(b byte, p, end int) bool {
	x.m.spend(int64(end-p) / 16)
	sign := true
	if p++; x.pat[p] == '^' {
		sign = false
		p++
	}
	for ; p < end; p++ {
		switch {
		case x.pat[p] == '%':
			if p++; class(b, x.pat[p]) {
				return sign
			}
		case p+2 < end && x.pat[p+1] == '-':
			if x.pat[p] <= b && b <= x.pat[p+2] {
				return sign
			}
			p += 2
		case x.pat[p] == b:
			return sign
		}
	}
	return !sign
}

// class reports whether a byte is of a class that is written with %.
func class(b, c byte) (in bool) {
	lower, upper, digit := b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9'
	switch c | 0x20 {
	case 'a':
		in = lower || upper
	case 'c':
		in = b < 32 || b == 127
	case 'd':
		in = digit
	case 'l':
		in = lower
	case 'p':
		in = b > 32 && b < 127 && !lower && !upper && !digit
	case 's':
		in = b == ' ' || b >= 9 && b <= 13
	case 'u':
		in = upper
	case 'w':
		in = lower || upper || digit
	case 'x':
		in = digit || b|0x20 >= 'a' && b|0x20 <= 'f'
	case 'z':
		in = b == 0
	default:
		return c == b
	}
	if c < 'a' && c >= 'A' {
		return !in
	}
	return in
}
