package sim

import (
	"context"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// module is one of wazero's, and its memory. To make one takes longer than many a run, since wazero
// evaluates an expression for each function of the program. A program of Go changes nothing of a
// module but its memory and its globals. So one that has run from a start that is kept can run from
// there again.
type module struct {
	api.Module
	images *images // nil: wazero lays out the memory
	memory experimental.LinearMemory
}

// Allocate returns the memory.
func (m *module) Allocate(least, most uint64) experimental.LinearMemory {
	m.memory = m.images.Allocate(least, most)
	return m.memory
}

// clearable is a memory that can be made again what it was at first.
type clearable interface{ clear() }

// modules are those that wait for their next run from a start.
type modules struct {
	mu  sync.Mutex
	all []*module
}

// take returns one; nil: there is none.
func (s *modules) take() *module {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.all)
	if n == 0 {
		return nil
	}
	m := s.all[n-1]
	s.all = s.all[:n-1]
	return m
}

// put has one wait for its next run.
func (s *modules) put(m *module) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, m)
}

// instantiate returns a module of the program whose memory is that of a start; nil: that at its
// beginning.
func (p *Program) instantiate(ctx context.Context, known *standing) (*module, error) {
	m := &module{images: p.images}
	if known != nil {
		if used := known.modules.take(); used != nil {
			return used, nil
		}
		m.images = known.memory
	}
	if m.images != nil {
		ctx = experimental.WithMemoryAllocator(ctx, m)
	}
	made, err := p.runtime.InstantiateModule(ctx, p.code, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	m.Module = made
	return m, err
}

// over gives up the module of an instance that has ended, or keeps it for the next one: that begins
// with the memory of its start, and with no more.
func (p *Program) over(ctx context.Context, in *Instance, known *standing, m *module) error {
	memory, can := m.memory.(clearable)
	if known == nil || !can || in.spent || ctx.Err() != nil || m.IsClosed() || m.Memory().Size() != known.size {
		return m.Close(context.WithoutCancel(ctx))
	}
	memory.clear()
	known.modules.put(m)
	return nil
}
