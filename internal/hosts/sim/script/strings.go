package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// directive is one of string.format that Lua has. The format goes on to Go's, which knows others:
// one that repeats an argument, or makes a number a million bytes wide.
var directive = lazyregexp.New(`^%(%|[-+ #0]*[0-9]{0,2}(\.[0-9]{0,2})?[cdiouxXeEfgGqs])`)

// textual are the functions of package string that are not gopher-lua's, or have to look first.
func (m *meter) textual(l *lua.LState, mod *lua.LTable) {
	for name, fn := range map[string]lua.LGFunction{"find": m.find, "match": m.match, "gmatch": m.gmatch,
		"gfind": m.gmatch, "gsub": m.gsub} {
		mod.RawSetString(name, l.NewFunction(m.library(fn)))
	}
	m.guard(l, mod, "rep", func(l *lua.LState) {
		if n, size := l.CheckInt(2), len(l.CheckString(1)); n > 0 && size > 0 && n > longestString/size {
			m.exceed("makes a string of more than %d KB", longestString>>10)
		}
	})
	m.guard(l, mod, "format", func(l *lua.LState) {
		f, total := l.CheckString(1), 0
		for at := strings.IndexByte(f, '%'); at >= 0; at = strings.IndexByte(f, '%') {
			d := directive().FindString(f[at:])
			if d == "" {
				l.RaiseError("invalid option in 'format'")
			}
			f = f[at+len(d):]
		}
		for i := 1; i <= l.GetTop(); i++ {
			if s, ok := l.Get(i).(lua.LString); ok {
				total += len(s)
			}
		}
		m.fits(total)
	})
}

// fits ends a script that is about to make too long a string.
func (m *meter) fits(n int) {
	if n > longestString {
		m.exceed("makes a string of more than %d KB", longestString>>10)
	}
}

// matching has fn use a matcher, whose complaints become errors of Lua.
func (m *meter) matching(l *lua.LState, src, pat string, fn func(x *matcher)) {
	said := ""
	func() {
		defer func() {
			if p := recover(); p != nil {
				bad, is := p.(malformed)
				if !is {
					panic(p)
				}
				said = bad.Error()
			}
		}()
		fn(&matcher{m: m, src: src, pat: pat})
	}()
	if said != "" {
		l.RaiseError("%s", said)
	}
}

// from is where a search begins: an index of Lua, as an offset.
func from(l *lua.LState, n, size int) int {
	at := l.OptInt(n, 1)
	if at < 0 {
		at = max(at+size+1, 1)
	}
	return max(at, 1) - 1
}

// search finds the first match from an offset on; end is -1 if there is none.
func (x *matcher) search(at int) (start, end int) {
	p := 0
	if strings.HasPrefix(x.pat, "^") {
		p = 1
	}
	for ; at <= len(x.src) && x.m.over == nil; at++ {
		x.level = 0
		if e := x.match(at, p); e >= 0 {
			return at, e
		}
		if p == 1 {
			break
		}
	}
	return 0, -1
}

// captured is the n-th capture, or the whole match if there is none.
func (x *matcher) captured(n, start, end int) lua.LValue {
	if n >= x.level {
		if n > 0 {
			wrong("invalid capture index")
		}
		return lua.LString(x.src[start:end])
	}
	switch c := x.captures[n]; c.length {
	case position:
		return lua.LNumber(c.at + 1)
	case open:
		wrong("unfinished capture")
		return nil
	default:
		return lua.LString(x.src[c.at : c.at+c.length])
	}
}

// all are the captures; whole: the whole match if there is none.
func (x *matcher) all(start, end int, whole bool) (values []lua.LValue) {
	n := x.level
	if n == 0 && whole {
		n = 1
	}
	for i := range n {
		values = append(values, x.captured(i, start, end))
	}
	return values
}

func (m *meter) find(l *lua.LState) int { return m.search(l, true) }

func (m *meter) match(l *lua.LState) int { return m.search(l, false) }

