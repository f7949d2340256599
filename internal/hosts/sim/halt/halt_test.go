package halt

import (
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"
)

// TestStrikeOutlastsWhoClearsIt: the word is set again until the instance has ended.
func TestStrikeOutlastsWhoClearsIt(t *testing.T) {
	var h Word
	word := make([]byte, 8)
	h.Aim(word)
	ended := make(chan struct{})
	go func() {
		h.Strike()
		close(ended)
	}()
	at := (*uint64)(unsafe.Pointer(&word[0]))
	for range 3 {
		for atomic.LoadUint64(at) == 0 {
			runtime.Gosched()
		}
		atomic.StoreUint64(at, 0)
	}
	h.Aim(nil)
	<-ended
}
