package remote_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/hosts/remote"
	"github.com/lockchaos/lockchaos/internal/probe/probetest"
)

// near is how far away a service is whose machine is near: half of the round trip between two
// machines of one data centre.
const near = 500 * time.Microsecond

// BenchmarkRelay is what a relay adds to the round trip of a SET in TLS, against a direct
// connection that is asked in turns with it: to a redis-server on this machine, and to one that
// is 1 ms of round trip away. The relay is one more process on the way, whose waking takes the
// same time however far the server is; it is the same whether the relay copies by splice(2), by
// read and write, or in threads that block. Nor does the kernel do it faster by a BPF sockmap,
// which wakes a thread of its own: without TLS, on two cores, a SET took 23 µs directly, 55 µs
// through a relay that copies, and 63 µs by sockmap. The figures are medians.
func BenchmarkRelay(b *testing.B) {
	ca := authority.New(b)
	here := "127.0.0.1:" + probetest.Redis(b, ca, "cache.test", authority.Good)
	for _, link := range []struct{ name, addr string }{{"here", here}, {"1ms", away(b, here)}} {
		dial := func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", link.addr) }
		through := remote.Relayed(b, dial)
		b.Run(link.name, func(b *testing.B) {
			direct, relay := setter(b, ca, link.addr), setter(b, ca, through)
			var took [2][]time.Duration
			for b.Loop() {
				for i, set := range []func(){direct, relay} {
					began := time.Now()
					set()
					took[i] = append(took[i], time.Since(began))
				}
			}
			without, with := median(took[0]), median(took[1])
			b.ReportMetric(without, "direct-µs")
			b.ReportMetric(with, "relay-µs")
			b.ReportMetric(100*(with-without)/without, "%more")
		})
	}
}

// median is that of durations, in µs.
func median(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2]) / float64(time.Microsecond)
}

// away is an address that leads to the server, and from which each packet takes its time.
func away(b *testing.B, server string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				return
			}
			go travel(client, far)
			go travel(far, client)
		}
	}()
	return l.Addr().String()
}

// travel copies one way, each piece when it has been on its way for long enough.
func travel(from, to net.Conn) {
	defer to.Close()
	type piece struct {
		text []byte
		due  time.Time
	}
	under := make(chan piece, 1024)
	go func() {
		defer close(under)
		for {
			text := make([]byte, 4096)
			n, err := from.Read(text)
			if err != nil {
				return
			}
			under <- piece{text[:n], time.Now().Add(near)}
		}
	}()
	for p := range under {
		// Go's own timers may be late by 1 ms
		left := unix.NsecToTimespec(int64(max(0, time.Until(p.due))))
		_ = unix.Nanosleep(&left, nil) // a signal only makes the way shorter
		if _, err := to.Write(p.text); err != nil {
			from.Close() // its reader ends
		}
	}
}

// setter connects to the address, and returns what makes one SET.
func setter(b *testing.B, ca *authority.Authority, addr string) func() {
	at, err := endpoint.Parse("rediss://cache.test")
	if err != nil {
		b.Fatal(err)
	}
	dial, err := at.With(endpoint.Files{CACert: ca.File}).Dialer(new(net.Dialer).DialContext)
	if err != nil {
		b.Fatal(err)
	}
	conn, err := dial(b.Context(), "tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	answers := bufio.NewReader(conn)
	ask := func(command string) {
		if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
			b.Fatal(err)
		}
		if answer, err := answers.ReadString('\n'); err != nil || answer != "+OK\r\n" {
			b.Fatalf("%s: %q, %v", command, answer, err)
		}
	}
	ask("AUTH me " + probetest.Secret)
	return func() { ask("SET lockchaos_bench x") }
}
