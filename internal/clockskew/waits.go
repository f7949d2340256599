//go:build linux

package clockskew

import (
	"debug/elf"
	"encoding/binary"
	"strings"

	"golang.org/x/sys/unix"
)

// condWait is the function whose deadlines are translated.
const condWait = "pthread_cond_timedwait"

// waits are the slots of global offset tables through which the target's
// modules call pthread_cond_timedwait.
type waits struct {
	slots    []uint64
	original uint64 // where they lead without us
	target   uint64 // where they shall lead
}

func (w waits) to(target uint64) waits {
	w.target = target
	return w
}

// waits finds them. A static program has none. A slot that is bound at its
// first call, and was not called yet, is left alone.
func (t *Target) waits() (w waits, err error) {
	all, err := t.dir.mappings()
	if err != nil {
		return w, err
	}
	ends := map[string]uint64{} // of each module's last mapping
	for _, m := range all {
		ends[m.path] = m.to
	}
	seen := map[string]bool{}
	for _, m := range all {
		if m.offset != 0 || !strings.HasPrefix(m.path, "/") || seen[m.path] {
			continue
		}
		seen[m.path] = true // the first mapping of its beginning is where it was loaded
		for _, slot := range t.slotsOf(m) {
			leads, err := t.readWord(slot)
			if err != nil {
				continue // not mapped
			}
			if leads == t.at(entryAt(entryCond)) { // by us
				if leads, err = t.readWord(t.at(offOrig)); err != nil {
					return w, err
				}
			}
			if leads >= m.from && leads < ends[m.path] {
				continue // into its own linkage table: not bound yet
			}
			if w.original != 0 && leads != w.original {
				continue // another version of the symbol
			}
			w.slots, w.original = append(w.slots, slot), leads
		}
	}
	return w, nil
}

// slotsOf returns the addresses of a module's slots. What is no ELF file, or
// cannot be read, has none.
func (t *Target) slotsOf(m mapping) (slots []uint64) {
	file, err := t.dir.open("root"+m.path, unix.O_RDONLY)
	if err != nil {
		return nil
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	e, err := elf.NewFile(file)
	if err != nil || e.Machine != elf.EM_X86_64 || e.Class != elf.ELFCLASS64 {
		return nil
	}
	bias, loaded := uint64(0), false
	for _, p := range e.Progs {
		if p.Type == elf.PT_LOAD && !loaded {
			bias, loaded = m.from-p.Vaddr&^0xfff, true
		}
	}
	for _, s := range slotOffsets(e) {
		slots = append(slots, bias+s)
	}
	return slots
}

// slotOffsets returns where a module's relocations put the address of pthread_cond_timedwait.
func slotOffsets(e *elf.File) (offsets []uint64) {
	symbols, err := e.DynamicSymbols()
	if err != nil {
		return nil
	}
	wanted := map[uint32]bool{}
	for i, s := range symbols {
		if s.Name == condWait && s.Section == elf.SHN_UNDEF {
			wanted[uint32(i+1)] = true // DynamicSymbols leaves out the null symbol
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for _, s := range e.Sections {
		if s.Type != elf.SHT_RELA {
			continue
		}
		table, err := s.Data()
		if err != nil {
			continue
		}
		const entry = 24 // r_offset, r_info, r_addend
		for ; len(table) >= entry; table = table[entry:] {
			info := binary.LittleEndian.Uint64(table[8:])
			kind := elf.R_X86_64(elf.R_TYPE64(info))
			if wanted[elf.R_SYM64(info)] && (kind == elf.R_X86_64_JMP_SLOT || kind == elf.R_X86_64_GLOB_DAT) {
				offsets = append(offsets, binary.LittleEndian.Uint64(table))
			}
		}
	}
	return offsets
}
