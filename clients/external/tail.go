package external

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/redact"
)

const (
	// logTail is how much of an adapter's standard error is kept for messages, of which they have
	// so many lines; logLimit is how much is passed on.
	logTail  = 16 << 10
	logLines = 20
	logLimit = 16 << 20
)

// Tail passes on what an adapter prints on standard error, up to a limit, and
// keeps the end for messages. Safe for concurrent use.
type Tail struct {
	mu   sync.Mutex
	to   io.Writer
	sent int
	end  []byte
}

// NewTail passes on to a log.
func NewTail(to io.Writer) *Tail { return &Tail{to: to} }

// Write takes what was printed. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if over := len(t.end) - logTail; over > 0 {
		t.end = append(t.end[:0], t.end[over:]...)
	}
	if t.sent < logLimit {
		// a log that can't be written must not end the adapter
		_, _ = t.to.Write(p[:min(len(p), logLimit-t.sent)])
		if t.sent += len(p); t.sent >= logLimit {
			fmt.Fprintf(t.to, "\n[the adapter printed more than %d MiB: the rest is left out]\n", logLimit>>20)
		}
	}
	return len(p), nil
}

// String is the end of what was printed, without passwords.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return redact.Text(harmless.Ending(string(bytes.ToValidUTF8(t.end, []byte("?"))), logLines))
}
