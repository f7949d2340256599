package redact

import (
	"bytes"
	"io"
	"sync"
)

// maxHeld bounds an unfinished line that is kept back.
const maxHeld = 64 << 10

// Writer passes on what is written to it without secrets, by whole lines: a
// secret may come in two pieces. Safe for concurrent use.
type Writer struct {
	mu   sync.Mutex
	to   io.Writer
	held []byte
}

// NewWriter returns a Writer to w. Flush it at the end.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Write takes everything, and passes on the lines that are complete.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = append(w.held, p...)
	end := bytes.LastIndexByte(w.held, '\n') + 1
	if end == 0 && len(w.held) > maxHeld {
		end = len(w.held)
	}
	return len(p), w.pass(end)
}

// Flush passes on the last line, though it has no end.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pass(len(w.held))
}

// pass passes on the first bytes that are held.
func (w *Writer) pass(n int) error {
	if n == 0 {
		return nil
	}
	text := Text(string(w.held[:n]))
	w.held = append(w.held[:0], w.held[n:]...)
	_, err := io.WriteString(w.to, text)
	return err
}
