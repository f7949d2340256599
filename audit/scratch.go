package audit

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"
)

// A log may not fit into memory. Lists (paged) and sorters therefore keep a bounded part of what was
// read in memory, and the rest in temporary files.

// room is how much of a log is kept in memory, and what keeps the rest in files.
type room struct {
	page   int // items of a page of a list; a power of two
	pages  int // pages of a list
	run    int // bytes that a sorter takes before it writes them down
	tokens int // tokens of a key that are remembered
	names  int // names that a worker remembers

	open *[]closer // the lists and sorters of the log; nil: their makers close them
}

// closer is a list or a sorter, which may be closed more than once.
type closer interface{ close() }

func (r room) add(c closer) {
	if r.open != nil {
		*r.open = append(*r.open, c)
	}
}

// close removes all temporary files.
func (r room) close() {
	for _, c := range *r.open {
		c.close()
	}
}

// usualRoom is the room where the options give none: about 120 MB with everything.
var usualRoom = room{page: 1 << 9, pages: 1 << 10, run: 1 << 20, tokens: 1 << 5, names: 1 << 16}

// scratch is a temporary file, made when it is first written to. Its name is removed at once, so
// nothing is left behind, whatever ends the program. Windows removes it when the file is closed,
// which it does itself when the program ends.
type scratch struct {
	file *os.File
	end  int64
}

// scratchError is an error of a temporary file. It is thrown as a panic, because nearly every line of
// the translation may meet one, and caught in every function that others call.
type scratchError struct{ error }

// caught turns a scratchError into the error that a function returns.
func caught(err *error) {
	if r := recover(); r != nil {
		wrong, ok := r.(scratchError)
		if !ok {
			panic(r)
		}
		*err = fmt.Errorf("keep the part of the log that does not fit into memory in a temporary file: %w; make room in %s, or choose another folder by TMPDIR (on Windows TMP)", wrong.error, os.TempDir())
	}
}

// write writes at the end of the file, and returns where.
func (s *scratch) write(data []byte) int64 {
	if s.file == nil {
		flags := os.O_RDWR | os.O_CREATE | os.O_EXCL
		if runtime.GOOS == "windows" {
			flags |= 0x04000000 // FILE_FLAG_DELETE_ON_CLOSE
		}
		file, err := os.OpenFile(filepath.Join(os.TempDir(), "lockchaos-log-"+rand.Text()), flags, 0o600)
		if err != nil {
			panic(scratchError{err})
		}
		s.file = file
		_ = os.Remove(file.Name())
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
		_ = s.file.Close() // its content is not needed any more
	}
	*s = scratch{}
}

// raw is the memory of items. They must have no pointers, because the garbage collector does not see those in a file.
func raw[T any](items []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(items))), len(items)*int(unsafe.Sizeof(*new(T))))
}
