package script

import (
	"context"
	"fmt"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// The bounds of one script. A step is an instruction of Lua, or as much work in a function of a
// library.
const (
	mostSteps = 1_000_000
	// mostBytes is what the strings and arrays that a script makes may take together. Those shorter
	// than small are not counted: there are no more of them than steps.
	mostBytes = 64 << 20
	small     = 256
	// longestString bounds one string, and longestScript a script: the compiler goes as deep as a
	// script nests.
	longestString = 1 << 20
	longestScript = 64 << 10
	// mostThreads is how many coroutines a script may make.
	mostThreads = 100
	// deepest is how deep a table may nest that a script returns or has encoded.
	deepest = 1000
	// longestArray is the largest index that a script can make an array of in one step: gopher-lua
	// fills an array with nil up to the index that is written.
	longestArray = 1 << 20
)

// gopher-lua has this as a variable, so that it can be set once, before it runs.
func init() { lua.MaxArrayIndex = longestArray }

// Exceeded says which bound a script exceeded. It ends the run, and not only the script.
type Exceeded struct{ what string }

func (e *Exceeded) Error() string {
	return fmt.Sprintf("a script that %s: a simulation does not allow it", e.what)
}

// meter counts what one run of a script takes.
type meter struct {
	steps, bytes int64
	threads      int
	strings      map[*byte]bool      // kept, so that no other string gets the same address
	arrays       map[*lua.LTable]int // their longest lengths
	names        map[lua.LValue]int  // what tostring says of what has no text
	stop         func() error        // the run has ended otherwise
	over         error
}

func (m *meter) exceed(format string, args ...any) {
	if m.over == nil {
		m.over = &Exceeded{fmt.Sprintf(format, args...)}
	}
}

// spend counts steps, and reports whether the script may go on.
func (m *meter) spend(n int64) bool {
	if m.steps += n; m.steps > mostSteps {
		m.exceed("takes more than %d steps", mostSteps)
	}
	if m.over == nil && m.steps&0xfff < n {
		m.over = m.stop()
	}
	return m.over == nil
}

func (m *meter) take(n int64) {
	if m.bytes += n; m.bytes > mostBytes {
		m.exceed("makes strings and tables of more than %d MB", mostBytes>>20)
	}
}

// value counts what a script has got hold of.
func (m *meter) value(v lua.LValue) {
	switch v := v.(type) {
	case lua.LString:
		if len(v) < small {
			return
		}
		if len(v) > longestString {
			m.exceed("makes a string of more than %d KB", longestString>>10)
		}
		if at := unsafe.StringData(string(v)); !m.strings[at] {
			m.strings[at] = true
			m.take(int64(len(v)))
		}
	case *lua.LTable:
		m.table(v)
	}
}

// slot is what an element of an array takes (bytes).
const slot = 16

func (m *meter) table(t *lua.LTable) {
	n, most := t.Len(), m.arrays[t]
	if n < most { // it was looked for from the end of the array, past every nil
		m.steps += int64(most-n) / 256
	}
	if n >= small && n > most {
		m.take(slot * int64(n-most))
		m.arrays[t] = n
	}
}

// thread is the context of one thread of Lua: the interpreter asks it before each instruction
// whether it is done. The results of the instruction before are then in the thread's registers.
type thread struct {
	context.Context
	m *meter
	l *lua.LState
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (t *thread) Done() <-chan struct{} {
	if t.m.spend(1) {
		for i := 1; i <= t.l.GetTop(); i++ {
			t.m.value(t.l.Get(i))
		}
	}
	if t.m.over != nil {
		return closed
	}
	return nil
}

func (t *thread) Err() error { return t.m.over }

// watch has a thread's instructions counted.
func (m *meter) watch(l *lua.LState) { l.SetContext(&thread{context.Background(), m, l}) }
