package sim

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// images are memories of instances that begin as a program's data, each mapped copy-on-write from
// one file in memory.
type images struct {
	file    int
	size    int // of the data, in whole pages
	reserve int // of addresses for one instance, so that memory grows without moving
	mu      sync.Mutex
	free    []*memory
	all     []*memory
}

// memory is that of one instance.
type memory struct {
	of   *images
	all  []byte
	used int
}

// hole is the size of what is left out of the file if it is zero: a page of the kernel's.
const hole = 4 << 10

var zeros [hole]byte

func newImages(data []byte, most int64) (*images, error) {
	const page = 64 << 10
	p := &images{size: (len(data) + page - 1) &^ (page - 1), reserve: int(most)}
	if p.size > p.reserve {
		return nil, fmt.Errorf("the program's data are %d MB, and an instance may have %d MB", p.size>>20,
			p.reserve>>20)
	}
	var err error
	if p.file, err = unix.MemfdCreate("lockchaos-image", unix.MFD_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	err = unix.Ftruncate(p.file, int64(p.size))
	for at := 0; err == nil && at < len(data); at += hole {
		if part := data[at:min(at+hole, len(data))]; !bytes.Equal(part, zeros[:len(part)]) {
			_, err = unix.Pwrite(p.file, part, int64(at))
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write the program's data: %w", err), unix.Close(p.file))
	}
	return p, nil
}

// Allocate returns the memory of a new instance. wazero has no way to be told that there is none.
func (p *images) Allocate(_, _ uint64) experimental.LinearMemory {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		m := p.free[n-1]
		p.free = p.free[:n-1]
		return m
	}
	all, err := unix.Mmap(-1, 0, p.reserve, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		panic(fmt.Sprintf("reserve %d MB of addresses for a simulated program: %v", p.reserve>>20, err))
	}
	m := &memory{of: p, all: all}
	if p.size > 0 {
		if _, err := unix.MmapPtr(p.file, 0, unsafe.Pointer(&all[0]), uintptr(p.size), unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_FIXED); err != nil {
			panic(fmt.Sprintf("map a simulated program's data: %v", err))
		}
	}
	p.all = append(p.all, m)
	return m
}

// Reallocate grows the memory in its place.
func (m *memory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.all)) {
		return nil
	}
	m.used = max(m.used, int(size))
	return m.all[:size:len(m.all)]
}

// clear makes each page again what it was at first: of the data, or zero.
func (m *memory) clear() {
	if m.used > 0 {
		_ = unix.Madvise(m.all[:m.used], unix.MADV_DONTNEED) // of a mapping of ours it cannot fail
	}
}

// Free clears it for another instance.
func (m *memory) Free() {
	m.clear()
	m.used = 0
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	m.of.free = append(m.of.free, m)
}

func (p *images) close() error {
	var errs []error
	for _, m := range p.all {
		errs = append(errs, unix.Munmap(m.all))
	}
	return errors.Join(append(errs, unix.Close(p.file))...)
}
