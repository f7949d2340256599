package script

import (
	"fmt"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// redis is the module of that name. What it does is what that of miniredis does.
func (m *meter) redis(l *lua.LState, r Redis, sha string, outer *server.Peer) *lua.LTable {
	mod := l.NewTable()
	for name, level := range map[string]int{"LOG_DEBUG": 0, "LOG_VERBOSE": 1, "LOG_NOTICE": 2, "LOG_WARNING": 3} {
		mod.RawSetString(name, lua.LNumber(level))
	}
	for name, fn := range map[string]lua.LGFunction{
		"call":  func(l *lua.LState) int { return m.call(l, r, sha, true) },
		"pcall": func(l *lua.LState) int { return m.call(l, r, sha, false) },
		"error_reply": func(l *lua.LState) int {
			kind, rest, said := strings.Cut(text(l), " ")
			kind = strings.TrimPrefix(kind, "-")
			if said {
				l.Push(single("err", kind+" "+rest))
			} else {
				l.Push(single("err", "ERR "+kind))
			}
			return 1
		},
		"status_reply": func(l *lua.LState) int { l.Push(single("ok", text(l))); return 1 },
		"log":          func(*lua.LState) int { return 0 },
		"sha1hex":      func(l *lua.LState) int { l.Push(lua.LString(SHA(lua.LVAsString(l.Get(1))))); return 1 },
		"replicate_commands": func(l *lua.LState) int {
			l.Push(lua.LTrue)
			return 1
		},
		"set_repl": func(*lua.LState) int { return 0 },
		"setresp": func(l *lua.LState) int {
			level := l.CheckInt(1)
			if level != 2 && level != 3 {
				l.Error(lua.LString("RESP version must be 2 or 3"), 1)
			}
			three := level == 3
			outer.SwitchResp3 = &three
			return 0
		},
	} {
		mod.RawSetString(name, l.NewFunction(m.library(fn)))
	}
	return ordered(l, mod)
}

// text is the only argument, a string.
func text(l *lua.LState) string {
	s, ok := l.Get(1).(lua.LString)
	if !ok {
		l.Error(lua.LString("wrong number or type of arguments"), 1)
	}
	return string(s)
}

// single is a table with one field.
func single(name, value string) *lua.LTable {
	t := &lua.LTable{}
	t.RawSetString(name, lua.LString(value))
	return t
}

// callCost is what a command costs beside what it is told and answers (steps).
const callCost = 20

// call is redis.call, or redis.pcall.
func (m *meter) call(l *lua.LState, r Redis, sha string, raise bool) int {
	var args []string
	for i := 1; i <= l.GetTop(); i++ {
		switch a := l.Get(i).(type) {
		case lua.LNumber:
			args = append(args, a.String())
		case lua.LString:
			args = append(args, string(a))
		default:
			l.Error(lua.LString(fmt.Sprintf("Lua redis lib command arguments must be strings or integers script: %s, &c.", sha)), 1)
		}
	}
	if len(args) == 0 {
		l.Error(lua.LString(fmt.Sprintf("Please specify at least one argument for this redis lib call script: %s, &c.",
			sha)), 1)
	}
	if why := r.Refuses(args); why != "" {
		return failed(l, why, raise)
	}
	m.spend(callCost)
	m.check(l)
	reply, err := r.Call(args)
	if m.over == nil {
		m.over = r.Stop()
	}
	m.check(l)
	switch {
	case err == nil:
		l.Push(m.answer(l, reply))
		m.check(l)
		return 1
	case !strings.Contains(err.Error(), "ERR unknown command"):
		return failed(l, err.Error(), raise)
	case raise:
		return failed(l, fmt.Sprintf("Unknown Redis command called from script script: %s, &c.", sha), raise)
	}
	return failed(l, "ERR Unknown Redis command called from script", raise)
}

func failed(l *lua.LState, why string, raise bool) int {
	if raise {
		l.Error(lua.LString(why), 1)
	}
	l.Push(single("err", why))
	return 1
}

// answer makes a value of Lua of a reply.
func (m *meter) answer(l *lua.LState, reply any) lua.LValue {
	m.spend(1)
	switch r := reply.(type) {
	case nil:
		return lua.LFalse
	case int:
		return lua.LNumber(r)
	case server.Simple:
		return single("ok", string(r))
	case string:
		m.spend(int64(len(r)) / 64)
		return lua.LString(r)
	case []any:
		m.take(slot * int64(len(r)))
		t := l.CreateTable(len(r), 0)
		for i, e := range r {
			if s, ok := e.(server.Simple); ok {
				e = string(s)
			}
			t.RawSetInt(i+1, m.answer(l, e))
		}
		return t
	}
	panic(fmt.Sprintf("a reply of Redis is a %T", reply))
}

// reply writes what a script returns.
func (m *meter) reply(l *lua.LState, c *server.Peer, v lua.LValue) {
	if !m.spend(1) {
		return
	}
	switch v := v.(type) {
	case lua.LBool:
		if v {
			c.WriteInt(1)
		} else {
			c.WriteNull()
		}
	case lua.LNumber:
		c.WriteInt(int(v))
	case lua.LString:
		c.WriteBulk(string(v))
	case *lua.LTable:
		m.replyTable(l, c, v)
	case *lua.LNilType, nil:
		c.WriteNull()
	default: // Redis has no reply for a function
		c.WriteNull()
	}
}

func (m *meter) replyTable(l *lua.LState, c *server.Peer, t *lua.LTable) {
	if s := t.RawGetString("err"); s != lua.LNil {
		c.WriteError(m.named(l, s).String())
		return
	}
	if s := t.RawGetString("ok"); s != lua.LNil {
		c.WriteInline(m.named(l, s).String())
		return
	}
	n := 0
	for t.RawGetInt(n+1) != lua.LNil && m.spend(1) {
		n++
	}
	c.WriteLen(n)
	for i := range n {
		m.reply(l, c, t.RawGetInt(i+1))
	}
}
