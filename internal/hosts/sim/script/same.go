package script

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// What gopher-lua does by addresses, by the order of Go's maps and by random
// numbers of the process, these functions do the same way in each run.

// steady replaces such functions.
func (m *meter) steady(l *lua.LState) {
	maths := l.GetGlobal("math").(*lua.LTable)
	draws := rand.New(rand.NewPCG(0, 0)) // Redis seeds each script alike
	maths.RawSetString("random", l.NewFunction(func(l *lua.LState) int { l.Push(random(l, draws)); return 1 }))
	maths.RawSetString("randomseed", l.NewFunction(func(l *lua.LState) int {
		*draws = *rand.New(rand.NewPCG(uint64(l.CheckInt64(1)), 0))
		return 0
	}))
	l.SetGlobal("tostring", l.NewFunction(m.tostring))
	m.steadyFormat(l, l.GetGlobal("string").(*lua.LTable))
	for _, name := range []string{"string", "table", "math", "coroutine", "os"} {
		l.SetGlobal(name, ordered(l, l.GetGlobal(name).(*lua.LTable)))
	}
	ofStrings(l, l.GetGlobal("string").(*lua.LTable))
	global := ordered(l, l.G.Global)
	global.RawSetString("_G", global)
	l.G.Global, l.Env = global, global
}

// steadyFormat has string.format write no address.
func (m *meter) steadyFormat(l *lua.LState, text *lua.LTable) {
	m.guard(l, text, "format", func(l *lua.LState) {
		for i := 2; i <= l.GetTop(); i++ {
			if hasAddress(l, l.Get(i)) {
				l.Replace(i, m.named(l, l.Get(i)))
			}
		}
	})
}

// ofStrings has strings find their methods in the library.
func ofStrings(l *lua.LState, text *lua.LTable) {
	text.RawSetString("__index", text)
	l.SetMetatable(lua.LString(""), text)
}

func random(l *lua.LState, draws *rand.Rand) lua.LValue {
	least, most := 1, 0
	switch l.GetTop() {
	case 0:
		return lua.LNumber(draws.Float64())
	case 1:
		most = l.CheckInt(1)
	default:
		least, most = l.CheckInt(1), l.CheckInt(2)
	}
	if most < least || most-least < 0 || most-least+1 <= 0 {
		l.ArgError(l.GetTop(), "interval is empty")
	}
	return lua.LNumber(least + draws.IntN(most-least+1))
}

// ordered returns a table whose fields stand in the order of their names.
func ordered(l *lua.LState, t *lua.LTable) *lua.LTable {
	type field struct {
		name  string
		value lua.LValue
	}
	var fields []field
	t.ForEach(func(name, v lua.LValue) { fields = append(fields, field{name.String(), v}) })
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	sorted := l.CreateTable(0, len(fields))
	for _, f := range fields {
		sorted.RawSetString(f.name, f.value)
	}
	return sorted
}

// hasAddress reports whether gopher-lua would write a value with its address.
func hasAddress(l *lua.LState, v lua.LValue) bool {
	switch v.Type() {
	case lua.LTTable, lua.LTFunction, lua.LTThread, lua.LTUserData:
		return l.GetMetaField(v, "__tostring") == lua.LNil
	}
	return false
}

func (m *meter) tostring(l *lua.LState) int {
	l.Push(m.named(l, l.CheckAny(1)))
	return 1
}

// named is tostring: what has no text has a number instead of an address.
func (m *meter) named(l *lua.LState, v lua.LValue) lua.LValue {
	if !hasAddress(l, v) {
		return l.ToStringMeta(v)
	}
	n, ok := m.names[v]
	if !ok {
		n = len(m.names) + 1
		m.names[v] = n
	}
	return lua.LString(fmt.Sprintf("%s: 0x%012x", v.Type(), n))
}

// complaint is what becomes of an error of a script.
func (m *meter) complaint(l *lua.LState, err error) string {
	failed, ok := err.(*lua.ApiError)
	if !ok || failed.Object == nil || failed.Object.Type() != lua.LTTable {
		return Complaint(err)
	}
	if s, ok := failed.Object.(*lua.LTable).RawGetString("err").(lua.LString); ok {
		return string(s)
	}
	return Complaint(fmt.Errorf("%s", m.named(l, failed.Object)))
}

// decode is cjson.decode, with the fields of an object in the order of their names.
func (m *meter) decode(l *lua.LState) int {
	text := l.CheckString(1)
	m.spend(int64(len(text)) / 4)
	m.take(int64(len(text)) * slot)
	m.check(l)
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		l.Push(lua.LNil)
		l.Push(lua.LString(err.Error()))
		return 2
	}
	l.Push(decoded(l, value))
	return 1
}

func decoded(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case bool:
		return lua.LBool(v)
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case []any:
		t := l.CreateTable(len(v), 0)
		for _, e := range v {
			t.Append(decoded(l, e))
		}
		return t
	case map[string]any:
		t := l.CreateTable(0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			t.RawSetString(name, decoded(l, v[name]))
		}
		return t
	}
	return lua.LNil
}
