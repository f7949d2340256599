package formats

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/times"
	"github.com/lockchaos/lockchaos/internal/audit/words"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// A table of locks that was read now and then, such as ShedLock's (name, lock_until, locked_at,
// locked_by) or Liquibase's (ID, LOCKED, LOCKGRANTED, LOCKEDBY), and perhaps when it was read.
// It has the last holder of each lock only, so who held it between two readings stays open.

// lockTableBegins is how such a file begins.
var lockTableBegins = lazyregexp.New(`(?i)^[^\n]*(\block_?until\b[^\n]*\blocked_?at\b[^\n]*\blocked_?by\b|\block_?granted\W+locked_?by\b)`)

// tableColumns are the columns of such a table, the first as it is told, the
// others in the form that plain gives them, the best one first.
var tableColumns = [...][]string{{"name", "lock", "key", "id"}, {"lock_until", "lockuntil", "lockeduntil"},
	{"locked_at", "lockedat", "lockgranted"}, {"locked_by", "lockedby"},
	{"polledat", "readat", "time", "ts", "now"}, {"locked"}}

const (
	tableKey = iota
	tableUntil
	tableSince
	tableHolder
	tableRead
	tableLocked
)

// optional are the columns that a table may lack.
func optional(column int) bool {
	return column == tableUntil || column == tableRead || column == tableLocked
}

// unlocked are the words, in the form that plain gives them, of a column that
// says whether a lock is held.
var unlocked = []string{"", "0", "f", "false", "n", "no", "b0", "x00", "null"}

// lockTable reads such a table.
type lockTable struct {
	*holderSamples
	file  *File
	in    *csv.Reader
	index [len(tableColumns)]int
	torn  remarks.Tally // rows with too few or too many columns
}

// LockTable is a table of locks that was read now and then.
const LockTable Format = "lock-table"

func openLockTable(f *File, in io.Reader) (recordReader, error) {
	f.What, f.Loss = "table of locks", "its time is over"
	s := &lockTable{holderSamples: newHolderSamples(), file: f, in: csv.NewReader(in)}
	heading, err := s.in.Read()
	if err != nil {
		return nil, s.wrong(1, "", err)
	}
	for i, names := range tableColumns {
		s.index[i] = -1
		for _, name := range names {
			if at := slices.IndexFunc(heading,
				func(c string) bool { return words.Plain(c) == words.Plain(name) }); at >= 0 && s.index[i] < 0 {
				s.index[i] = at
			}
		}
		if s.index[i] < 0 && !optional(i) {
			return nil, s.wrong(1, strings.Join(heading, ","),
				fmt.Errorf("a table of locks needs a column %s", names[0]))
		}
	}
	return s, nil
}

func (s *lockTable) wrong(line int, near string, err error) error {
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		return &history.SyntaxError{File: s.file.Name, Line: parse.Line, Column: max(parse.Column, 1),
			Near: remarks.Excerpt(near), Err: parse.Err}
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
		if parse, ok := errors.AsType[*csv.ParseError](err); ok && errors.Is(err, csv.ErrFieldCount) {
			s.torn.Add(int32(min(parse.StartLine, math.MaxInt32)))
			continue
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
func (s *lockTable) row(w *words.Worker, record []string) (now holderSample, err error) {
	cell := func(column int) string {
		if s.index[column] < 0 {
			return ""
		}
		return strings.TrimSpace(record[s.index[column]])
	}
	parse := func(column int, to *int64) (err error) {
		if text := cell(column); text != "" || column != tableRead && s.index[column] >= 0 {
			if *to, err = w.Stamps.Parse(text); err != nil {
				return fmt.Errorf("%s: %w", tableColumns[column][0], err)
			}
		}
		return nil
	}
	now = holderSample{key: cell(tableKey), holder: cell(tableHolder), changes: -1, version: -1, until: times.Never}
	if now.key == "" {
		return now, errors.New("a row needs the name of the lock")
	}
	read := int64(0)
	if err := parse(tableRead, &read); err != nil {
		return now, err
	}
	if s.index[tableLocked] >= 0 && slices.Contains(unlocked, words.Plain(cell(tableLocked))) {
		now.holder, now.seen = "", read
		return now, nil
	}
	if now.holder == "" {
		return now, errors.New("a row needs the holder of the lock")
	}
	now.given = s.index[tableUntil] >= 0
	if err := errors.Join(parse(tableUntil, &now.until), parse(tableSince, &now.since)); err != nil {
		return now, err
	}
	if now.until < now.since {
		return now, errors.New("its time is over before it began")
	}
	now.seen = max(now.since, min(read, now.until))
	return now, nil
}

func (s *lockTable) tell() {
	s.holderSamples.tell(&s.file.Remarks, true)
	s.file.Doubt(s.torn, "it is left out, for it has not as many columns as the heading.")
}
