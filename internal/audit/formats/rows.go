package formats

import (
	"bufio"
	"bytes"
	"fmt"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// rows is the form of a log.
type rows interface {
	// border finds where in a piece of the log a record ends, as a cutter wants it.
	border(data []byte) int
	// endless is the error for a block that begins with a record without a
	// border; nil: it is read without borders.
	endless(block) error
	// splitter returns what takes blocks apart, for one worker.
	splitter() splitter
	// has reports whether the log has the field at all, by what was found.
	has(words.Field, *words.LineCounts) bool
}

// splitter takes blocks apart, and gives each row to a worker.
type splitter interface {
	split(w *words.Worker, b block) error
}

// rowReader reads a log in rows.
type rowReader struct {
	file  *File
	rows  rows
	found words.LineCounts
	some  bool // some row tells of a lock
}

// opener finds the columns of a log by its first bytes.
type opener func(f *File, blocks *cutter, head []byte) (rows, error)

// inRows reads a log of a form of rows.
func inRows(open opener) func(*File, *bufio.Reader) error {
	return func(f *File, in *bufio.Reader) error {
		f.What = "audit log"
		if err := f.understand(); err != nil {
			return err
		}
		r, blocks, err := openRows(f, in, open)
		if err != nil {
			return err
		}
		if err := r.read(blocks); err != nil {
			return err
		}
		switch {
		case r.some:
		case r.found.Strange != nil:
			return r.found.Strange // no line says what is known
		case r.found.Torn != nil:
			return r.found.Torn // no line is whole
		}
		return r.tell()
	}
}

// openRows finds the columns of a log.
func openRows(f *File, in *bufio.Reader, open opener) (*rowReader, *cutter, error) {
	head, _ := in.Peek(in.Size())
	blocks := newCutter(in, f.Name, f.Options.Block)
	rows, err := open(f, blocks, bytes.Clone(head))
	if err != nil {
		return nil, nil, err
	}
	blocks.border = rows.border
	return &rowReader{file: f, rows: rows}, blocks, nil
}

// hire returns another worker for the log.
func (r *rowReader) hire() *blockWorker {
	return &blockWorker{words.NewWorker(*r.file.Lines, r.file.Name), r.rows.splitter()}
}

// keyless says that no column is the field key.
const keyless = "No column names the lock, so all lines are taken to be about one."

// tell says what was found, now that the whole log has been read.
func (r *rowReader) tell() error {
	l, g, found := r.file, r.file.Lines.Columns, &r.found
	if found.Silent.N > 0 {
		g.AssumeAsked()
	}
	l.Add(&g.Remarks)
	if _, ok := r.rows.(*jsonRows); ok { // a column may come late
		for f, name := range found.Used {
			if g.Named[f] != "" && g.Named[f] != words.NoColumn && g.Named[f] != words.FileColumn && name == "" {
				return &history.SyntaxError{File: l.Name, Line: 1,
					Err: fmt.Errorf("no line has the column %q, which --map gives the field %q", g.Named[f],
						words.Field(f).Named())}
			}
			if g.Chosen[f] == "" {
				g.Chosen[f] = name
			}
		}
	}
	what, how := "are no JSON", ""
	switch r.rows.(type) {
	case *textRows:
		what, how = "--pattern does not match", " (--skip-unmatched)"
	case *csvRows:
		what = "are no record"
	}
	if found.Skipped > 0 {
		l.Leave("Lines that %s: %d, the first is line %d; they are left out%s.", what, found.Skipped, found.First, how)
	}
	if found.Headings.N > 0 {
		l.Leave("Lines that name the columns again: %d, the first is line %d; they are left out.", found.Headings.N, found.Headings.First)
	}
	if torn := found.Torn; torn != nil {
		l.Leave("Records that are cut or torn: %d, the first is line %d (%s); they are left out.", found.Cut.N,
			found.Cut.First, torn.Err)
	}
	l.Missing, l.Gaps = found.Telling.N, found.Gaps
	l.Doubt(found.Telling, "it is left out, and seems to tell of a lock.")
	if l.Options.Named || len(l.Keys.List) > 1 {
		l.Doubt(found.Nameless, "it names no lock, and other lines do.")
	}
	if found.Other.N > 0 {
		l.Leave("Lines that say nothing about a lock: %d, the first is line %d; they are left out.", found.Other.N,
			found.Other.First)
	}
	if !r.rows.has(words.FieldKey, found) {
		l.Leave(keyless)
	}
	l.Columns = g
	return nil
}
