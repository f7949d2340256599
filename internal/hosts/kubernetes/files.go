package kubernetes

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// filesOf are the files below a folder.
func filesOf(dir string) (all []chunk, err error) {
	m := mirror{dir: dir, sent: map[string]sentFile{}, send: func(c chunk) error { all = append(all, c); return nil }}
	return all, m.pass()
}

// mirrorEvery is how often the files of the inner program are looked at.
const mirrorEvery = 50 * time.Millisecond

// mirror sends what is new in the files below a folder. A file that was made
// anew, or is shorter than it was, is sent from its beginning.
type mirror struct {
	dir  string
	sent map[string]sentFile // by the path below the folder
	send func(chunk) error

	mu   sync.Mutex
	skip map[string]bool // what came from the other side; guarded by mu
}

// came notes a file that comes from the other side.
func (m *mirror) came(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.skip[name] = true
}

func (m *mirror) skips(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.skip[name]
}

type sentFile struct {
	info fs.FileInfo
	size int64
}

// pass looks at all files once.
func (m *mirror) pass() error {
	return filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was replaced meanwhile
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(m.dir, path)
		if err != nil || m.skips(name) {
			return err
		}
		err = m.file(name, path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// file sends what is new in one.
func (m *mirror) file(name, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	was, known := m.sent[name]
	if known && (!os.SameFile(was.info, info) || info.Size() < was.size) {
		was.size, known = 0, false
	}
	for at := was.size; at < info.Size() || !known; known = true {
		// it is the receiver's from then on
		buf := make([]byte, min(chunkSize, max(info.Size()-at, 0)))
		n, err := f.ReadAt(buf, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err := m.send(chunk{name, at, buf[:n:n]}); err != nil {
			return err
		}
		at += int64(n)
		was.size = at
		if n == 0 {
			break
		}
	}
	was.info = info
	m.sent[name] = was
	return nil
}

// keep mirrors until ctx ends, and then once more.
func (m *mirror) keep(ctx context.Context) error {
	tick := time.NewTicker(mirrorEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return m.pass()
		case <-tick.C:
			if err := m.pass(); err != nil {
				return err
			}
		}
	}
}
