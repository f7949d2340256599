package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/tetratelabs/wazero/api"
)

// A program that starts does the same each time: same arguments, random numbers and clocks, so same
// host calls, and same memory when it first waits for its input. Half the processor time of a short
// run goes into that. So what an instance is when it first waits can be kept, and the next one with
// the same origin goes on from there, at the same virtual time.

// origin is a hash of all that decides how an instance starts.
type origin string

// mostStarts bounds how many starts of a program are kept.
const mostStarts = 16

// starts are those that are kept of a program.
type starts struct {
	mu   sync.Mutex
	keep bool
	all  map[origin]*standing
}

// standing is an instance that waits for its input for the first time.
type standing struct {
	memory  *images
	modules modules // that have run from here
	size    uint32  // of the memory, bytes
	globals []uint64
	at      int64 // when it began to wait
	busy    int64
	calls   int64
	last    [lastCalls]string
	random  []byte
}

// KeepStarts says whether instances begin where earlier ones with the same origin first waited for
// their input. It holds for worlds whose Steady draws are all that there are (World.Repeats).
func (p *Program) KeepStarts(keep bool) {
	p.started.mu.Lock()
	defer p.started.mu.Unlock()
	p.started.keep = keep && p.globals > 0
}

// Repeats says that nothing is drawn, so how many draws there were decides nothing.
func (w *World) Repeats() { w.repeats = true }

// originOf is the instance's, if its start can be kept: nothing has happened yet.
func (in *Instance) originOf(random [32]byte) origin {
	h := in.host
	if w := in.w; !w.repeats || w.trace != nil || w.now != start || h.frozen || h.wall != (Clock{}) || h.mono != (Clock{}) {
		return ""
	}
	text := fmt.Appendf(nil, "%q %q %d %d %x", in.args, in.env, in.in, in.out, random)
	sum := sha256.Sum256(text)
	return origin(hex.EncodeToString(sum[:]))
}

// of is the start of an instance; nil: it is not kept.
func (s *starts) of(in *Instance) *standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.keep {
		in.origin = ""
	}
	known := s.all[in.origin]
	if known != nil || len(s.all) >= mostStarts {
		in.origin = "" // it need not be kept
	}
	return known
}

// stands keeps what the instance is, if it waits for the first time and has done nothing that
// anybody could see. It is in a call of poll_oneoff.
func (in *Instance) stands(subs []subscription) {
	if in.origin == "" {
		return
	}
	if ready, _ := in.polled(subs); len(ready) > 0 {
		return
	}
	if !in.told && in.printed == 0 && len(in.sockets) == 0 && in.nextFD == firstFD {
		in.program.started.add(in.origin, in.snapshot)
	}
	in.origin = ""
}

// snapshot is what it is.
func (in *Instance) snapshot() (*standing, error) {
	m := in.module.Memory()
	whole, _ := m.Read(0, m.Size()) // it is all there is
	x := &standing{size: m.Size(), at: in.entered, busy: in.busy - 1, calls: in.calls - 1, last: in.last}
	var err error
	if x.random, err = in.random.MarshalBinary(); err != nil {
		return nil, err
	}
	for i := range in.program.globals {
		x.globals = append(x.globals, in.module.ExportedGlobal(fmt.Sprintf(resumeGlobal, i)).Get())
	}
	x.memory, err = newImages(whole, in.program.most)
	return x, err
}

// add keeps a start that is not known yet. Without room for it, the next instance starts as usual.
func (s *starts) add(o origin, snapshot func() (*standing, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[o] != nil || len(s.all) >= mostStarts {
		return
	}
	x, err := snapshot()
	if err != nil {
		return
	}
	if s.all == nil {
		s.all = map[origin]*standing{}
	}
	s.all[o] = x
}

// resume has an instance go on from a start that was kept. Its memory is that already.
func (x *standing) resume(ctx context.Context, in *Instance) error {
	m := in.module.Memory()
	const page = 64 << 10
	if _, ok := m.Grow((x.size - m.Size()) / page); !ok {
		return fmt.Errorf("start the program: no room for %d MB", x.size>>20)
	}
	for i, v := range x.globals {
		in.module.ExportedGlobal(fmt.Sprintf(resumeGlobal, i)).(api.MutableGlobal).Set(v)
	}
	in.random = &rand.ChaCha8{}
	if err := in.random.UnmarshalBinary(slices.Clone(x.random)); err != nil {
		return err
	}
	in.last, in.calls = x.last, x.calls
	in.works(x.busy)
	in.spend(x.at - in.w.now)
	if _, err := in.module.ExportedFunction(resumePoll).Call(ctx, 0); err != nil {
		return err
	}
	_, err := in.module.ExportedFunction(resumeLoop).Call(ctx)
	return err
}

func (s *starts) close() (err error) {
	for _, x := range s.all {
		if failed := x.memory.close(); err == nil {
			err = failed
		}
	}
	s.all = nil
	return err
}
