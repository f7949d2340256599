package harness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/clients/redlock"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	goredis "github.com/redis/go-redis/v9"
)

// BenchmarkStart measures from nothing to the first op: network, hosts,
// service, store and connected workers. With four clients it makes eight hosts:
// two are those of the fresh clients of the probe.
func BenchmarkStart(b *testing.B) {
	for _, kind := range []clients.Kind{redis.Setnx, etcd.Lease} {
		b.Run(kind.Service, func(b *testing.B) {
			p := plan(kind.Name, time.Second)
			p.Scenario.Clients = 4
			p.Scenario.TTL = 1e9
			for b.Loop() {
				r := newRun(Config{Plan: p, Lock: kind, Logs: b.TempDir()})
				err := r.start(b.Context(), io.Discard)
				b.StopTimer()
				if err := errors.Join(err, r.finish(nil)); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

// BenchmarkThroughput drives redis-setnx with ten clients, each on a key of its
// own: through the harness, with every op recorded, and beside it the same ten
// processes looping over go-redis with nothing in between, on the same server.
func BenchmarkThroughput(b *testing.B) {
	const clients = 10
	p := plan("redis-setnx", time.Second)
	p.Scenario.Clients, p.Scenario.Keys, p.Scenario.TTL = clients, clients, 10e9
	file, err := os.Create(filepath.Join(b.TempDir(), "history.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	r := newRun(Config{Plan: p, Lock: redis.Setnx, Logs: b.TempDir()})
	if err := r.start(b.Context(), file); err != nil {
		b.Fatal(err)
	}
	defer r.finish(nil)
	b.Run("harness", func(b *testing.B) {
		parallel(b, clients, func(i int) error { return cycle(b.Context(), r, i) })
	})
	b.Run("bare-go-redis", func(b *testing.B) { bareLoops(b, r, clients) })
}

// BenchmarkWaits is one look at how long the processes of a run wait for a processor: ten
// clients and five servers. "share" is what looking takes of one processor with a TTL of 500 ms.
func BenchmarkWaits(b *testing.B) {
	p := plan("redlock", time.Second)
	p.Scenario.Clients = 10
	r := newRun(Config{Plan: p, Lock: redlock.Redlock, Logs: b.TempDir()})
	if err := r.start(b.Context(), io.Discard); err != nil {
		b.Fatal(err)
	}
	defer r.finish(nil)
	s, err := r.watchWaits()
	if err != nil {
		b.Fatal(err)
	}
	before := cpuTime(b)
	for b.Loop() {
		if _, err := s.waits.Look(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N)/float64(waitsEvery(500*time.Millisecond, 0)), "share")
}

// cpuTime is what this process has had of the processors.
func cpuTime(b *testing.B) time.Duration {
	had, err := hosts.CPUTime([]int{os.Getpid()})
	if err != nil {
		b.Fatal(err)
	}
	return had
}

// cycle is one acquire and one release.
func cycle(ctx context.Context, r *run, i int) error {
	w, key := r.workers[i], r.Keys[i]
	id, a, err := w.Do(ctx, wire.Op{Kind: history.Acquire, Key: key, Timeout: time.Second})
	if err == nil && a.Result != wire.ResultOK {
		err = errors.New(a.Error)
	}
	if err != nil {
		return err
	}
	_, _, err = w.Do(ctx, wire.Op{Kind: history.Release, Key: key, Grant: id, Timeout: time.Second})
	return err
}

// bareLoops has so many processes, each on a host of its own, loop b.N cycles in all.
func bareLoops(b *testing.B, r *run, n int) {
	var starts []io.WriteCloser
	var ends []*bufio.Reader
	for i := range n {
		cmd := exec.Command("/proc/self/exe", "bare", r.service.Addrs()[0], r.Keys[i], strconv.Itoa(max(b.N/n, 1)))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		read, write, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		defer read.Close()
		cmd.Stdout = write
		_, err = r.workers[i].proc.Host().Start(cmd)
		write.Close()
		if err != nil {
			b.Fatal(err)
		}
		starts, ends = append(starts, in), append(ends, bufio.NewReader(read))
		if _, err := ends[i].ReadString('\n'); err != nil { // connected
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	for _, in := range starts {
		in.Close()
	}
	for _, out := range ends {
		if line, err := out.ReadString('\n'); err != nil || line != "done\n" {
			b.Fatalf("a bare loop ended with %q, %v", line, err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

// bare is a process that takes and gives back a lock with nothing but go-redis,
// when its input has ended.
func bare(args []string) int {
	n, _ := strconv.Atoi(args[2])
	c := goredis.NewClient(&goredis.Options{Addr: args[0], MaxRetries: -1})
	ctx := context.Background()
	release := goredis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)
	err := c.Ping(ctx).Err()
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	for i := 0; i < n && err == nil; i++ {
		value := strconv.Itoa(i)
		if err = c.SetNX(ctx, args[1], value, 10*time.Second).Err(); err == nil {
			err = release.Run(ctx, c, []string{args[1]}, value).Err()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bare loop:", err)
		return 1
	}
	fmt.Println("done")
	return 0
}

// TestMain runs everything in a private network; the other verbs are what the
// tests start as processes.
func TestMain(m *testing.M) {
	hoststest.SideBySide()
	hoststest.Main(m, map[string]func([]string) int{"worker": workerVerb, "echo": echoes, "bare": bare, "burn": hoststest.Burn, "node": backends.NodeMain})
}
