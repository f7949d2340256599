//go:build linux

package clockskew

import "golang.org/x/arch/x86/x86asm"

// leaves are the instructions that do not hand on to the next one, or that depend on where they
// stand. (Conditional jumps need no mention: they have an argument relative to themselves.)
var leaves = map[x86asm.Op]bool{
	x86asm.JMP: true, x86asm.CALL: true, x86asm.RET: true, x86asm.LRET: true, x86asm.LJMP: true, x86asm.LCALL: true,
	x86asm.SYSCALL: true, x86asm.SYSENTER: true, x86asm.INT: true, x86asm.INTO: true, x86asm.IRET: true,
	x86asm.IRETD: true, x86asm.IRETQ: true,
	x86asm.UD1: true, x86asm.UD2: true, x86asm.HLT: true,
}

// prologue measures the whole instructions at the start of the function fn that make up at
// least n bytes, if they may be carried out elsewhere as well: none leaves, none has an
// address relative to itself, and nothing in fn jumps back among them. Else it returns 0.
func prologue(fn []byte, n int) int {
	size := 0
	for size < n {
		inst, ok := decode(fn, size)
		if !ok || leaves[inst.Op] || relative(inst) {
			return 0
		}
		size += inst.Len
	}
	for at := size; at < len(fn); {
		inst, ok := decode(fn, at)
		if !ok {
			at++ // data or an instruction of tomorrow: find the thread again
			continue
		}
		at += inst.Len
		for _, arg := range inst.Args {
			if rel, ok := arg.(x86asm.Rel); ok && at+int(rel) >= 0 && at+int(rel) < size {
				return 0
			}
		}
	}
	return size
}

// endbr64 marks where indirect jumps may land; the decoder takes it for several instructions.
const endbr64 = "\xf3\x0f\x1e\xfa"

// decode returns the instruction at an offset of fn.
func decode(fn []byte, at int) (x86asm.Inst, bool) {
	if at+len(endbr64) <= len(fn) && string(fn[at:at+len(endbr64)]) == endbr64 {
		return x86asm.Inst{Op: x86asm.NOP, Len: len(endbr64)}, true
	}
	if at >= len(fn) {
		return x86asm.Inst{}, false
	}
	inst, err := x86asm.Decode(fn[at:], 64)
	return inst, err == nil && inst.Op != 0 && inst.Len > 0 && at+inst.Len <= len(fn)
}

// relative reports whether an instruction means something else elsewhere.
func relative(inst x86asm.Inst) bool {
	if inst.PCRel != 0 {
		return true
	}
	for _, arg := range inst.Args {
		switch a := arg.(type) {
		case x86asm.Rel:
			return true
		case x86asm.Mem:
			if a.Base == x86asm.RIP || a.Base == x86asm.EIP {
				return true
			}
		}
	}
	return false
}
