//go:build linux

package clockskew

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/monotime"
)

func init() { verbs["reader"] = reader }

// reader answers each number with how long that many calls of time.Now took, in ns of true time.
func reader([]string) error {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		n, err := strconv.Atoi(in.Text())
		if err != nil {
			return err
		}
		began := monotime.Now()
		for range n {
			_ = time.Now()
		}
		fmt.Println(monotime.Now() - began)
	}
	return nil
}

// BenchmarkRead: a Go program's time.Now, which reads two clocks, with and without a skew.
func BenchmarkRead(b *testing.B) {
	for _, mode := range []string{"true", "skewed", "skewed, by system call"} {
		b.Run(mode, func(b *testing.B) {
			c := verb(b, "reader")
			var ns int64
			c.ask("1", &ns) // it is up
			if mode != "true" {
				target := install(b, c.cmd.Process.Pid)
				ok(b, target.Set(b.Context(), Skew{Wall: Clock{Offset: time.Hour, Rate: 2}, Mono: Clock{Rate: 2}}))
				if mode != "skewed" { // the reader waits for our line
					ok(b, target.writeAt(target.at(offTramp), code[offTramp:offBank]))
				}
			}
			b.ResetTimer()
			c.ask(strconv.Itoa(b.N), &ns)
			b.ReportMetric(float64(ns)/float64(b.N), "ns/op")
		})
	}
}

// BenchmarkSet: a change of a jump or a wall rate, which stops nothing.
func BenchmarkSet(b *testing.B) {
	p := newProbe(b)
	must(b)(p.target.Install(b.Context()))
	for i := 0; b.Loop(); i++ {
		ok(b, p.target.Set(b.Context(), Skew{Wall: Clock{Offset: time.Duration(i%2) * time.Minute}}))
	}
}

// BenchmarkStop: how long a program stands still at Install and Restore: one
// whose threads all run, and one that waits.
func BenchmarkStop(b *testing.B) {
	for _, program := range []string{"busy", "reader"} {
		b.Run(program, func(b *testing.B) {
			target := verb(b, program).open()
			var stops []time.Duration
			for b.Loop() {
				stops = append(stops, must(b)(target.Install(b.Context())).Stopped, must(b)(target.Restore(b.Context())).Stopped)
			}
			slices.Sort(stops)
			b.ReportMetric(float64(stops[len(stops)/2].Microseconds()), "µs-stopped-p50")
			b.ReportMetric(float64(stops[len(stops)*99/100].Microseconds()), "µs-stopped-p99")
		})
	}
}

// BenchmarkSupported: the self-test.
func BenchmarkSupported(b *testing.B) {
	for b.Loop() {
		ok(b, Supported(b.Context()))
	}
}
