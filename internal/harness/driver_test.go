package harness

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	controls "github.com/lockchaos/lockchaos/clients/broken"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/noop"
	"github.com/lockchaos/lockchaos/clients/postgres"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/clients/redlock"
	"github.com/lockchaos/lockchaos/clients/zookeeper"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/harness/worker"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// driven is a recorder with workers, on this machine's own network: for testing the driver alone.
type driven struct {
	file    string
	rec     *history.Recorder
	ids     wire.Numbers
	clients []*wire.Client
}

// drive starts so many workers with the noop lock.
func drive(t testing.TB, workers int) *driven {
	t.Helper()
	d := &driven{file: filepath.Join(t.TempDir(), "history.jsonl")}
	f, err := os.Create(d.file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	h := history.Header{Format: history.FormatVersion, Origin: monotime.Now() - 1, Claims: history.Claims(noop.Noop.Claims)}
	if d.rec, err = history.NewRecorder(f, h, []string{"k0"}, monotime.Now); err != nil {
		t.Fatal(err)
	}
	for i := range workers {
		d.clients = append(d.clients, d.worker(t, int32(i+1)))
	}
	return d
}

func (d *driven) worker(t testing.TB, number int32) *wire.Client {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "worker")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := d.client(number, in)
	go c.Listen(out, cmd.Wait)
	t.Cleanup(func() {
		in.Close()
		<-c.Gone()
	})
	a, err := c.Ask(t.Context(), wire.Command{ID: d.ids.NextOp(), Op: "open", Timeout: int64(time.Minute),
		Open: &wire.Opening{Lock: "noop", Client: number}})
	if err != nil || a.Result != wire.ResultOK {
		t.Fatalf("open: %+v, %v", a, err)
	}
	return c
}

func (d *driven) client(number int32, in io.Writer) *wire.Client {
	c := wire.NewClient(number, "here", in, &d.ids, map[string]history.KeyID{"k0": 0})
	c.Recorder, c.Event, c.Extra = d.rec, func(wire.Reply) {}, time.Minute
	return c
}

// finish closes the history and reads it back.
func (d *driven) finish(t testing.TB) *history.History {
	t.Helper()
	if err := d.rec.Close(); err != nil {
		t.Fatal(err)
	}
	h, err := history.ReadFile(d.file)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func workerVerb([]string) int {
	if err := worker.Run(context.Background(), os.Stdin, os.Stdout,
		[]clients.Kind{noop.Noop, noop.Cas, redis.Setnx, redis.SetnxFenced, redis.Fair, redis.Multi, redis.Watchdog, redis.Failover,
			redlock.Redlock, etcd.Lease, etcd.ReadWrite, zookeeper.Recipe, postgres.Advisory, controls.Sleeper,
			controls.NoTTL}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Stamps nest: the recorder's invocation, the worker's start and end, the recorder's completion.
func TestStampsNest(t *testing.T) {
	d := drive(t, 1)
	id, r, err := d.clients[0].Do(t.Context(), wire.Op{Kind: history.Acquire, Key: "k0", Timeout: time.Minute})
	if err != nil || r.Result != wire.ResultOK {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, r, err = d.clients[0].Do(t.Context(), wire.Op{Kind: history.Release, Key: "k0", Grant: id,
		Timeout: time.Minute}); err != nil || r.Result != wire.ResultOK {
		t.Fatalf("%+v, %v", r, err)
	}
	// Under a grant that is not the newest, the worker does nothing.
	if _, r, err = d.clients[0].Do(t.Context(), wire.Op{Kind: history.Release, Key: "k0", Grant: id,
		Timeout: time.Minute}); err != nil || !r.Declined {
		t.Fatalf("%+v, %v", r, err)
	}
	h := d.finish(t)
	if len(h.Events) != 7 || h.Truncated {
		t.Fatalf("%d events", len(h.Events))
	}
	for i := 0; i < 4; i += 2 {
		inv, ret := h.Events[i], h.Events[i+1]
		stamps := []int64{inv.Time, ret.Start, ret.End, ret.Time}
		if inv.Type != history.Invoke || ret.Type != history.OK || inv.Op != ret.Op || inv.Grant != id ||
			!slices.IsSorted(stamps) || stamps[0] <= 0 {
			t.Errorf("%+v\n%+v", inv, ret)
		}
	}
}

// A worker that dies, hangs or prints garbage is an error that names it; the op
// it was asked for ends as info.
func TestBrokenWorkers(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"dies", "exit 7", "exit status 7"},
		{"garbage", "echo '<html>'; cat >/dev/null", `answered what is no reply: "<html>"`},
		{"wrong id", `echo '{"id":99,"result":"ok"}'; cat >/dev/null`, "answered op 99 while 1 was asked"},
		{"hangs", "cat >/dev/null", "has not answered acquire for 30ms, its time limit of 10ms included"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := drive(t, 0)
			cmd := exec.Command("sh", "-c", "read line; "+c.script)
			in, _ := cmd.StdinPipe()
			out, _ := cmd.StdoutPipe()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			cl := d.client(1, in)
			timeout := time.Minute
			if c.name == "hangs" {
				cl.Extra, timeout = 20*time.Millisecond, 10*time.Millisecond
			}
			go cl.Listen(out, cmd.Wait)
			_, _, err := cl.Do(t.Context(), wire.Op{Kind: history.Acquire, Key: "k0", Timeout: timeout})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want …%s…", err, c.want)
			}
			in.Close()
			<-cl.Gone()
			h := d.finish(t)
			if last := h.Events[len(h.Events)-2]; last.Type != history.Info || last.Op != 1 {
				t.Errorf("the op ended as %+v", last)
			}
		})
	}
}

// BenchmarkDriver measures the harness alone: recorded ops a second over so
// many workers with a lock that costs nothing. The bare pipe beside it writes
// and reads the same lines with no harness, no recorder and no lock.
func BenchmarkDriver(b *testing.B) {
	for _, workers := range []int{1, 10} {
		b.Run(fmt.Sprintf("harness/workers=%d", workers), func(b *testing.B) {
			d := drive(b, workers)
			parallel(b, workers, func(i int) error {
				c := d.clients[i]
				_, _, err := c.Do(b.Context(), wire.Op{Kind: history.Acquire, Key: "k0", Timeout: time.Minute})
				return err
			})
			if err := d.rec.Close(); err != nil {
				b.Fatal(err)
			}
		})
		b.Run(fmt.Sprintf("bare-pipe/workers=%d", workers), func(b *testing.B) {
			pipes := make([]*echo, workers)
			for i := range pipes {
				pipes[i] = startEcho(b)
			}
			parallel(b, workers, func(i int) error { return pipes[i].trip() })
		})
	}
}

// parallel spreads b.N calls over so many goroutines, and reports their rate and median time.
func parallel(b *testing.B, n int, call func(i int) error) {
	times := make([][]time.Duration, n)
	b.ResetTimer()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for range b.N / n {
				began := monotime.Now()
				if err := call(i); err != nil {
					b.Error(err)
					return
				}
				times[i] = append(times[i], monotime.Since(began))
			}
		})
	}
	all.Wait()
	b.StopTimer()
	flat := slices.Concat(times...)
	if len(flat) == 0 {
		return
	}
	slices.Sort(flat)
	b.ReportMetric(float64(len(flat))/b.Elapsed().Seconds(), "ops/s")
	b.ReportMetric(float64(flat[len(flat)/2].Nanoseconds()), "p50-ns")
}
