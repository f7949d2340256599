// Package halt bounds how long a program computes: by a number in the program's memory that each
// turn of each of its loops counts down. At 0 the program ends.
package halt

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// Word is the number of one instance of a program. The zero value is that of none.
type Word struct {
	mu   sync.Mutex
	word *uint64 // nil: the instance does not run
}

// Aim says which instance it is by eight bytes of its memory, which never move; nil: none.
func (h *Word) Aim(word []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.word = nil
	if len(word) == 8 {
		h.word = (*uint64)(unsafe.Pointer(&word[0]))
	}
}

// Allow gives the instance so many turns. It is called by what runs the instance, while that
// stands still.
func (h *Word) Allow(turns uint64) {
	if h.word != nil {
		atomic.StoreUint64(h.word, turns)
	}
}

// Left is how many turns the instance has left.
func (h *Word) Left() uint64 {
	if h.word == nil {
		return 1
	}
	return atomic.LoadUint64(h.word)
}

// Strike leaves one turn until the instance has ended: the instance may be writing the number.
func (h *Word) Strike() {
	for h.set() {
		time.Sleep(time.Millisecond)
	}
}

func (h *Word) set() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Allow(1)
	return h.word != nil
}
