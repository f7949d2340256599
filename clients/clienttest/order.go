package clienttest

import (
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// turn is one grant of a fair lock, with the times (ns) around its acquire.
type turn struct {
	client     int
	start, end int64
	clients.Grant
}

// order has three clients wait for one another, and demands that who was
// certainly enqueued before another asked was granted before it. When each was
// enqueued only the lock knows; without a stamp nothing is demanded.
func order(s *suite) {
	const waiters, rounds = 3, 20
	key := s.key()
	var mu sync.Mutex
	var turns []turn
	var group sync.WaitGroup
	for w := range waiters {
		l := s.open()
		group.Go(func() {
			for range rounds {
				start := monotime.Now()
				g, err := l.Acquire(s.patience(), key)
				if err != nil {
					s.Errorf("client %d: %v", w, err)
					return
				}
				mu.Lock()
				turns = append(turns, turn{w, start, monotime.Now(), g})
				mu.Unlock()
				time.Sleep(2 * time.Millisecond) // a holder that others have to wait for
				if err := l.Release(s.patience(), g); err != nil {
					s.Errorf("client %d: release: %v", w, err)
					return
				}
			}
		})
	}
	group.Wait()
	if certain := s.inOrder(turns); len(turns) > 0 && turns[0].Enqueued != 0 && certain < rounds {
		s.Errorf("the order was certain of %d pairs only", certain)
	}
}

// inOrder demands the order of the turns, and returns of how many pairs it was certain.
func (s *suite) inOrder(turns []turn) (certain int) {
	for i, later := range turns {
		for _, sooner := range turns[:i] {
			switch {
			case later.Enqueued == 0 || sooner.Enqueued == 0 || later.client == sooner.client:
			case sooner.Enqueued < later.start && later.start < sooner.end: // both waited
				certain++
			case later.Enqueued < sooner.start:
				s.Errorf("client %d, enqueued at %d, was granted after client %d, which asked at %d", later.client,
					later.Enqueued, sooner.client, sooner.start)
			}
		}
	}
	return certain
}
