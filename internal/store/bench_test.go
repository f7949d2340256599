package store_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/lockchaos/lockchaos/internal/store"
)

// BenchmarkServer measures reads and writes of ten clients through the server, on loopback.
func BenchmarkServer(b *testing.B) {
	const clients = 10
	addr := serve(b, openSQLite(b, filepath.Join(b.TempDir(), "ledger.db"), store.Fencing{Writes: true, Reads: true}))
	var connected [clients]*store.Client
	for i := range connected {
		connected[i] = dial(b, addr)
	}
	b.ResetTimer()
	var work sync.WaitGroup
	for i, c := range connected {
		work.Go(func() {
			for n := i; n < b.N; n += clients {
				r := store.Request{Key: "k0", Op: int64(n), Token: 1, Value: int64(n)}
				var err error
				if n/clients%2 == 0 {
					_, err = c.Read(context.Background(), r)
				} else {
					_, err = c.Write(context.Background(), r)
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
}

// BenchmarkEngine measures each engine alone, with ten callers that write to a fenced store.
func BenchmarkEngine(b *testing.B) {
	fenced := store.Fencing{Writes: true, Reads: true}
	b.Run("sqlite", func(b *testing.B) { benchmarkEngine(b, openSQLite(b, filepath.Join(b.TempDir(), "ledger.db"), fenced)) })
	for _, s := range remoteEngines {
		b.Run(s.engine, func(b *testing.B) { benchmarkEngine(b, s.open(b, fenced)) })
	}
}

func benchmarkEngine(b *testing.B, l store.Ledger) {
	b.SetParallelism(5) // × GOMAXPROCS
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := l.Do(context.Background(), store.Request{Key: "k0", Token: 1}, true); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
}

// BenchmarkEntries measures reading the ledger back, in pages of a thousand.
func BenchmarkEntries(b *testing.B) {
	l := openSQLite(b, filepath.Join(b.TempDir(), "ledger.db"), store.Fencing{})
	for range 1000 {
		if _, err := l.Do(context.Background(), store.Request{Key: "k0"}, true); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	for range b.N {
		if entries, err := l.Entries(context.Background(), 0, 1000); err != nil || len(entries) != 1000 {
			b.Fatal(len(entries), err)
		}
	}
}
