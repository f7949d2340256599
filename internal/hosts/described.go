package hosts

import (
	"io"
	"net/netip"
	"os"
	"time"
)

// What is declared here is the same on every system: what others give to hosts,
// and what hosts tell of themselves.

// DefaultGrace is how long a cancelled sandbox has between interrupt and kill.
const DefaultGrace = 5 * time.Second

// DefaultPrefix is the range of addresses that a network usually has. It is
// private, and the sandbox has no way out of it.
var DefaultPrefix = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 88, 0, 0}), 24)

// Sandbox says how to run this program again inside new namespaces. The zero
// value is usable: no input, output thrown away.
type Sandbox struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Env is added to the environment of the caller, as "NAME=value".
	Env []string
	// ExtraFiles become descriptors 3, 4 … of inner, as in exec.Cmd.
	ExtraFiles []*os.File
	// Dir is inner's working directory; empty: the caller's.
	Dir string
	// Grace is how long inner may go on after the interrupt that a cancelled
	// context causes; then everything inside is killed. 0 means DefaultGrace.
	Grace time.Duration
}

// Executed is how a command ended that was run on a host for its answer. What
// it printed is cut where it is too long to be one.
type Executed struct {
	Status         int
	Stdout, Stderr []byte
}

// Wait is a time in which a thread waited for a processor: for half of it at least,
// if looks come as often as the bound is long. Stamps are monotime.Now readings.
type Wait struct {
	Host     *Host
	From, To int64 // bounds
	PID, TID int
	For      time.Duration // all its waits in that time, added up
}

// ThreadState is the state letter of one thread, as in proc(5): R running, S
// sleeping, D in the kernel, T stopped, t stopped by a debugger, Z and X dead.
type ThreadState struct {
	PID, TID int
	State    byte
}

// Check is one thing that Probe tried.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`        // what was seen, or what went wrong
	Fix    string `json:"fix,omitempty"` // the command or setting that may help, if not OK
	// Open: the try did not end in its time, or was interrupted. So nothing follows from it.
	Open bool `json:"open,omitempty"`
}
