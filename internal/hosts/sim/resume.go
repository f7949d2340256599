package sim

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Go keeps the frames of its goroutines in the memory of a program, and not on the stack of
// WebAssembly. That stack may be unwound at any call: a loop (wasm_pc_f_loop of Go's runtime) then
// calls the function to which the topmost frame in memory returns. So a program that waits in
// poll_oneoff is nothing but its memory and its globals. Another instance that has them goes on
// there: the function that makes the call is called again, and then the loop. exposeResume exports
// what that takes.

// The names under which it is exported.
const (
	resumePoll   = "lockchaos_poll"
	resumeLoop   = "lockchaos_loop"
	resumeGlobal = "lockchaos_global_%d"
)

// mostGlobals bounds how many globals a program may have that is resumed. Go's have eight.
const mostGlobals = 64

// pollImport is the call in which programs wait.
const pollImport = "poll_oneoff"

// The sections of a module and the kinds of what it exports, by their numbers in the specification.
const (
	sectionImport = 2
	sectionGlobal = 6
	sectionExport = 7
	sectionCode   = 10

	kindFunction = 0
	kindGlobal   = 3
	opCall       = 0x10
)

// layout is what exposeResume finds in a module.
type layout struct {
	imports  []string // functions, by number
	globals  int
	exports  int
	exported []byte
	start    int // the number of the function _start
	polls    []int
	calls    []int // of _start, in their order
}

// exposeResume returns the module with these exports, and the number of its globals. ok is false if
// it is not laid out as Go's linker does.
func exposeResume(wasm []byte) (exposed []byte, globals int, ok bool) {
	l := layout{start: -1}
	if !eachSection(wasm, l.take) || len(l.polls) != 1 || len(l.calls) != 2 || l.globals > mostGlobals {
		return nil, 0, false
	}
	add := append(binary.AppendUvarint(nil, uint64(l.exports+2+l.globals)), l.exported...)
	export := func(name string, kind byte, number int) {
		add = append(binary.AppendUvarint(add, uint64(len(name))), name...)
		add = binary.AppendUvarint(append(add, kind), uint64(number))
	}
	export(resumePoll, kindFunction, l.polls[0])
	export(resumeLoop, kindFunction, l.calls[1]) // behind that of rt0_go
	for i := range l.globals {
		export(fmt.Sprintf(resumeGlobal, i), kindGlobal, i)
	}
	exposed = append(exposed, wasm[:moduleHeader]...)
	return exposed, l.globals, eachSection(wasm, func(id byte, body []byte) bool {
		if id == sectionExport {
			body = add
		}
		exposed = append(binary.AppendUvarint(append(exposed, id), uint64(len(body))), body...)
		return true
	})
}

// moduleHeader is how many bytes come before the sections.
const moduleHeader = 8

// eachSection calls fn with each section until that returns false. It reports whether it never did.
func eachSection(wasm []byte, fn func(id byte, body []byte) bool) bool {
	if len(wasm) < moduleHeader {
		return false
	}
	r := reader{b: wasm[moduleHeader:]}
	for len(r.b) > 0 {
		id := r.byte()
		if body := r.take(r.number()); r.bad || !fn(id, body) {
			return false
		}
	}
	return true
}

// take reads a section, and reports whether it is as expected.
func (l *layout) take(id byte, body []byte) bool {
	r := reader{b: body}
	switch id {
	case sectionImport:
		for n := r.number(); n > 0; n-- {
			_, name := r.take(r.number()), r.take(r.number())
			if r.byte() != kindFunction || r.bad {
				return false
			}
			r.number() // its type
			l.imports = append(l.imports, string(name))
		}
	case sectionGlobal:
		l.globals = r.number()
	case sectionExport:
		l.exports = r.number()
		l.exported = r.b
		for n := l.exports; n > 0 && !r.bad; n-- {
			name, kind, number := r.take(r.number()), r.byte(), r.number()
			if string(name) == "_start" && kind == kindFunction {
				l.start = number
			}
		}
	case sectionCode:
		return l.takeCode(&r)
	}
	return !r.bad
}

// takeCode looks for the calls of _start, and for the functions that call poll_oneoff.
func (l *layout) takeCode(r *reader) bool {
	poll := slices.Index(l.imports, pollImport)
	n := r.number()
	for number := len(l.imports); n > 0 && !r.bad; n, number = n-1, number+1 {
		f := reader{b: r.take(r.number())}
		f.locals()
		for len(f.b) > 0 {
			at := f.b
			f.instruction()
			if at[0] != opCall {
				continue
			}
			called, _ := unsigned(at[1:])
			if int(called) == poll {
				l.polls = append(l.polls, number)
			}
			if number == l.start {
				l.calls = append(l.calls, int(called))
			}
		}
		if f.bad {
			return false
		}
	}
	return !r.bad
}
