package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/harness/clock"
)

// tailEvery is how often a log that has not grown is looked at.
const tailEvery = 2 * time.Millisecond

// longestLine bounds one line of a log, in bytes.
const longestLine = 1 << 20

// logOf is the file in which a client's log grows, seen from here: what the
// container prints, or a file in it.
func (a *run) logOf(c *client) string {
	if a.app.Log.File == "" {
		return filepath.Join(a.cfg.Logs, c.Name+".log")
	}
	return fmt.Sprintf("/proc/%d/root%s", c.proc.PID(), a.app.Log.File)
}

// follow reads a client's log while it grows, until over is closed and nothing is left.
func (a *run) follow(ctx context.Context, c *client, over <-chan struct{}) error {
	l := a.app.Log
	name := c.Name + "'s output"
	if l.File != "" {
		name = c.Name + ":" + l.File
	}
	lines, err := audit.NewLines(name, c.Name, audit.Options{Map: l.Map, Events: l.Events, TimeFormat: l.TimeFormat})
	if err != nil {
		return err
	}
	defer func() { c.other = lines.Other }()
	f, err := a.openLog(ctx, c, over)
	if err != nil || f == nil {
		return err
	}
	defer f.Close()
	t := tail{file: f, name: name}
	if t.read, err = f.Seek(0, io.SeekCurrent); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for {
		last := clock.Closed(over)
		chunk, err := t.lines()
		if err != nil {
			return err
		}
		if err := a.read(ctx, c, lines, chunk); err != nil {
			return err
		}
		if len(chunk) > 0 {
			continue
		}
		if last {
			return nil
		}
		if !clock.Pause(ctx, over, tailEvery) {
			return context.Cause(ctx)
		}
	}
}

// openLog opens a client's log at its present end, and waits until there is
// one; nil: there never was.
func (a *run) openLog(ctx context.Context, c *client, over <-chan struct{}) (*os.File, error) {
	if c.proc == nil && a.app.Log.File != "" {
		return nil, fmt.Errorf("%s ended before its log in %s could be read: run it again", c.Name, a.app.Log.File)
	}
	for fresh := c.number != c.member; ; fresh = true {
		f, err := os.Open(a.logOf(c))
		if errors.Is(err, os.ErrNotExist) {
			if clock.Closed(over) {
				return nil, nil
			}
			if !clock.Pause(ctx, over, tailEvery) {
				return nil, context.Cause(ctx)
			}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: open its log: %w", c.Name, err)
		}
		if a.app.Log.File == "" || fresh {
			return f, nil // what it prints is collected from the beginning of the run
		}
		if _, err := f.Seek(0, io.SeekEnd); err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: find the end of its log: %w", c.Name, err)
		}
		return f, nil
	}
}

// tail reads whole lines of a growing file.
type tail struct {
	file *os.File
	name string
	rest []byte
	read int64 // bytes from the beginning of the file
}

// lines returns those that have come since the last call; what has no newline
// yet is kept for the next.
func (t *tail) lines() (all [][]byte, err error) {
	buf := make([]byte, 1<<16)
	n, err := t.file.Read(buf)
	if n == 0 {
		if info, wrong := t.file.Stat(); wrong == nil && info.Size() < t.read {
			return nil, fmt.Errorf("%s was cut or replaced during the run: let it grow only", t.name)
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", t.name, err)
	}
	t.read += int64(n)
	t.rest = append(t.rest, buf[:n]...)
	for {
		line, rest, whole := bytes.Cut(t.rest, []byte{'\n'})
		if !whole {
			break
		}
		all, t.rest = append(all, line), rest
	}
	if len(t.rest) > longestLine {
		return nil, fmt.Errorf("%s: a line of more than %d bytes", t.name, longestLine)
	}
	return all, nil
}

// read understands lines that have come together. A grant whose end is among
// them has no holder any more.
func (a *run) read(ctx context.Context, c *client, lines *audit.Lines, chunk [][]byte) error {
	var got []audit.Line
	for _, text := range chunk {
		l, ok, err := lines.Read(text)
		if err != nil {
			return err
		}
		if ok {
			c.note(l)
			got = append(got, l)
		}
	}
	if !a.watching.Load() {
		return nil
	}
	for i := range got {
		l := &got[i]
		place := [2]string{l.Client, l.Key}
		switch {
		case l.Granted():
			grant, err := a.granted(ctx, c, l, endsAmong(l, got[i+1:]))
			if err != nil {
				return err
			}
			c.held[place] = grant
		case l.Over():
			a.director.Releases(c.held[place])
			delete(c.held, place)
		}
	}
	return nil
}

// endsAmong reports whether one of the lines ends the grant.
func endsAmong(grant *audit.Line, lines []audit.Line) bool {
	return slices.ContainsFunc(lines, func(l audit.Line) bool {
		return l.Over() && l.Client == grant.Client &&
			l.Key == grant.Key
	})
}
