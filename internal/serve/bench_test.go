package serve

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// many makes a folder of so many runs of thirteen scenarios each, which have ended.
func many(tb testing.TB, n int) string {
	tb.Helper()
	root := tb.TempDir()
	var scenarios []string
	for i := range 13 {
		scenarios = append(scenarios, fmt.Sprintf(`{"name":"redis-setnx/pause-holder-%d/unfenced","dir":"redis-setnx.pause-holder-%d.unfenced","elapsed_ns":6873542771,"state":"ended","result":"corrupted",
"first_violation":"unfenced-write: the store accepted a write of client 1 to k0 (version 24) after one of client 2 (version 23): it began at 1.022 s, when client 2 had been granted the lock at 0.997 s."}`, i, i))
	}
	for i := range n {
		dir := filepath.Join(root, fmt.Sprintf("run-%05d", i))
		text := fmt.Sprintf(`{"suite":"quick","seed":%d,"started":%q,"elapsed_ns":26902879964,"scenarios":[%s]}`, i,
			time.Unix(int64(1_700_000_000+i), 0).UTC().Format(time.RFC3339), strings.Join(scenarios, ","))
		if err := os.Mkdir(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return root
}

// processor is the processor time that this process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkFollowers has clients follow the list of 5,000 runs. An op is half a
// second of following: -benchtime 60x is half a minute.
func BenchmarkFollowers(b *testing.B) {
	root := many(b, 5000)
	for _, followers := range []int{1, 16} {
		b.Run(fmt.Sprint(followers), func(b *testing.B) {
			s, err := New(root)
			if err != nil {
				b.Fatal(err)
			}
			addr := serving(b, s)
			r, err := http.Get("http://" + addr + "/") // as a browser does before it follows
			if err != nil {
				b.Fatal(err)
			}
			page, err := io.Copy(io.Discard, r.Body)
			if err != nil {
				b.Fatal(err)
			}
			r.Body.Close()
			var got atomic.Int64
			for range followers {
				r, err := http.Get("http://" + addr + "/events")
				if err != nil {
					b.Fatal(err)
				}
				defer r.Body.Close()
				go func() { _, _ = io.Copy(counter{&got}, r.Body) }() // ends with the body
			}
			tick := time.NewTicker(500 * time.Millisecond)
			defer tick.Stop()
			for range 4 { // what is sent first has come
				<-tick.C
			}
			before, began := processor(), time.Now()
			b.ResetTimer()
			for range b.N {
				<-tick.C
			}
			b.ReportMetric(100*float64(processor()-before)/float64(time.Since(began)), "%-of-a-core")
			b.ReportMetric(float64(page), "page-B")
			b.ReportMetric(float64(got.Load())/float64(followers), "sent-B")
		})
	}
}

// counter counts what is written.
type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}
