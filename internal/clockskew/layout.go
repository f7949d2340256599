//go:build linux

package clockskew

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// Offsets in our code; see asm/skew_amd64.asm.
const (
	magic      = "LOCKCHS1"
	offSeq     = 0x08
	offOrig    = 0x10
	offEntries = 0x18
	offTramp   = 0x28
	offBank    = 0x50
	offCode    = 0x210
	trampRoom  = offBank - offTramp
)

// jumpLen is the length of a jump with a 32-bit distance: what is overwritten of a function.
const jumpLen = 5

// The functions of the vDSO that are led to our code, in the order of its table of entries.
const (
	clockGettime = iota
	gettimeofday
	timeOfDay
	functions
)

// entryCond is the index in that table of what replaces pthread_cond_timedwait.
const entryCond = functions

var symbols = [functions]string{"__vdso_clock_gettime", "__vdso_gettimeofday", "__vdso_time"}

// layout says where things are in the vDSO's image: offsets from its start.
type layout struct {
	entry [functions]uint64 // 0: this kernel's vDSO does not have the function
	room  uint64            // for our code
}

// layoutOf finds the functions in a pristine image, and room for our code.
func layoutOf(img []byte) (l layout, err error) {
	f, err := elf.NewFile(bytes.NewReader(img))
	if err != nil {
		return l, fmt.Errorf("the vDSO is no ELF image: %w", err)
	}
	if f.Machine != elf.EM_X86_64 || f.Class != elf.ELFCLASS64 {
		return l, fmt.Errorf("%w: a vDSO for %v, %v", ErrUnsupported, f.Machine, f.Class)
	}
	var load *elf.Prog
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			load = p
			break
		}
	}
	if load == nil {
		return l, fmt.Errorf("%w: the vDSO has nothing to load", ErrUnsupported)
	}
	syms, err := f.DynamicSymbols()
	if err != nil {
		return l, fmt.Errorf("the vDSO's symbols: %w", err)
	}
	for _, s := range syms {
		for i, name := range symbols {
			if s.Name != name {
				continue
			}
			l.entry[i] = s.Value - load.Vaddr + load.Off
			if s.Size < jumpLen || l.entry[i]+s.Size > uint64(len(img)) {
				return l, fmt.Errorf("%w: %s has %d bytes", ErrUnsupported, name, s.Size)
			}
		}
	}
	if l.entry[clockGettime] == 0 {
		return l, fmt.Errorf("%w: the vDSO has no %s", ErrUnsupported, symbols[clockGettime])
	}
	l.room, err = roomIn(img, load.Off+load.Filesz)
	return l, err
}

// roomIn finds room for our code behind what is loaded: in the zero tail of the last
// page, or where that is too short from the end of the loaded part on. What lies between
// is the section table, which nobody needs at run time; it is left alone where it can be.
func roomIn(img []byte, loaded uint64) (uint64, error) {
	const line = 64 // of the cache
	align := func(n uint64) uint64 { return (n + line - 1) &^ (line - 1) }
	end, need := uint64(len(img)), uint64(len(code))
	used := uint64(len(bytes.TrimRight(img, "\x00")))
	for _, from := range []uint64{align(max(used, loaded)), align(loaded)} {
		if from+need <= end {
			return from, nil
		}
	}
	return 0, fmt.Errorf("%w: the vDSO has %d bytes to spare, and %d are needed", ErrUnsupported, end-min(end, loaded),
		need)
}

// entryAt is the offset in our code of entry i.
func entryAt(i int) uint64 { return uint64(binary.LittleEndian.Uint16(code[offEntries+2*i:])) }

// jump is the instruction that leads from one address to another.
func jump(from, to uint64) []byte {
	return binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(to-from-jumpLen))
}

// body is our code as it is put at an address, neutral, for the vDSO at base
// with the given pristine image. It reads the true clock by the vDSO's own code
// where that begins with instructions that can be moved; fast tells.
func body(img []byte, l layout, base, at uint64) (b []byte, fast bool) {
	b = bytes.Clone(code)
	for i := range 2 {
		copy(b[offBank+i*bankSize:], neutral().encode())
	}
	fn := l.entry[clockGettime]
	n := prologue(img[fn:], jumpLen)
	if n == 0 || n+jumpLen > trampRoom {
		return b, false
	}
	copy(b[offTramp:], img[fn:fn+uint64(n)])
	copy(b[offTramp+n:], jump(at+offTramp+uint64(n), base+fn+uint64(n)))
	return b, true
}

// inspect compares a target's image with the pristine one. Apart from our code
// and the entries the two must agree.
func inspect(img, pristine []byte, l layout) (found state, err error) {
	if len(img) != len(pristine) {
		return found, fmt.Errorf("%w: its vDSO has %d bytes, this program's %d: a program of another ABI (32 bits?)",
			ErrUnsupported, len(img), len(pristine))
	}
	same := bytes.Clone(img)
	copy(same[l.room:], pristine[l.room:l.room+uint64(len(code))])
	jumps := 0
	for i, e := range l.entry {
		if e == 0 {
			continue
		}
		if bytes.Equal(img[e:e+jumpLen], jump(e, l.room+entryAt(i))) {
			jumps++
			copy(same[e:], pristine[e:e+jumpLen])
		}
	}
	if !bytes.Equal(same, pristine) {
		return found, errors.New("its vDSO is not as this kernel made it: another tool, or another version of this one, has changed it; restart it")
	}
	ours := img[l.room:][:len(code)]
	if string(ours[:len(magic)]) == magic {
		if !bytes.Equal(ours[offCode:], code[offCode:]) ||
			!bytes.Equal(ours[offEntries:offTramp], code[offEntries:offTramp]) {
			return found, errors.New("another version of this package has changed its clocks; restart it")
		}
		found.written = true
		found.fast = !bytes.Equal(ours[offTramp:offBank], code[offTramp:offBank])
	}
	found.installed = found.written && jumps > 0
	if jumps > 0 && !found.written {
		return found, errors.New("its clocks lead to nowhere; restart it")
	}
	return found, nil
}

// state is what was found in a target.
type state struct {
	written   bool // our code is there, and threads may be inside
	installed bool // the clocks lead to it
	fast      bool // it reads the true clock by the vDSO's own code
}
