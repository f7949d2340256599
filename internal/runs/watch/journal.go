package watch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"

	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// state is the first line of the journal: what the lines after it do not tell.
type state struct {
	Head struct {
		Format  formats.Format
		Options audit.Options
		First   []byte // the first lines, by which the columns were found
	}
	// Lines counts the lines that came; Chain is a hash of them all. First and
	// Last are hashes of the first and the last of them.
	Lines       int64
	Chain       uint64
	First, Last []uint64
	// Kept is the number of the last line before the journal was written: those after it are new.
	Kept int64
	clock
	// Deleted is the latest time of a lock of which nothing is kept.
	Deleted int64
	// Granted: some line said "granted". Told: some acquire said that it was granted.
	Granted, Told        bool
	Bad, Beyond, Crowded int64
	// Gaps are the numbers of the first bad lines.
	Gaps []int64
	// Open counts lines that leave it open who held a lock. Doubtful counts how often lines were
	// forgotten that left a lock in doubt, and Doubt says of the first ones why.
	Open, Doubtful int64
	Doubt          string
}

// note counts a line.
func (s *state) note(line []byte) {
	h := hash(line)
	s.Lines++
	s.Chain = (s.Chain ^ h) * 1099511628211
	if len(s.First) < headLines {
		s.First = append(s.First, h)
	}
	if len(s.Last) == lastLines {
		s.Last = s.Last[1:]
	}
	s.Last = append(s.Last, h)
}

func hash(line []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(line) // into memory
	return h.Sum64()
}

// journal is the file of lines that may still matter.
type journal struct {
	f     *os.File
	out   *bufio.Writer
	added int64
}

const journalFile = "journal"

// add appends a line. cut, if not 0, is until when lines of its lock are forgotten.
func (j *journal) add(number, cut int64, line []byte) error {
	j.added++
	_, err := fmt.Fprintf(j.out, "%d %d\t%s\n", number, cut, line)
	return err
}

func (j *journal) flush() error {
	if err := j.out.Flush(); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

func (j *journal) close() error { return errors.Join(j.flush(), j.f.Close()) }

// write writes a new journal in the place of the old one: the state, and the lines that are kept.
func (w *watcher) write() (*journal, error) {
	name := filepath.Join(w.Dir, journalFile)
	f, err := os.Create(name + ".new")
	if err != nil {
		return nil, fmt.Errorf("write the journal: %w", err)
	}
	j := &journal{f: f, out: bufio.NewWriterSize(f, 1<<16)}
	w.Kept, w.Granted, w.Told = w.Lines, w.parser.Granted(), w.parser.TellsGrants()
	err = json.NewEncoder(j.out).Encode(&w.state)
	for _, name := range slices.Sorted(maps.Keys(w.keys)) {
		k := w.keys[name]
		for _, e := range k.entries {
			err = errors.Join(err, j.add(e.number, k.cut, e.text))
		}
	}
	j.added = 0
	if err = errors.Join(err, j.out.Flush(), f.Sync(), os.Rename(name+".new", name)); err != nil {
		return nil, errors.Join(fmt.Errorf("write the journal: %w", err), f.Close())
	}
	return j, nil
}

// resume reads the journal of a watch before, if there is one.
func (w *watcher) resume() error {
	name := filepath.Join(w.Dir, journalFile)
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("go on with the journal: %w", err)
	}
	in := bufio.NewReaderSize(f, 1<<16)
	first, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(first, &w.state)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s is no journal of a watch: %w", name, err), f.Close())
	}
	if !reflect.DeepEqual(normal(w.Options), normal(w.Head.Options)) || w.Format != formats.Auto &&
		w.Format != w.Head.Format {
		return errors.Join(fmt.Errorf("the watch in %s began with other flags: give the same ones, or another --out",
			w.Dir), f.Close())
	}
	w.Format = w.Head.Format
	w.Options.FileDate = w.Head.Options.FileDate
	options := w.Options
	if w.parser, err = audit.NewParser("standard input", w.Head.First, w.Format, options); err != nil {
		return errors.Join(err, f.Close())
	}
	w.parser.SetGranted(w.Granted)
	w.parser.SetTellsGrants(w.Told)
	whole, err := w.replay(in, int64(len(first)))
	if err == nil {
		err = f.Truncate(whole) // half a line, of a kill
	}
	if err == nil {
		_, err = f.Seek(whole, io.SeekStart)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("read %s: %w", name, err), f.Close())
	}
	w.journal = &journal{f: f, out: bufio.NewWriterSize(f, 1<<16), added: w.Lines - w.Kept}
	return nil
}

// normal is options without the difference between none and an empty list,
// which JSON does not keep, and without the day on which a watch began.
func normal(o audit.Options) audit.Options {
	if len(o.Map) == 0 {
		o.Map = nil
	}
	if len(o.Events) == 0 {
		o.Events = nil
	}
	if len(o.Results) == 0 {
		o.Results = nil
	}
	if len(o.Zones) == 0 {
		o.Zones = nil
	}
	o.FileDate = ""
	return o
}

// replay takes the lines of the journal again, and returns where its last whole line ends.
func (w *watcher) replay(in *bufio.Reader, at int64) (int64, error) {
	for {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return at, nil
		}
		if err != nil {
			return at, err
		}
		digits, line, _ := bytes.Cut(text[:len(text)-1], []byte("\t"))
		var number, cut int64
		if _, err := fmt.Sscan(string(digits), &number, &cut); err != nil {
			return at, fmt.Errorf("at byte %d: %w", at, err)
		}
		at += int64(len(text))
		if number > w.Kept {
			w.note(line)
			w.take(line, number)
			if w.pending >= mostPending {
				if err := w.pass(false); err != nil {
					return at, err
				}
			}
			continue
		}
		t, err := w.parser.Line(line, int(number))
		if err != nil || t.Ignored {
			return at, fmt.Errorf("at byte %d: a line that was kept can't be read: %w", at, err)
		}
		w.place(entry{LineSummary: t, number: number, text: line})
		w.keys[t.Key].cut = cut
	}
}

// lock sees to it that one watch at a time writes into a folder.
func lock(file string) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the folder of the watch: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another watch writes into %s: end it, or give another --out",
			filepath.Dir(file)), f.Close())
	}
	return func() { _ = f.Close() }, nil
}
