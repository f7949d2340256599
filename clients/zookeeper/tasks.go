package zookeeper

import "sync"

// tasks run in the background, and may begin while somebody waits for their
// end: the library tells of a session's end whenever it comes, at the client's
// Close too. A sync.WaitGroup allows that only while one of them runs.
type tasks struct {
	mu      sync.Mutex
	running int
	none    chan struct{} // closed when none runs
}

// Go runs a task.
func (t *tasks) Go(task func()) {
	t.mu.Lock()
	if t.running == 0 {
		t.none = make(chan struct{})
	}
	t.running++
	t.mu.Unlock()
	go func() {
		defer t.end()
		task()
	}()
}

func (t *tasks) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running--; t.running == 0 {
		close(t.none)
	}
}

// Ended is closed when all that run by now have ended; one that begins later may hold it up.
func (t *tasks) Ended() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == 0 {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	return t.none
}
