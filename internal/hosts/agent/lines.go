package agent

import (
	"encoding/json"
	"io"
	"sync"
)

// Lines writes whole lines to Out, for several goroutines.
type Lines struct {
	Out io.Writer

	mu sync.Mutex
}

// Write writes a whole line.
func (l *Lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Out.Write(line)
}

// Say writes a value as one line of JSON.
func (l *Lines) Say(what any) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	_, err = l.Write(append(text, '\n'))
	return err
}
