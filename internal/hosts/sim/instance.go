package sim

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/sim/halt"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// Instance is a running program.
type Instance struct {
	name    string
	w       *World
	host    *Host
	task    *Task
	args    []string
	env     []string
	random  *rand.ChaCha8
	polling bool
	killed  bool
	ended   bool
	status  uint32

	in, out  int32 // the descriptors of what follows
	stdin    []byte
	stdinEnd bool
	stdout   []byte // the beginning of a line
	line     func(text []byte)
	stderr   io.Writer
	printed  int // bytes

	program *Program
	module  api.Module
	origin  origin // of its start, while that may be kept
	entered int64  // when the host call began that it is in
	told    bool   // something has been sent to it

	halt  halt.Word // ends it if it computes for too long
	spent bool      // it has

	sockets map[int32]*socket
	nextFD  int32

	busySince int64
	busy      int64
	last      [lastCalls]string // a ring
	calls     int64
}

// lastCalls is how many host calls an error tells of.
const lastCalls = 8

// Start says how an instance is started.
type Start struct {
	// Name is what errors call it.
	Name      string
	Args, Env []string
	// In and Out are the descriptors on which it is spoken with, 3 to 9; 0: standard input and
	// output. Else standard input is empty, and what is printed on standard output goes to Stderr.
	In, Out int32
	// Line is called with each line that it prints on Out.
	Line func(text []byte)
	// Stderr takes what it prints on standard error.
	Stderr io.Writer
	// Exited is called when it has ended by itself.
	Exited func(status uint32)
}

// firstFD is below the descriptors of sockets.
const firstFD = 10

// Start starts a program on the host.
func (h *Host) Start(p *Program, s Start) *Instance {
	w := h.w
	in := &Instance{name: s.Name, w: w, host: h, args: s.Args, env: s.Env, line: s.Line, stderr: s.Stderr,
		in: s.In, out: cmp.Or(s.Out, 1), sockets: map[int32]*socket{}, nextFD: firstFD,
		busySince: w.now, program: p}
	var key [32]byte
	draws := w.Stream("random of " + s.Name)
	for i := range key {
		key[i] = byte(draws.Uint32())
	}
	in.random = rand.NewChaCha8(key)
	in.origin = in.originOf(key)
	ctx, cancel := context.WithCancel(context.Background())
	in.task = w.Go(func(*Task) {
		defer cancel()
		status, err := p.run(ctx, in)
		in.ended, in.status = true, status
		in.closeAll()
		switch {
		case in.killed:
		case ctx.Err() != nil:
			w.Fail(fmt.Errorf("%s computed for %v of real time without a host call: it is in a loop; its last calls: %s", in.name, w.limits.Silent, in.lastCalls()))
		case in.spent:
			w.Fail(fmt.Errorf("%s computed for more than %d turns of loops within %v of virtual time: it is in a loop; its last calls: %s", in.name, w.limits.Turns, busyTime, in.lastCalls()))
		case err != nil:
			w.Fail(fmt.Errorf("%s: %w", in.name, err))
		case s.Exited != nil:
			s.Exited(status)
		}
	})
	in.task.host = h
	in.task.silence = halt.NewSilence(w.limits.Silent, func() {
		cancel()
		in.halt.Strike()
	})
	h.instances = append(h.instances, in)
	return in
}

// Send writes to its standard input.
func (in *Instance) Send(text []byte) {
	in.told = true
	in.stdin = append(in.stdin, text...)
	if len(in.stdin) > mostUnread {
		in.exceeds("leaves of its standard input unread", mostUnread, "bytes")
	}
	in.kick()
}

// CloseInput ends its standard input.
func (in *Instance) CloseInput() {
	in.stdinEnd = true
	in.kick()
}

// Kill ends it at once. Its peers see its connections reset.
func (in *Instance) Kill() {
	if in.ended || in.killed {
		return
	}
	in.killed = true
	in.task.stop()
	in.ended = true
	in.task.done = true
	in.closeAll()
}

// Ended reports whether it has ended.
func (in *Instance) Ended() bool { return in.ended }

// closeAll closes its connections, in the order in which they were opened.
func (in *Instance) closeAll() {
	for fd := int32(0); fd <= in.nextFD; fd++ {
		if s := in.sockets[fd]; s != nil {
			s.close()
		}
	}
}

// kick has a program that polls look again.
func (in *Instance) kick() {
	if in.polling {
		in.task.wakeAt(in.w.now + in.wakeCost())
	}
}

// wakeCost is how long the scheduler of the host takes to run a program that something has come
// for.
func (in *Instance) wakeCost() int64 { return 2_000 + drawn(in.w.draws, 40_000, in.host.steady) }

func (in *Instance) park() {
	if !in.task.turn() {
		panic(sys.NewExitError(killedStatus))
	}
}

// killedStatus is the exit status inside of a program that is killed; nobody sees it.
const killedStatus = 137

// enter is the beginning of each host call: it costs time, and what is due earlier happens first.
func (in *Instance) enter(name string, cost time.Duration) {
	w := in.w
	in.entered = w.now
	in.last[in.calls%lastCalls] = name
	in.calls++
	in.task.silence.Called()
	if w.trace != nil {
		w.trace(w.now, in.name, name)
	}
	in.works(1)
	if w.err != nil { // nobody else runs any more
		panic(sys.NewExitError(killedStatus))
	}
	in.spend(int64(cost))
}

// works counts n calls, of the program or of a server that works for it, and keeps to the limits.
func (in *Instance) works(n int64) {
	w := in.w
	w.calls += n
	if w.now-in.busySince > int64(busyTime) {
		in.busySince, in.busy = w.now, 0
		in.halt.Allow(w.limits.Turns)
	}
	in.busy += n
	switch {
	case in.busy > busyCalls:
		w.Fail(fmt.Errorf("%s made %d host calls within %v of virtual time: it is in a loop; its last calls: %s",
			in.name, busyCalls, time.Duration(w.now-in.busySince), in.lastCalls()))
	case w.calls > w.limits.HostCalls:
		w.Fail(fmt.Errorf("the run made more than %d host calls, the last by %s: %s; give it less virtual time",
			w.limits.HostCalls, in.name, in.lastCalls()))
	}
}

func (in *Instance) lastCalls() string {
	var names []string
	for i := max(0, in.calls-lastCalls); i < in.calls; i++ {
		names = append(names, in.last[i%lastCalls])
	}
	return strings.Join(names, ", ")
}

// spend lets ns pass.
func (in *Instance) spend(ns int64) {
	w := in.w
	at := w.now + ns
	if !in.host.frozen && (len(w.events) == 0 || w.events[0].at > at) {
		w.now = at
		return
	}
	in.task.wakeAt(at)
	in.park()
}

// prints takes what it writes to standard output or standard error.
func (in *Instance) prints(fd int32, text []byte) {
	if in.printed += len(text); in.printed > mostPrinted {
		in.exceeds("printed", mostPrinted, "bytes")
		return
	}
	if fd == in.out {
		in.print(text)
	} else if in.stderr != nil {
		_, _ = in.stderr.Write(text) // a log that cannot be written changes no run
	}
}

// print makes lines of what it writes on Out.
func (in *Instance) print(text []byte) {
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			in.stdout = append(in.stdout, text...)
			break
		}
		whole := append(in.stdout, text[:end]...)
		in.stdout, text = nil, text[end+1:]
		if len(bytes.TrimSpace(whole)) > 0 && in.line != nil {
			in.line(whole)
		}
	}
	if len(in.stdout) > longestLine {
		in.exceeds("printed a line of", longestLine, "bytes")
	}
}
