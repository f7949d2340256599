//go:build linux

package netfault

import (
	"fmt"
	"io"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// BenchmarkCutAndHeal cuts a peer, or twenty at once, and heals with the counters read.
func BenchmarkCutAndHeal(b *testing.B) {
	for _, peers := range []int{1, 20} {
		b.Run(fmt.Sprint(peers, "-peers"), func(b *testing.B) {
			_, hs := hoststest.Network(b, "a")
			f := open(b, hs[0])
			var matches []Match
			for i := range peers {
				matches = append(matches, Match{Peer: netip.AddrFrom4([4]byte{10, 99, 0, byte(i)})})
			}
			var cut, heal time.Duration
			for b.Loop() {
				begun := time.Now()
				rule := must[*Rule](b)(f.Drop("cut", matches...))
				between := time.Now()
				must[[]Count](b)(rule.Remove())
				cut, heal = cut+between.Sub(begun), heal+time.Since(between)
			}
			b.ReportMetric(float64(cut.Microseconds())/float64(b.N), "µs/cut")
			b.ReportMetric(float64(heal.Microseconds())/float64(b.N), "µs/heal")
		})
	}
}

// BenchmarkDelayError is how much later than asked for a delayed packet arrives.
func BenchmarkDelayError(b *testing.B) {
	_, hs := hoststest.Network(b, "a", "b")
	from, to := mailbox(b, hs[0]), mailbox(b, hs[1])
	const delay = 20 * time.Millisecond
	must[*Diversion](b)(open(b, hs[0]).Degrade("delay", Conditions{Delay: delay}, seeded(), Match{Dir: Out, Peer: hs[1].Addr}))
	var beyond []time.Duration
	for b.Loop() {
		begun := monotime.Now()
		send(b, from, hs[1], "x")
		receive(b, to)
		beyond = append(beyond, monotime.Since(begun)-delay)
	}
	slices.Sort(beyond)
	b.ReportMetric(float64(beyond[len(beyond)/2].Microseconds()), "µs-late-p50")
	b.ReportMetric(float64(beyond[len(beyond)-1].Microseconds()), "µs-late-max")
}

// BenchmarkThroughput is how many SETs a second ten connections make with a
// real redis on another host: alone, behind rules, through the queue.
func BenchmarkThroughput(b *testing.B) {
	_, hs := hoststest.Network(b, "client", "redis")
	startRedis(b, hs[1])
	for _, c := range []struct {
		name  string
		fault func(f *Filter)
	}{
		{"nothing", func(*Filter) {}},
		{"fifty-rules-a-direction", func(f *Filter) {
			for i := range 50 {
				must[*Rule](b)(f.Drop("stranger", Both(netip.AddrFrom4([4]byte{10, 99, 0, byte(i)}))...))
			}
		}},
		{"queue-one-way", func(f *Filter) {
			must[*Diversion](b)(f.Divert("pass", func(*Packet) Fate { return Fate{} }, Match{Dir: Out, Peer: hs[1].Addr}))
		}},
		{"queue-both-ways", func(f *Filter) {
			must[*Diversion](b)(f.Divert("pass", func(*Packet) Fate { return Fate{} }, Both(hs[1].Addr)...))
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := open(b, hs[0])
			c.fault(f)
			sets(b, hs[0], hs[1], 10)
			if err := f.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// sets makes b.N SETs over some connections.
func sets(b *testing.B, from, to *hosts.Host, connections int) {
	var conns []*redisConn
	for range connections {
		conns = append(conns, connect(b, from, to))
	}
	request, answer := []byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n"), len("+OK\r\n")
	b.ResetTimer()
	begun := time.Now()
	var all sync.WaitGroup
	for i, c := range conns {
		all.Go(func() {
			buf := make([]byte, answer)
			for range (b.N + i) / connections {
				if _, err := c.Write(request); err != nil {
					b.Error(err)
					return
				}
				if _, err := io.ReadFull(c, buf); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/time.Since(begun).Seconds(), "SET/s")
}
