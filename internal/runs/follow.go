package runs

import (
	"bufio"
	"errors"
	"io"
	"os"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// followEvery is how often a growing history is looked at.
const followEvery = 20 * time.Millisecond

// followHistory judges a history while it is being written and calls begun with its
// header, seen for each event, and found for each certain violation, so that the first one
// is on the screen while the scenario still runs. The returned function stops it, after
// the end of the file. Whatever goes wrong here shows when the whole history is judged.
func followHistory(file string, begun func(history.Header), seen func(*history.Event),
	found func(checker.Violation)) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		f := open(file, quit)
		if f == nil {
			return
		}
		defer f.Close()
		r, err := history.NewReader(bufio.NewReader(&growing{f, quit}), file)
		if err != nil {
			return
		}
		begun(r.Header)
		j := checker.New(r.Header, r.Keys, checker.Options{Keep: 1, OnViolation: found})
		for {
			var e history.Event
			if r.Read(&e) != nil {
				return
			}
			seen(&e)
			j.Add(&e)
		}
	}()
	return func() { close(quit); <-done }
}

// open waits until the file is there.
func open(file string, quit <-chan struct{}) *os.File {
	for {
		f, err := os.Open(file)
		if err == nil {
			return f
		}
		select {
		case <-quit:
			return nil
		case <-time.After(followEvery):
		}
	}
}

// growing reads a file that is being appended to; it ends when quit is closed and nothing is left.
type growing struct {
	f    *os.File
	quit <-chan struct{}
}

func (g *growing) Read(p []byte) (int, error) {
	last := false
	for {
		n, err := g.f.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) || last {
			return n, err
		}
		select {
		case <-g.quit:
			last = true
		case <-time.After(followEvery):
		}
	}
}
