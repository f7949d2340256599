package script

import (
	"slices"
	"sync"

	lua "github.com/yuin/gopher-lua"
)

// Most scripts of locks compare a value and call a command or two. To open all libraries for each
// run of one takes longer than the run. A script that names no library but that of strings, nor a
// function that finds global variables by their names, gets plainFunctions and that library, if it
// names it: it can reach nothing else.

// plainFunctions are those of gopher-lua that a script may name and stay plain.
var plainFunctions = []string{"assert", "error", "pcall", "tonumber", "type"}

// opened are the functions of plainFunctions, and the names of all global variables of a script.
var opened = sync.OnceValues(func() (functions map[string]lua.LGFunction, globals map[string]bool) {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	(&meter{strings: map[*byte]bool{}, arrays: map[*lua.LTable]int{}, names: map[lua.LValue]int{}}).open(l)
	functions, globals = map[string]lua.LGFunction{}, map[string]bool{}
	l.G.Global.ForEach(func(name, v lua.LValue) {
		globals[name.String()] = true
		if f, is := v.(*lua.LFunction); is && slices.Contains(plainFunctions, name.String()) {
			functions[name.String()] = f.GFunction
		}
	})
	return functions, globals
})

// namedStrings is the library of strings.
const namedStrings = "string"

// isPlain reports whether a script is plain, and whether it names the library of strings.
func isPlain(proto *lua.FunctionProto) (plain, text bool) {
	_, globals := opened()
	for _, c := range proto.Constants {
		name, is := c.(lua.LString)
		switch {
		case !is || !globals[string(name)] || name == "tostring" || slices.Contains(plainFunctions, string(name)):
		case name == namedStrings:
			text = true
		default:
			return false, text
		}
	}
	for _, p := range proto.FunctionPrototypes {
		plain, named := isPlain(p)
		if text = text || named; !plain {
			return false, text
		}
	}
	return true, text
}

// openPlain gives a script what a plain one can name. text: it names the library of strings.
func (m *meter) openPlain(l *lua.LState, text bool) {
	functions, _ := opened()
	for _, name := range plainFunctions {
		l.SetGlobal(name, l.NewFunction(functions[name]))
	}
	l.SetGlobal("tostring", l.NewFunction(m.tostring))
	if text {
		l.SetGlobal(namedStrings, m.openText(l))
		return
	}
	index := l.NewTable() // of strings, whose methods need no name of the library
	index.RawSetString("__index", l.NewFunction(func(l *lua.LState) int {
		l.Push(m.openText(l).RawGet(l.Get(2)))
		return 1
	}))
	l.SetMetatable(lua.LString(""), index)
}

// openText opens the library of strings while a plain script runs.
func (m *meter) openText(l *lua.LState) *lua.LTable {
	global := l.G.Global
	guard := global.Metatable
	global.Metatable = lua.LNil
	l.Push(l.NewFunction(lua.OpenString))
	l.Call(0, 0)
	text := l.GetGlobal(namedStrings).(*lua.LTable)
	global.Metatable = guard
	m.counted(l, text)
	m.textual(l, text)
	m.steadyFormat(l, text)
	text = ordered(l, text)
	ofStrings(l, text)
	return text
}
