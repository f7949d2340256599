package sim

import "encoding/binary"

// A program that computes without end must be stopped. wazero can leave compiled
// code for Go at each turn of each loop, and look: that costs a fourth of the time
// of a run, since every function of Go is a loop there. watchLoops has the code
// itself count down a number in its memory, at each turn: at 0 it ends. So a program
// has so many turns, wherever it runs, and can be stopped from outside, too.

// haltWord is the address of the number. Go places nothing in the first page of a program's memory:
// that is what nil points at.
const haltWord = 8

// looks is the code that counts down: if the number is 0 then, it traps.
var looks = []byte{
	// i32.const, i32.const, i64.load, i64.const -1, i64.add, i64.store
	0x41, haltWord, 0x41, haltWord, 0x29, 3, 0, 0x42, 0x7f, 0x7c, 0x37, 3, 0,
	// i32.const, i64.load, i64.eqz, if, unreachable, end
	0x41, haltWord, 0x29, 3, 0, 0x50, 0x04, 0x40, 0x00, 0x0b,
}

// watchLoops returns the module with the code that counts at the beginning of each turn of each
// loop. ok is false if it holds an instruction that is not known; it is then watched by wazero.
func watchLoops(wasm []byte) (watched []byte, ok bool) {
	watched = append(watched, wasm[:min(moduleHeader, len(wasm))]...)
	whole := eachSection(wasm, func(id byte, body []byte) bool {
		if id == sectionCode {
			if body, ok = watchCode(body); !ok {
				return false
			}
		}
		watched = append(binary.AppendUvarint(append(watched, id), uint64(len(body))), body...)
		return true
	})
	return watched, whole && ok
}

// watchCode does so with the code section.
func watchCode(section []byte) (watched []byte, ok bool) {
	r := reader{b: section}
	count := r.number()
	watched = binary.AppendUvarint(nil, uint64(count))
	for range count {
		body := r.take(r.number())
		if r.bad {
			return nil, false
		}
		f := reader{b: body}
		f.locals()
		code := append([]byte(nil), body[:len(body)-len(f.b)]...)
		for len(f.b) > 0 && !f.bad {
			at := f.b
			loop := f.instruction()
			code = append(code, at[:len(at)-len(f.b)]...)
			if loop {
				code = append(code, looks...)
			}
		}
		if f.bad {
			return nil, false
		}
		watched = append(binary.AppendUvarint(watched, uint64(len(code))), code...)
	}
	return watched, len(r.b) == 0
}

// reader reads a part of a module; bad: it is not what it should be.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.b, r.bad = nil, true
		return nil
	}
	head := r.b[:n]
	r.b = r.b[n:]
	return head
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// number reads an unsigned LEB128 number of 32 bits. Of signed ones it skips as many bytes.
func (r *reader) number() int {
	v, n := unsigned(r.b)
	if n == 0 {
		n = len(r.b) + 1
	}
	r.take(n)
	return int(uint32(v))
}

func (r *reader) numbers(n int) {
	for ; n > 0 && !r.bad; n-- {
		r.number()
	}
}

// locals skips what a function says of its local variables.
func (r *reader) locals() {
	for n := r.number(); n > 0 && !r.bad; n-- {
		r.number()
		r.byte()
	}
}

// instruction reads one, and reports whether it begins a loop. The numbers are
// those of the WebAssembly specification (5.4).
func (r *reader) instruction() (loop bool) {
	switch op := r.byte(); {
	case op == 0x00, op == 0x01, op == 0x05, op == 0x0b, op == 0x0f, op == 0x1a, op == 0x1b, op >= 0x45 && op <= 0xc4,
		op == 0xd1:
	case op >= 0x02 && op <= 0x04, op == 0x0c, op == 0x0d, op == 0x10, op >= 0x20 && op <= 0x26, op >= 0x3f &&
		op <= 0x42, op == 0xd0, op == 0xd2:
		r.number()
		return op == 0x03
	case op == 0x0e: // br_table
		r.numbers(r.number())
		r.number()
	case op == 0x11, op >= 0x28 && op <= 0x3e: // call_indirect, loads, stores
		r.numbers(2)
	case op == 0x43:
		r.take(4)
	case op == 0x44:
		r.take(8)
	case op == 0xfc:
		r.extended()
	default:
		r.bad = true
	}
	return false
}

// extended reads what follows the prefix of conversions and of bulk memory.
func (r *reader) extended() {
	switch op := r.number(); {
	case op < 8:
	case op == 9, op == 11:
		r.number()
	case op == 8, op == 10:
		r.numbers(2)
	default:
		r.bad = true
	}
}
