// Package spill keeps what may not fit into memory: lists, and sorters that put
// items in order. Both keep a bounded part of their items in memory (Room), and
// the rest in temporary files. Their items have no pointers.
//
// Nearly every line of a translation may meet an error of such a file. So it is
// thrown as a panic, and every function that others call has
//
//	defer spill.Caught(&err)
package spill

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"
)

// Room is how much of a log is kept in memory, and what keeps the rest in files.
type Room struct {
	Page   int // items of a page of a list; a power of two
	Pages  int // pages of a list
	Run    int // bytes that a sorter takes before it writes them down
	Tokens int // tokens of a key that are remembered
	Names  int // names that a worker remembers

	open *[]closer // the lists and sorters; nil: their makers close them
}

// closer is a list or a sorter, which may be closed more than once.
type closer interface{ Close() }

// Together is a room that knows its lists and sorters, so that its Close closes all of them.
func (r Room) Together() Room {
	r.open = new([]closer)
	return r
}

func (r Room) add(c closer) {
	if r.open != nil {
		*r.open = append(*r.open, c)
	}
}

// Close removes the temporary files of a room that is together.
func (r Room) Close() {
	for _, c := range *r.open {
		c.Close()
	}
}

// UsualRoom is the room where the options give none: about 120 MB with everything.
var UsualRoom = Room{Page: 1 << 9, Pages: 1 << 10, Run: 1 << 20, Tokens: 1 << 5, Names: 1 << 16}

// scratch is a temporary file, made when it is first written to. Its name is removed at once, so
// nothing is left behind, whatever ends the program. Windows removes it when the file is closed,
// which it does itself when the program ends.
type scratch struct {
	file *os.File
	end  int64
}

// scratchError is an error of a temporary file, which is thrown as a panic.
type scratchError struct{ error }

// Caught makes the panic of a temporary file the error that a function returns.
// It is to be deferred.
func Caught(err *error) {
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

// raw is the memory of items. They must have no pointers, because the garbage
// collector does not see those in a file.
func raw[T any](items []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(items))), len(items)*int(unsafe.Sizeof(*new(T))))
}
