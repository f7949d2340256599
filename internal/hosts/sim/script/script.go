// Package script runs the Lua scripts of a simulated Redis. Scripts are part of the
// lock under test, and nobody has read them: they run inside of lockchaos, so they get
// no function that reads a file or prints, and bounds on time and memory. The bounds
// are counted in steps and bytes, so that a run ends at the same step each time.
package script

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	luajson "github.com/alicebob/miniredis/v2/gopher-json"
	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// Script is a script that is compiled.
type Script struct {
	// SHA is what Redis calls it.
	SHA   string
	proto *lua.FunctionProto
	// plain: it names no library, but that of strings with text (plain.go).
	plain, text bool
}

// SHA is the name of a script's text.
func SHA(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Compile compiles a script. The error is Lua's, or [Exceeded].
func Compile(text string) (*Script, error) {
	proto, err := compile(text, "<string>")
	if err != nil {
		return nil, err
	}
	s := &Script{SHA: SHA(text), proto: proto}
	s.plain, s.text = isPlain(proto)
	return s, nil
}

func compile(text, name string) (*lua.FunctionProto, error) {
	if len(text) > longestScript {
		return nil, &Exceeded{fmt.Sprintf("is longer than %d KB", longestScript>>10)}
	}
	chunk, err := parse.Parse(strings.NewReader(text), name)
	if err != nil {
		return nil, err
	}
	return lua.Compile(chunk, "")
}

// Redis is what a script runs on.
type Redis struct {
	// Call carries a command out, with a reply of Redis or an error.
	Call func(args []string) (reply any, err error)
	// Refuses says why a command must not be called; "": it may.
	Refuses func(args []string) string
	// Stop is the error that ends the script, if the run has ended.
	Stop func() error
}

// Run runs the script, writes its reply, and returns how many steps it took.
// The error ends the run; what is wrong with a script is a reply.
func (s *Script) Run(r Redis, reply *server.Peer, keys, argv []string) (steps int64, err error) {
	m := &meter{strings: map[*byte]bool{}, arrays: map[*lua.LTable]int{}, names: map[lua.LValue]int{}, stop: r.Stop}
	l := lua.NewState(lua.Options{SkipOpenLibs: true, CallStackSize: lua.CallStackSize, MinimizeStackMemory: true,
		RegistrySize: 512, RegistryGrowStep: 512, RegistryMaxSize: lua.RegistrySize})
	defer l.Close()
	if s.plain {
		m.openPlain(l, s.text)
	} else {
		m.open(l)
	}
	list := func(name string, values []string) {
		t := l.CreateTable(len(values), 0)
		for _, v := range values {
			t.Append(lua.LString(v))
		}
		l.SetGlobal(name, t)
	}
	list("KEYS", keys)
	list("ARGV", argv)
	mod := m.redis(l, r, s.SHA, reply)
	l.SetGlobal("redis", mod)
	l.SetGlobal("server", mod)
	protect(l)
	m.watch(l)
	l.Push(l.NewFunctionFromProto(s.proto))
	resp3 := reply.Resp3
	err = l.PCall(0, lua.MultRet, nil)
	if m.over != nil {
		return m.steps, m.over
	}
	if err != nil {
		reply.WriteError(m.complaint(l, err))
		return m.steps, nil
	}
	if !nests(l.Get(1), deepest, map[*lua.LTable]int{}, m) {
		reply.WriteError("ERR reached lua stack limit")
	} else {
		m.reply(l, reply, l.Get(1))
	}
	reply.Resp3, reply.SwitchResp3 = resp3, nil
	return m.steps, m.over
}

// Complaint is what Redis answers to a script that is wrong.
func Complaint(err error) string {
	return fmt.Sprintf("ERR Error compiling script (new function): %s", err.Error())
}

// missing are functions of gopher-lua that a script must not have. Redis has none of them.
var missing = []string{"print", "dofile", "loadfile", "require", "module", "_printregs", "newproxy"}

// open gives a script its libraries.
func (m *meter) open(l *lua.LState) {
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenCoroutine, lua.OpenTable, lua.OpenString,
		lua.OpenMath} {
		l.Push(l.NewFunction(open))
		l.Call(0, 0)
	}
	for _, name := range missing {
		l.SetGlobal(name, lua.LNil)
	}
	base, text, tables := l.GetGlobal("_G").(*lua.LTable), l.GetGlobal("string").(*lua.LTable),
		l.GetGlobal("table").(*lua.LTable)
	m.counted(l, text)
	m.counted(l, tables)
	m.textual(l, text)
	m.guard(l, tables, "concat", m.concat)
	m.guard(l, base, "unpack", func(l *lua.LState) { m.spend(int64(l.CheckTable(1).Len())) })
	base.RawSetString("collectgarbage", l.NewFunction(func(l *lua.LState) int { l.Push(lua.LNumber(0)); return 1 }))
	base.RawSetString("loadstring", l.NewFunction(m.load))
	base.RawSetString("load", l.NewFunction(m.load))
	m.coroutines(l)
	m.json(l)
	l.RegisterModule("os", map[string]lua.LGFunction{"clock": func(l *lua.LState) int { l.Push(lua.LNumber(42)); return 1 }})
	m.steady(l)
}

