package clienttest

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/lockchaos/lockchaos/clients"
)

func readWrite(c clients.Claims) bool { return c.ReadWrite }

// acquireRead takes the key as a reader.
func (s *suite) acquireRead(l clients.Lock, key string) clients.Grant {
	s.Helper()
	g, err := l.(clients.ReadLocker).AcquireRead(s.patience(), key)
	if err != nil {
		s.Fatalf("acquire as a reader: %v", err)
	}
	return g
}

// asReader is the lock, of which every acquire is a reader's.
type asReader struct{ clients.Lock }

func (r asReader) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return r.Lock.(clients.ReadLocker).AcquireRead(ctx, key)
}

// readersTogether lets two readers hold a key, and neither beside a writer.
func readersTogether(s *suite) {
	a, b, c, key := s.open(), s.open(), s.open(), s.key()
	first := s.acquireRead(a, key)
	second := s.acquireRead(b, key)
	s.busy(c, key, "two readers hold the key", min(first.Attempt, second.Attempt))
	s.release(a, first)
	s.busy(c, key, "a reader holds the key", second.Attempt)
	s.release(b, second)
	g := s.acquire(c, key)
	s.busy(asReader{a}, key, "a writer holds the key", g.Attempt)
	s.release(c, g)
	s.release(a, s.acquireRead(a, key)) // what gave up has left nothing behind
	s.release(c, s.acquire(c, key))
}

// readersAndWriters has clients read and write by turns. A writer is alone; and everybody gets on.
func readersAndWriters(s *suite) {
	const workers, each = 6, 10
	key := s.key()
	var readers, writers, together atomic.Int64
	var group sync.WaitGroup
	for w := range workers {
		l := s.open()
		group.Go(func() {
			for i := range each {
				reads := (w+i)%2 == 0
				ask, inside := l.Acquire, &writers
				if reads {
					ask, inside = l.(clients.ReadLocker).AcquireRead, &readers
				}
				g, err := ask(s.patience(), key)
				if err != nil {
					s.Errorf("client %d (reader: %t): %v", w, reads, err)
					return
				}
				n := inside.Add(1)
				if reads && writers.Load() > 0 || !reads && (n > 1 || readers.Load() > 0) {
					s.Errorf("client %d (reader: %t) was granted beside %d readers and %d writers", w, reads,
						readers.Load(), writers.Load())
				}
				if reads && n > 1 {
					together.Add(1)
				}
				inside.Add(-1)
				if err := l.Release(s.patience(), g); err != nil {
					s.Errorf("client %d: release: %v", w, err)
					return
				}
			}
		})
	}
	group.Wait()
	s.Logf("%d times a reader was granted beside another", together.Load())
}
