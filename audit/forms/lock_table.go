package forms

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/audit/remarks"
	"github.com/lockchaos/lockchaos/audit/words"
	"github.com/lockchaos/lockchaos/history"
)

// A table of locks that was read now and then, such as ShedLock's: name, lock_until, locked_at, locked_by, and perhaps when it was read. It has the last holder of
// each lock only, so who held it between two readings stays open.

// lockTableBegins is how such a file begins.
var lockTableBegins = regexp.MustCompile(`(?i)^[^\n]*\block_?until\b[^\n]*\blocked_?at\b[^\n]*\blocked_?by\b`)

// tableColumns are the columns of such a table, the first as it is told, the others in the form that plain gives them.
var tableColumns = [...][]string{{"name", "lock", "key"}, {"lock_until", "lockuntil", "lockeduntil"}, {"locked_at", "lockedat"}, {"locked_by", "lockedby"}, {"polledat", "readat", "time", "ts", "now"}}

const (
	tableKey = iota
	tableUntil
	tableSince
	tableHolder
	tableRead
)

// lockTable reads such a table.
type lockTable struct {
	*sightings
	file  *File
	in    *csv.Reader
	index [len(tableColumns)]int
}

// LockTable is a table of locks that was read now and then.
const LockTable Format = "lock-table"

func openLockTable(f *File, in io.Reader) (recordReader, error) {
	f.What, f.Loss = "table of locks", "its time is over"
	s := &lockTable{sightings: newSightings(), file: f, in: csv.NewReader(in)}
	heading, err := s.in.Read()
	if err != nil {
		return nil, s.wrong(1, "", err)
	}
	for i, names := range tableColumns {
		s.index[i] = slices.IndexFunc(heading, func(c string) bool { return slices.Contains(names, words.Plain(c)) })
		if s.index[i] < 0 && i != tableRead {
			return nil, s.wrong(1, strings.Join(heading, ","), fmt.Errorf("a table of locks needs a column %s", names[0]))
		}
	}
	return s, nil
}

func (s *lockTable) wrong(line int, near string, err error) error {
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		return &history.SyntaxError{File: s.file.Name, Line: parse.Line, Column: max(parse.Column, 1), Near: remarks.Excerpt(near), Err: parse.Err}
	}
	return &history.SyntaxError{File: s.file.Name, Line: line, Near: remarks.Excerpt(near), Err: err}
}

func (s *lockTable) some(w *words.Worker) error {
	for !w.Full() {
		record, err := s.in.Read()
		if errors.Is(err, io.EOF) {
			s.finish(w, true)
			return err
		}
		if err != nil {
			return s.wrong(1, "", err)
		}
		line, _ := s.in.FieldPos(0)
		now, err := s.row(w, record)
		if err == nil {
			now.line = line
			err = s.add(w, now)
		}
		if err != nil {
			return s.wrong(line, strings.Join(record, ","), err)
		}
	}
	return nil
}

// row is what a row of the table says.
func (s *lockTable) row(w *words.Worker, record []string) (now sighting, err error) {
	cell := func(column int) string {
		if s.index[column] < 0 {
			return ""
		}
		return strings.TrimSpace(record[s.index[column]])
	}
	now = sighting{key: cell(tableKey), holder: cell(tableHolder), changes: -1, version: -1, given: true}
	if now.holder == "" || now.key == "" {
		return now, errors.New("a row needs the name of the lock and its holder")
	}
	for column, to := range map[int]*int64{tableUntil: &now.until, tableSince: &now.since} {
		if *to, err = w.Stamps.Parse(cell(column)); err != nil {
			return now, fmt.Errorf("%s: %w", tableColumns[column][0], err)
		}
	}
	now.seen = now.since
	if text := cell(tableRead); text != "" {
		read, err := w.Stamps.Parse(text)
		if err != nil {
			return now, fmt.Errorf("%s: %w", tableColumns[tableRead][0], err)
		}
		now.seen = max(now.since, min(read, now.until))
	}
	if now.until < now.since {
		return now, errors.New("its time is over before it began")
	}
	return now, nil
}

func (s *lockTable) tell() { s.sightings.tell(&s.file.Remarks, true) }