// counted has the work of a library's functions counted.
func (m *meter) counted(l *lua.LState, mod *lua.LTable) {
	mod.ForEach(func(name, fn lua.LValue) {
		if f, ok := fn.(*lua.LFunction); ok && f.IsG {
			mod.RawSet(name, l.NewFunction(m.library(f.GFunction)))
		}
	})
}

// library counts the work of a function by the sizes of its arguments.
func (m *meter) library(fn lua.LGFunction) lua.LGFunction {
	return func(l *lua.LState) int {
		for i := 1; i <= l.GetTop(); i++ {
			switch v := l.Get(i).(type) {
			case lua.LString:
				m.spend(int64(len(v)) / 64)
			case *lua.LTable:
				m.spend(int64(v.Len()) / 4)
			}
		}
		m.check(l)
		return fn(l)
	}
}

// check raises an error if the script has exceeded a bound.
func (m *meter) check(l *lua.LState) {
	if m.over != nil {
		l.RaiseError("%s", m.over.Error())
	}
}

// guard has a function look at its arguments before it works.
func (m *meter) guard(l *lua.LState, mod *lua.LTable, name string, look func(*lua.LState)) {
	fn := mod.RawGetString(name).(*lua.LFunction).GFunction
	mod.RawSetString(name, l.NewFunction(func(l *lua.LState) int {
		look(l)
		m.check(l)
		return fn(l)
	}))
}

func (m *meter) concat(l *lua.LState) {
	t, sep, total := l.CheckTable(1), len(l.OptString(2, "")), 0
	for i, n := max(1, l.OptInt(3, 1)), min(t.Len(), l.OptInt(4, t.Len())); i <= n && m.spend(1); i++ {
		total += sep
		if s, ok := t.RawGetInt(i).(lua.LString); ok {
			total += len(s)
		}
	}
	m.fits(total)
}

// load is loadstring, and load of a string: a function that makes the text
// piece by piece would come to the same.
func (m *meter) load(l *lua.LState) int {
	text := l.CheckString(1)
	m.spend(int64(len(text)))
	m.check(l)
	proto, err := compile(text, l.OptString(2, "<string>"))
	var exceeded *Exceeded
	switch {
	case errors.As(err, &exceeded):
		m.over = err
		m.check(l)
	case err != nil:
		l.Push(lua.LNil)
		l.Push(lua.LString(err.Error()))
		return 2
	}
	l.Push(l.NewFunctionFromProto(proto))
	return 1
}

// coroutines has the instructions of coroutines counted too.
func (m *meter) coroutines(l *lua.LState) {
	mod := l.GetGlobal("coroutine").(*lua.LTable)
	for _, name := range []string{"create", "wrap"} {
		made := mod.RawGetString(name).(*lua.LFunction).GFunction
		mod.RawSetString(name, l.NewFunction(func(l *lua.LState) int {
			if m.threads++; m.threads > mostThreads {
				m.exceed("makes more than %d coroutines", mostThreads)
				m.check(l)
			}
			n := made(l)
			switch v := l.Get(-1).(type) {
			case *lua.LState:
				m.watch(v)
			case *lua.LFunction:
				m.watch(v.Upvalues[0].Value().(*lua.LState))
			}
			return n
		}))
	}
}

func (m *meter) json(l *lua.LState) {
	luajson.Loader(l)
	mod := l.Get(-1).(*lua.LTable)
	l.Pop(1)
	mod.RawSetString("decode", l.NewFunction(m.decode))
	m.guard(l, mod, "encode", func(l *lua.LState) {
		if !nests(l.CheckAny(1), deepest, map[*lua.LTable]int{}, m) && m.over == nil {
			l.RaiseError("Cannot serialise, excessive depth")
		}
	})
	l.SetGlobal("cjson", ordered(l, mod))
}

// protect has a script fail that uses a global variable which there is not.
func protect(l *lua.LState) {
	refuse := func(what string) lua.LGFunction {
		return func(l *lua.LState) int {
			l.RaiseError("Script attempted to %s '%s'", what, l.ToStringMeta(l.Get(2)).String())
			return 0
		}
	}
	meta := l.NewTable()
	meta.RawSetString("__index", l.NewFunction(refuse("access nonexistent global variable")))
	meta.RawSetString("__newindex", l.NewFunction(refuse("create global variable")))
	l.SetMetatable(l.G.Global, meta)
}

// nests reports whether a value nests no deeper than left. seen are the tables that were looked at,
// with how much was left to each.
func nests(v lua.LValue, left int, seen map[*lua.LTable]int, m *meter) bool {
	t, ok := v.(*lua.LTable)
	if !ok {
		return true
	}
	if was, ok := seen[t]; ok && was <= left {
		return true
	}
	if left == 0 || m.over != nil {
		return false
	}
	seen[t] = left
	whole := true
	t.ForEach(func(_, v lua.LValue) {
		whole = whole && m.spend(1) && nests(v, left-1, seen, m)
	})
	return whole
}