func (m *meter) search(l *lua.LState, find bool) int {
	src, pat := l.CheckString(1), l.CheckString(2)
	at := from(l, 3, len(src))
	if at > len(src) {
		at = len(src) // as Lua 5.1 does
	}
	found := []lua.LValue{lua.LNil}
	if find && (lua.LVAsBool(l.Get(4)) || !strings.ContainsAny(pat, "^$*+?.([%-")) {
		if i := strings.Index(src[at:], pat); i >= 0 {
			found = []lua.LValue{lua.LNumber(at + i + 1), lua.LNumber(at + i + len(pat))}
		}
	} else {
		m.matching(l, src, pat, func(x *matcher) {
			start, end := x.search(at)
			switch {
			case end < 0:
			case find:
				found = append([]lua.LValue{lua.LNumber(start + 1), lua.LNumber(end)}, x.all(start, end, false)...)
			default:
				found = x.all(start, end, true)
			}
		})
	}
	for _, v := range found {
		l.Push(v)
	}
	return len(found)
}

func (m *meter) gmatch(l *lua.LState) int {
	src, pat, at := l.CheckString(1), l.CheckString(2), 0
	l.Push(l.NewFunction(m.library(func(l *lua.LState) int {
		n := 0
		m.matching(l, src, pat, func(x *matcher) {
			for ; at <= len(src) && m.over == nil; at++ { // ^ means itself here
				x.level = 0
				e := x.match(at, 0)
				if e < 0 {
					continue
				}
				for _, v := range x.all(at, e, true) {
					l.Push(v)
					n++
				}
				if e == at {
					e++
				}
				at = e
				return
			}
		})
		if n == 0 {
			l.Push(lua.LNil)
			n = 1
		}
		return n
	})))
	return 1
}

func (m *meter) gsub(l *lua.LState) int {
	src, pat, by := l.CheckString(1), l.CheckString(2), l.Get(3)
	switch by.(type) {
	case lua.LString, lua.LNumber, *lua.LTable, *lua.LFunction:
	default:
		l.ArgError(3, "string/function/table expected")
	}
	most, n := l.OptInt(4, len(src)+1), 0
	var out strings.Builder
	m.matching(l, src, pat, func(x *matcher) {
		p, at := 0, 0
		if strings.HasPrefix(pat, "^") {
			p = 1
		}
		for n < most && m.over == nil {
			x.level = 0
			e := x.match(at, p)
			if e >= 0 {
				n++
				m.replace(l, x, &out, by, at, e)
			}
			switch {
			case e > at:
				at = e
			case at < len(src):
				out.WriteByte(src[at])
				at++
			default:
				at++
			}
			if at > len(src) || p == 1 {
				break
			}
		}
		if at < len(src) {
			out.WriteString(src[at:])
		}
	})
	l.Push(lua.LString(out.String()))
	l.Push(lua.LNumber(n))
	return 2
}

// replace writes what comes in the place of a match.
func (m *meter) replace(l *lua.LState, x *matcher, out *strings.Builder, by lua.LValue, at, end int) {
	var v lua.LValue
	switch by := by.(type) {
	case *lua.LTable:
		v = l.GetTable(by, x.captured(0, at, end))
	case *lua.LFunction:
		l.Push(by)
		all := x.all(at, end, true)
		for _, c := range all {
			l.Push(c)
		}
		l.Call(len(all), 1)
		v = l.Get(-1)
		l.Pop(1)
	default:
		x.expand(out, by.String(), at, end)
		return
	}
	if !lua.LVAsBool(v) {
		v = lua.LString(x.src[at:end])
	}
	if !lua.LVCanConvToString(v) {
		wrong("invalid replacement value (a " + v.Type().String() + ")")
	}
	x.add(out, v.String())
}

// expand writes a replacement with its %1.
func (x *matcher) expand(out *strings.Builder, by string, at, end int) {
	for len(by) > 0 {
		plain, rest, more := strings.Cut(by, "%")
		if x.add(out, plain); !more {
			return
		}
		if rest == "" {
			rest = "%"
		}
		switch c := rest[0]; {
		case c == '0':
			x.add(out, x.src[at:end])
		case c >= '1' && c <= '9':
			x.add(out, x.captured(int(c-'1'), at, end).String())
		default:
			x.add(out, rest[:1])
		}
		by = rest[1:]
	}
}

func (x *matcher) add(out *strings.Builder, s string) {
	x.m.spend(1)
	if x.m.fits(out.Len() + len(s)); x.m.over == nil {
		out.WriteString(s)
	}
}
