package audit

import (
	"fmt"
	"os"
	"unsafe"
)

// A log may be longer than memory is large. So what is known of its lines lies in lists and sorters
// that keep a bounded part of it in memory, and the rest in temporary files.

// room is how much of a log is kept in memory.
type room struct {
	page   int // items of a page of a list; a power of two
	pages  int // pages of a list
	run    int // bytes that a sorter takes before it writes them down
	tokens int // tokens of a key that are remembered
	names  int // names that whoever takes lines apart remembers
}

// usualRoom is the room where the options give none: about 120 MB with everything.
var usualRoom = room{page: 1 << 9, pages: 1 << 10, run: 1 << 20, tokens: 1 << 5, names: 1 << 16}

// scratch is a temporary file, made when it is first written to. It has no name, so nothing of it is
// left behind, whatever ends the program; where a system keeps the names of open files, it has one
// until it is closed.
type scratch struct {
	file *os.File
	name string
	end  int64
}

// scratchError is an error of a temporary file, as a panic: nearly every line of the translation may meet one. See caught.
type scratchError struct{ error }

// caught makes an error of a temporary file what a function returns.
func caught(err *error) {
	if r := recover(); r != nil {
		wrong, ok := r.(scratchError)
		if !ok {
			panic(r)
		}
		*err = fmt.Errorf("keep what does not fit into memory in a temporary file in %s (TMPDIR chooses another folder): %w", os.TempDir(), wrong.error)
	}
}

// write writes at the end of the file, and returns where.
func (s *scratch) write(data []byte) int64 {
	if s.file == nil {
		file, err := os.CreateTemp("", "lockchaos-log-")
		if err != nil {
			panic(scratchError{err})
		}
		s.file = file
		if os.Remove(file.Name()) != nil {
			s.name = file.Name()
		}
	}
	at := s.end
	s.writeAt(data, at)
	s.end += int64(len(data))
	return at
}

func (s *scratch) writeAt(data []byte, at int64) {
	if _, err := s.file.WriteAt(data, at); err != nil {
		panic(scratchError{err})
	}
}

func (s *scratch) read(data []byte, at int64) {
	if _, err := s.file.ReadAt(data, at); err != nil {
		panic(scratchError{err})
	}
}

func (s *scratch) close() {
	if s.file != nil {
		_ = s.file.Close() // nobody needs what is in it
	}
	if s.name != "" {
		_ = os.Remove(s.name)
	}
	*s = scratch{}
}

// raw is the memory of items, which have no pointers.
func raw[T any](items []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(items))), len(items)*int(unsafe.Sizeof(*new(T))))
}
