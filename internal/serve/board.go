package serve

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/internal/outside"
)

// board is what is known of all runs of a folder. Everybody who asks shares it: files are
// looked at when somebody asks, and not more often than every interval, however many ask.
//
// A look costs the same however many runs there are. The folder is listed again only
// when its modification time has changed, and a record is read again only when its
// file is another one or has another time or size. Looked at each time are runs that
// wrote something within the last minute; of the others a slice each time, in turn.
type board struct {
	root  *os.Root
	every time.Duration

	mu      sync.Mutex // guards what follows
	entries []*entry   // of the whole folder, the newest run first
	listed  time.Time  // the folder's modification time when it was listed
	looked  time.Time
	next    int // of entries, where the next slice begins
	version uint64
	rows    []row // of this version
	single  map[string]*single
}

// row is a run of the list. It is never changed: it is handed out.
type row struct {
	*Run
	text string // what a filter looks through
}

// entry is one folder. run is nil while it has no record that can be read; of
// its scenarios it has those that run.
type entry struct {
	source
	dir     string
	run     *Run
	text    string
	shown   string // all that a row shows
	written time.Time
}

// single is one run with its scenarios, for those who look at it.
type single struct {
	source
	looked  time.Time
	version uint64
	loaded  Run
	run     Run
	err     error
}

// source is the file of a record, as it was when it was read.
type source struct {
	info fs.FileInfo
	at   time.Time
}

// changed notes the file as it is now, and reports whether it must be read again. One that
// was written just before it was read may have been written once more within the same time.
func (s *source) changed(info fs.FileInfo, now time.Time) bool {
	before, age := s.info, s.at.Sub(info.ModTime()).Abs()
	s.info, s.at = info, now
	return before == nil || age < racy || !os.SameFile(info, before) || info.Size() != before.Size() ||
		!info.ModTime().Equal(before.ModTime())
}

// The bounds of a look: records of runs that go on, and of others; how long
// after it was written a run goes on.
const (
	mostFresh = 256
	slice     = 64
	fresh     = time.Minute
)

// racy is how young a file's time may be for a change to keep it.
const racy = time.Second

// runs are all runs, the newest first; the version is another one when any of
// them is. What can't be read is left out: it may be half written.
func (b *board) runs(now time.Time) (runs []row, version uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.looked) >= b.every || b.looked.IsZero() {
		b.looked = now
		if b.look(now) {
			b.version++
			b.rows = nil
			for _, e := range b.entries {
				if e.run != nil {
					b.rows = append(b.rows, row{e.run, e.text})
				}
			}
		}
	}
	return b.rows, b.version
}

// look looks at what may have changed, and reports whether anything has.
func (b *board) look(now time.Time) bool {
	root := outside.FS(b.root)
	changed := b.list(root, now)
	checked := 0
	seen := map[*entry]bool{}
	check := func(e *entry) {
		if !seen[e] && e.check(root, now) {
			changed = true
		}
		seen[e] = true
	}
	for _, e := range b.entries {
		switch {
		case e.at.IsZero():
			check(e)
		case now.Sub(e.written) < fresh && checked < mostFresh:
			checked++
			check(e)
		}
	}
	for range min(slice, len(b.entries)) {
		b.next = (b.next + 1) % len(b.entries)
		check(b.entries[b.next])
	}
	if changed {
		slices.SortFunc(b.entries, func(x, y *entry) int {
			return cmp.Or(y.started().Compare(x.started()), cmp.Compare(y.dir, x.dir))
		})
	}
	return changed
}

// list takes in the folders that are new, drops those that are gone, and
// reports whether any is gone.
func (b *board) list(root fs.FS, now time.Time) bool {
	info, err := fs.Stat(root, ".")
	if err != nil || info.ModTime().Equal(b.listed) {
		return false
	}
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return false
	}
	b.listed = info.ModTime()
	if now.Sub(b.listed) < racy {
		b.listed = time.Time{}
	}
	known, there := map[string]*entry{}, map[string]bool{}
	for _, e := range b.entries {
		known[e.dir] = e
	}
	for _, e := range entries {
		if !e.IsDir() || !plainName(e.Name()) { // latest is a link to one that is listed
			continue
		}
		there[e.Name()] = true
		if known[e.Name()] == nil {
			b.entries = append(b.entries, &entry{dir: e.Name(), written: now})
		}
	}
	all := len(b.entries)
	b.entries = slices.DeleteFunc(b.entries, func(e *entry) bool { return !there[e.dir] })
	return len(b.entries) < all
}

// check reads the record again if it has changed, and reports whether anything that is shown has.
func (e *entry) check(root fs.FS, now time.Time) bool {
	file, kind := kindOf(root, e.dir)
	info, err := fs.Stat(root, cmp.Or(file, e.dir))
	switch {
	case err != nil || file == "":
		e.run, e.at = nil, now
		if err == nil {
			e.written = info.ModTime() // its record is still to come
		}
	case e.changed(info, now) || e.run == nil: // a record that could not be read may be whole by now
		if r, err := load(root, e.dir, file, kind); err == nil { // else it is being written
			e.run = &r
		}
		e.written = info.ModTime()
	}
	shown := e.shown
	if e.shown = ""; e.run != nil {
		r := *e.run // rows that have been given away stay as they are
		r.look(root, now, func(sc Scenario) bool { return sc.State == running })
		r.Scenarios = slices.DeleteFunc(slices.Clone(r.Scenarios),
			func(sc Scenario) bool { return sc.State != running })
		if r.State == ended {
			r.Runs = nil
		}
		e.run, e.written = &r, r.newest
		e.text = strings.ToLower(fmt.Sprint(r.Dir, " ", r.Title, " ", r.Kind, " ", r.Outcome(), " ", r.Counts, " ",
			r.Seed, " ", r.Reason))
		e.shown = fmt.Sprint(e.text, r.Page, r.Ready, r.Elapsed, r.Done)
	}
	return e.shown != shown
}

func (e *entry) started() time.Time {
	if e.run == nil {
		return time.Time{}
	}
	return e.run.Started
}

// mostSingles is how many single runs are remembered.
const mostSingles = 64

// readRun is a single run with its scenarios. A link such as latest is followed, as far
// as it stays below the root. The version is another one when anything of it is.
func (b *board) readRun(dir string, now time.Time) (Run, uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.single[dir]
	if s == nil {
		if len(b.single) >= mostSingles {
			clear(b.single)
		}
		s = &single{}
		b.single[dir] = s
	}
	if s.looked.IsZero() || now.Sub(s.looked) >= b.every {
		s.look(outside.FS(b.root), dir, now)
		s.looked = now
	}
	return s.run, s.version, s.err
}

func (s *single) look(root fs.FS, dir string, now time.Time) {
	file, kind := kindOf(root, dir)
	info, err := fs.Stat(root, cmp.Or(file, dir))
	if err != nil || file == "" {
		s.err, s.info = fs.ErrNotExist, nil
		return
	}
	if s.changed(info, now) || s.err != nil {
		if s.loaded, s.err = load(root, dir, file, kind); s.err != nil {
			return
		}
	}
	r := s.loaded
	r.Scenarios = slices.Clone(r.Scenarios)
	r.see(root, now)
	if !reflect.DeepEqual(r, s.run) {
		s.run = r
		s.version++
	}
}
