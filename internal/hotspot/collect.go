//go:build linux

package hotspot

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Able reports whether the machine can collect and log as Collect has it. It changes nothing.
func (vm *VM) Able(ctx context.Context) error {
	conns, err := vm.attach(ctx, 1)
	if err != nil {
		return err
	}
	known, err := jcmd(ctx, conns[0], "help")
	if err != nil {
		return vm.unattached(err)
	}
	for _, command := range []string{"GC.run", "VM.log"} {
		if !strings.Contains(known, command) {
			return fmt.Errorf("the Java virtual machine (process %d) does not know the command %s: it takes Java 11 or later", vm.PID, command)
		}
	}
	return nil
}

// Ready is a machine that logs its safepoints to a file of ours, and is about to collect.
type Ready struct {
	run, end net.Conn // for a command each
	log      *os.File
	outside  string // the file's name, in the machine's words
}

// Prepare has the machine log its safepoints, until Close.
func (vm *VM) Prepare(ctx context.Context) (*Ready, error) {
	conns, err := vm.attach(ctx, 3)
	if err != nil {
		return nil, err
	}
	name := "lockchaos-safepoints-" + rand.Text()
	r := &Ready{run: conns[1], end: conns[2], outside: "/tmp/" + name}
	_, err = jcmd(ctx, conns[0], "VM.log what=gc=info,safepoint=info decorators=timenanos output="+r.outside)
	if err == nil {
		// Its name is not needed once both have it open: nothing is left, even if one is killed.
		r.log, err = os.Open(vm.tmp(name))
		err = errors.Join(err, os.Remove(vm.tmp(name)))
	}
	if err != nil {
		return nil, errors.Join(vm.unattached(err), r.Close(ctx))
	}
	return r, nil
}

// Collect has the machine collect its whole heap, once, and returns the longest stop of all its
// threads that this brought about.
func (r *Ready) Collect(ctx context.Context) (Stop, error) {
	before := monotime.Now()
	said, err := jcmd(ctx, r.run, "GC.run")
	after := monotime.Now()
	if err != nil {
		return Stop{}, err
	}
	text, err := io.ReadAll(io.LimitReader(r.log, logLimit))
	if err != nil {
		return Stop{}, fmt.Errorf("read the safepoint log: %w", err)
	}
	s, err := longest(string(text), before, after)
	if err != nil {
		return s, fmt.Errorf("GC.run (it answers %q): %w", said, err)
	}
	return s, nil
}

// logLimit bounds what is read of a log (bytes): a line is about 200 bytes.
const logLimit = 8 << 20

// Close ends the log.
func (r *Ready) Close(ctx context.Context) error {
	// The machine answers one connection after the other, and waits for what is said on each.
	closeAll([]net.Conn{r.run})
	_, err := jcmd(ctx, r.end, "VM.log what=all=off output="+r.outside)
	if r.log != nil {
		err = errors.Join(err, r.log.Close())
	}
	return err
}
