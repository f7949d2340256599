//go:build !linux

package netfault

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
)

// Packet filters need Linux. On other systems decisions about packets can be made, for simulations,
// and a filter cannot be opened. What is declared here means what it means on Linux.

// ErrClosed says that a filter has been closed.
var ErrClosed = errors.New("the packet filter is closed")

// The types of Linux, of which there are no values here.
type (
	Filter    struct{}
	Diversion struct{}
	Rule      struct{}
	Tap       struct{}
	Count     struct{ Packets, Bytes uint64 }
)

func Open(context.Context, *hosts.Host) (*Filter, error)        { return nil, hosts.ErrElsewhere }
func OpenGateway(context.Context, *hosts.Host) (*Filter, error) { return nil, hosts.ErrElsewhere }
func (*Filter) Close() error                                    { return hosts.ErrElsewhere }
func (*Filter) Host() *hosts.Host                               { return nil }
func (*Filter) Outlived() bool                                  { return false }
func (*Filter) Drop(string, ...Match) (*Rule, error)            { return nil, hosts.ErrElsewhere }
func (*Filter) Reset(Match) ([]Connection, error)               { return nil, hosts.ErrElsewhere }
func (*Diversion) Held() []Packet                               { return nil }
func (*Diversion) Release() int                                 { return 0 }
func (*Diversion) Remove() (Stats, error)                       { return Stats{}, hosts.ErrElsewhere }
func (*Diversion) Stats() Stats                                 { return Stats{} }
func (*Rule) Remove() ([]Count, error)                          { return nil, hosts.ErrElsewhere }
func OpenTap(*hosts.Host, ...netip.Addr) (*Tap, error)          { return nil, hosts.ErrElsewhere }
func (*Tap) Begin()                                             {}
func (*Tap) End(int64) Bounds                                   { return Bounds{} }
func (*Tap) Close() error                                       { return hosts.ErrElsewhere }
func Total([]Count) (packets, bytes uint64)                     { return 0, 0 }
func Probe(context.Context) []hosts.Check                       { return nil }
func ProbeOutside(context.Context, ...string) []hosts.Check     { return nil }
func Sweep(int) (bool, error)                                   { return false, hosts.ErrElsewhere }
func WriteProbe(context.Context, io.Writer) error               { return hosts.ErrElsewhere }

func (*Filter) Degrade(string, Conditions, *rand.Rand, ...Match) (*Diversion, error) {
	return nil, hosts.ErrElsewhere
}

func (*Filter) Divert(string, Decide, ...Match) (*Diversion, error) { return nil, hosts.ErrElsewhere }

func (*Filter) RoundTrip(context.Context, netip.Addr) (time.Duration, error) {
	return 0, hosts.ErrElsewhere
}

func (*Diversion) Await(context.Context, func(Stats) bool) (Stats, error) {
	return Stats{}, hosts.ErrElsewhere
}
