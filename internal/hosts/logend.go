//go:build linux

package hosts

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"

	"github.com/lockchaos/lockchaos/internal/harmless"
)

// How many lines of a log's end an error message shows, of how many bytes: those of a stack are
// left out.
const (
	logBytes = 16 << 10
	logLines = 12
)

// logEnd knows the last lines that a process printed: it sees them pass, or
// reads them back from the log file.
type logEnd struct {
	files []string // regular files that the process writes by itself

	mu   sync.Mutex
	text []byte // what passed, at most 2*logBytes
}

// keepLog arranges for the end of a command's output to be known.
func keepLog(cmd *exec.Cmd) *logEnd {
	l := &logEnd{}
	shared := same(cmd.Stdout, cmd.Stderr)
	cmd.Stdout = l.see(cmd.Stdout)
	if shared {
		cmd.Stderr = cmd.Stdout // one pipe, so that lines keep their order
	} else {
		cmd.Stderr = l.see(cmd.Stderr)
	}
	return l
}

// see returns the writer to use in place of w.
func (l *logEnd) see(w io.Writer) io.Writer {
	if w == nil {
		return l
	}
	f, ok := w.(*os.File)
	if !ok {
		return io.MultiWriter(w, l)
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		l.files = append(l.files, f.Name())
	}
	return w // the process writes to it directly: a pipe of the caller's, a terminal
}

// same reports whether two writers are one, as os/exec does.
func same(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}

// Write takes note of what the process printed.
func (l *logEnd) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if extra := len(l.text) - logBytes; extra > logBytes {
		l.text = append(l.text[:0], l.text[extra:]...)
	}
	return len(p), nil
}

// lines returns the last lines, without a newline at the end.
func (l *logEnd) lines() string {
	l.mu.Lock()
	text := bytes.Clone(l.text)
	l.mu.Unlock()
	for _, name := range l.files {
		text = append(text, fileEnd(name)...)
	}
	text = text[max(0, len(text)-logBytes):]
	return harmless.Ending(strings.ToValidUTF8(string(text), "\uFFFD"), logLines)
}

// fileEnd returns the last bytes of a file; nothing if it cannot be read, for
// then there is nothing to show.
func fileEnd(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	if _, err := f.Seek(-logBytes, io.SeekEnd); err != nil {
		_, _ = f.Seek(0, io.SeekStart) // shorter than that
	}
	text, _ := io.ReadAll(io.LimitReader(f, logBytes))
	return text
}
