//go:build !linux

package hosts

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Hosts need Linux. On other systems this file lets programs build that simulate (hosts/sim), and
// whatever would make a host is refused. What is declared here means what it means on Linux.

// ErrElsewhere says that this system cannot do what was asked for.
var ErrElsewhere = errors.New("private networks, and faults of real processes, need Linux")

// The types of Linux, of which there are no values here.
type (
	Host struct {
		Name string
		Addr netip.Addr
		host
	}
	Process   struct{ host *Host }
	Network   struct{}
	Waits     struct{}
	Inner     struct{}
	Pause     struct{ Signalled, Stopped, Resuming, Resumed int64 }
	DiedError struct {
		Program, Host string
		State         *os.ProcessState
	}
	RefusedError struct{ Err error }
)

type host struct{}

func (*Host) Close() error          { return ErrElsewhere }
func (*Host) Do(func() error) error { return ErrElsewhere }
func (*Host) Dial(context.Context, string, netip.AddrPort) (net.Conn, error) {
	return nil, ErrElsewhere
}
func (*Host) Find(int) (*Process, error)                         { return nil, ErrElsewhere }
func (*Host) Kill(context.Context) error                         { return ErrElsewhere }
func (*Host) PIDs() ([]int, error)                               { return nil, ErrElsewhere }
func (*Host) Start(*exec.Cmd) (*Process, error)                  { return nil, ErrElsewhere }
func (*Host) Stop(context.Context) (*Pause, error)               { return nil, ErrElsewhere }
func (*Process) Done() <-chan struct{}                           { return nil }
func (*Process) Err() error                                      { return ErrElsewhere }
func (*Process) Gone() int64                                     { return 0 }
func (*Process) Group() ([]int, error)                           { return nil, ErrElsewhere }
func (p *Process) Host() *Host                                   { return p.host }
func (*Process) Kill(context.Context) error                      { return ErrElsewhere }
func (*Process) Log() string                                     { return "" }
func (*Process) StopOthers(context.Context, int) (*Pause, error) { return nil, ErrElsewhere }
func (*Process) PID() int                                        { return 0 }
func (*Process) Signal(syscall.Signal) error                     { return ErrElsewhere }
func (*Process) SignalAlone(syscall.Signal) error                { return ErrElsewhere }
func (*Process) Stop(context.Context) (*Pause, error)            { return nil, ErrElsewhere }
func (*Process) Wait(context.Context) error                      { return ErrElsewhere }
func NewNetwork(netip.Prefix) (*Network, error)                  { return nil, ErrElsewhere }
func (*Network) AddHost(string) (*Host, error)                   { return nil, ErrElsewhere }
func (*Network) Addr() (none netip.Addr)                         { return none }
func (*Network) Await(context.Context, ...*Host) error           { return ErrElsewhere }
func (*Network) Lead(map[netip.AddrPort]netip.AddrPort) error    { return ErrElsewhere }
func (*Network) Close() error                                    { return ErrElsewhere }
func (*Pause) Evidence() string                                  { return "" }
func (*Pause) Length() time.Duration                             { return 0 }
func (*Pause) Resume() error                                     { return ErrElsewhere }
func (*Waits) Close()                                            {}
func (*Waits) Look() ([]Wait, error)                             { return nil, ErrElsewhere }
func (*Inner) Done() <-chan struct{}                             { return nil }
func (*Inner) Interrupt() error                                  { return ErrElsewhere }
func (*Inner) Kill()                                             {}
func (*Inner) Signal(syscall.Signal) error                       { return ErrElsewhere }
func (*Inner) Wait() error                                       { return ErrElsewhere }
func (Sandbox) Start(context.Context, ...string) (*Inner, error) { return nil, ErrElsewhere }
func (e *DiedError) Error() string                               { return e.Program + " has ended" }
func (e *RefusedError) Error() string                            { return e.Err.Error() }
func (e *RefusedError) Unwrap() error                            { return e.Err }
func Visit(string, Seat) (*Host, error)                          { return nil, ErrElsewhere }
func Hold(context.Context, int) (*Held, error)                   { return nil, ErrElsewhere }
func (*Held) Release() (int64, error)                            { return 0, ErrElsewhere }
func Agent() bool                                                { return false }
func CPUTime([]int) (time.Duration, error)                       { return 0, ErrElsewhere }
func DataDir(string) (string, error)                             { return "", ErrElsewhere }
func Inside() bool                                               { return false }
func Introduce(_, _ []*Host) error                               { return ErrElsewhere }
func Kernel() string                                             { return "unknown" }
func Stage() (inner bool)                                        { return false }
func Probe(context.Context) []Check                              { return nil }
func States([]int) ([]ThreadState, error)                        { return nil, ErrElsewhere }
func WatchWaits(time.Duration, ...*Host) (*Waits, error)         { return nil, ErrElsewhere }
func Join(string, netip.Prefix, netip.Addr, ...netip.Addr) (*Network, error) {
	return nil, ErrElsewhere
}

// Seat and Held are those of Linux.
type (
	Seat struct {
		PID  int
		Addr netip.Addr
	}
	Held struct {
		PID, Threads int
		Stopped      int64
	}
)

// Names is refused.
func Names(map[string]netip.Addr) error { return ErrElsewhere }
