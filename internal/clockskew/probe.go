//go:build linux

package clockskew

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// probe is a child that reads clocks when it is told to: asm/probe_amd64.asm, run from memory.
type probe struct {
	cmd    *exec.Cmd
	ask    io.WriteCloser
	answer io.ReadCloser
	target *Target
}

// startProbe starts one, which is killed when ctx ends.
func startProbe(ctx context.Context) (*probe, error) {
	fd, err := unix.MemfdCreate("clockskew-probe", unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("clockskew-probe", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	file := os.NewFile(uintptr(fd), "clockskew-probe")
	defer file.Close()
	if _, err := file.Write(probeProgram); err != nil {
		return nil, err
	}
	p := &probe{cmd: exec.CommandContext(ctx, fmt.Sprintf("/proc/self/fd/%d", fd))}
	if p.ask, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.answer, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a child to try it on: %w", err)
	}
	if p.target, err = Open(p.cmd.Process.Pid); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// stop ends the child.
func (p *probe) stop() {
	if p.target != nil {
		p.target.Close()
	}
	p.ask.Close()
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()         // by our kill
}

// call makes the child call function number i of the vDSO with arg and a
// buffer, and returns the buffer and what the function returned.
func (p *probe) call(i int, arg int64) (buffer [2]int64, ret int64, err error) {
	var ask, answer [24]byte
	le := binary.LittleEndian
	le.PutUint64(ask[0:], p.target.base+p.target.layout.entry[i])
	le.PutUint64(ask[8:], uint64(arg))
	le.PutUint64(ask[16:], uint64(len(answer)))
	if _, err := p.ask.Write(ask[:]); err != nil {
		return buffer, 0, err
	}
	if _, err := io.ReadFull(p.answer, answer[:]); err != nil {
		return buffer, 0, err
	}
	return [2]int64{int64(le.Uint64(answer[0:])), int64(le.Uint64(answer[8:]))}, int64(le.Uint64(answer[16:])), nil
}

// read returns what the child reads on a clock, in ns.
func (p *probe) read(id int) (int64, error) {
	ts, ret, err := p.call(clockGettime, int64(id))
	if err == nil && int32(ret) != 0 {
		err = unix.Errno(-int32(ret))
	}
	if err != nil {
		return 0, fmt.Errorf("the child's clock_gettime(%d): %w", id, err)
	}
	return ts[0]*1e9 + ts[1], nil
}

// differs returns bounds of how far the child's clock is ahead of the true one.
func (p *probe) differs(id int) (least, most time.Duration, err error) {
	before, err := p.target.now()
	if err != nil {
		return 0, 0, err
	}
	shown, err := p.read(id)
	if err != nil {
		return 0, 0, err
	}
	after, err := p.target.now()
	return time.Duration(shown - after[id]), time.Duration(shown - before[id]), err
}

// Supported tries everything once on a child of its own, in some milliseconds,
// and returns the reason if clocks of processes cannot be changed here. A process
// of another user, or in a container, may still be out of reach: Open tells.
func Supported(ctx context.Context) error {
	if arch != "" {
		return fmt.Errorf("clockskew: %w", errArch)
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	p, err := startProbe(ctx)
	if err == nil {
		defer p.stop()
		err = p.try(ctx)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("clockskew: the self-test did not end: %w (%w)", ctx.Err(), err)
	}
	return fmt.Errorf("clockskew: the self-test failed: %w", err)
}

// try goes through a life of a skew, and compares the child's clocks with what they should show.
func (p *probe) try(ctx context.Context) error {
	const hour, minute = time.Hour, time.Minute
	install := func() error { _, err := p.target.Install(ctx); return err }
	restore := func() error { _, err := p.target.Restore(ctx); return err }
	set := func(s Skew) func() error { return func() error { return p.target.Set(ctx, s) } }
	for _, step := range []struct {
		name       string
		do         func() error
		wall, mono time.Duration
	}{
		{"installing", install, 0, 0},
		{"a jump of the wall clock", set(Skew{Wall: Clock{Offset: -hour}}), -hour, 0},
		{"the way back", restore, 0, 0},
		{"installing again", install, 0, 0},
		{"a jump of both clocks", set(Skew{Wall: Clock{Offset: hour}, Mono: Clock{Offset: minute}}), hour, minute},
		{"healing", func() error { return p.target.Heal(ctx) }, 0, minute},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		for id, want := range map[int]time.Duration{unix.CLOCK_REALTIME: step.wall, unix.CLOCK_MONOTONIC: step.mono} {
			least, most, err := p.differs(id)
			if err != nil {
				return fmt.Errorf("%s: %w", step.name, err)
			}
			if want < least || want > most {
				return fmt.Errorf("%s: %w: clock %d of the child is ahead by %v to %v, not by %v", step.name,
					ErrUnsupported, id, least, most, want)
			}
		}
	}
	return nil
}
