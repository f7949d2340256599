//go:build linux

package netfault

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// RoundTrip measures how long a packet and its answer take between the host and a peer: a
// connection to a port where nobody listens is refused at once, by the peer's kernel. Bad networks
// (Degrade in user space) make these packets late, like others; they are not counted, not lost,
// and take no random number and nothing of a bounded rate, so that measuring changes nothing.
func (f *Filter) RoundTrip(ctx context.Context, peer netip.Addr) (time.Duration, error) {
	begun := time.Now()
	conn, err := f.host.Dial(ctx, "tcp", netip.AddrPortFrom(peer, gaugePort))
	took := time.Since(begun)
	if err == nil {
		conn.Close() // somebody listens after all
	} else if !errors.Is(err, unix.ECONNREFUSED) {
		return 0, f.failed("measure", fmt.Sprintf("the round trip to %s", peer), err)
	}
	return took, nil
}
