// Package halt stops a program that computes, from another goroutine, by a word of the program's memory
// at which its loops look.
package halt

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// Word is the word of one instance of a program. The zero value aims at none.
type Word struct {
	mu   sync.Mutex
	word *uint32 // nil: the instance does not run
}

// Aim says which instance it is by four bytes of its memory, which never moves; nil: none.
func (h *Word) Aim(word []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.word = nil
	if len(word) == 4 {
		h.word = (*uint32)(unsafe.Pointer(&word[0]))
	}
}

// Strike sets the word until the instance has ended: a hostile one may clear it.
func (h *Word) Strike() {
	for h.set() {
		time.Sleep(time.Millisecond)
	}
}

func (h *Word) set() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.word != nil {
		atomic.StoreUint32(h.word, 1)
	}
	return h.word != nil
}
