package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/lockchaos/lockchaos/audit/remarks"
	"github.com/lockchaos/lockchaos/audit/words"
)

// Some files tell of locks and are no logs in lines: traces, and samples of who holds a lock. Each form of them has a file of its own, and a line here.
var recordForms = []recordForm{
	{Spans, spansBegin.Match, openSpans},
	{Leases, leasesBegin, openLeases},
	{Etcd, etcdBegins.Match, openEtcd},
	{LockTable, lockTableBegins.Match, openLockTable},
}

// recordForm is a form of files.
type recordForm struct {
	format Format
	begins func(text []byte) bool // whether the first bytes of a file are those of one
	open   func(*recordFile) (recordReader, error)
}

// recordReader understands the records of a file.
type recordReader interface {
	// some understands as many records as a block may have; io.EOF ends the file.
	some(*words.Worker) error
	// tell says what was taken for granted, and what was left out.
	tell(*log)
}

// recordFile is a file of one of the forms, and what it is read with.
type recordFile struct {
	in      io.Reader
	log     *log
	options Options
	lines   words.Reader
	untimed bool // its records are in order, and have no times
}

// formOf is the form of a format; nil: the format is none of them.
func formOf(format Format) *recordForm {
	for i := range recordForms {
		if recordForms[i].format == format {
			return &recordForms[i]
		}
	}
	return nil
}

// detectRecords tells a form by its first bytes; "" where it is none of them.
func detectRecords(text []byte) Format {
	for i := range recordForms {
		if recordForms[i].begins(text) {
			return recordForms[i].format
		}
	}
	return ""
}

// readRecords reads a file of one of the forms.
func readRecords(l *log, in *bufio.Reader, form *recordForm, o Options) error {
	r, lines, err := startAudit(l, o)
	if err != nil {
		return err
	}
	file := &recordFile{in: in, log: l, options: o, lines: lines}
	reader, err := form.open(file)
	if err != nil {
		return err
	}
	w := words.NewWorker(file.lines, l.file)
	for known := (&words.Numbering{}); ; {
		p := w.Gather(func() error { return reader.some(w) })
		if err := r.take(known, &p); err != nil {
			return err
		}
		if errors.Is(p.Err, io.EOF) {
			break
		}
		if p.Err != nil {
			return p.Err
		}
	}
	reader.tell(l)
	if err := r.ops(); err != nil {
		return err
	}
	if file.untimed {
		l.timed, l.hasZero = false, false
	}
	return nil
}

// cutShort notes that a file ends within a record: what it had to say is not known.
func (l *log) cutShort(line int) {
	l.Doubt(remarks.Tally{N: 1, First: int32(line)}, "the file ends within this record.")
}

var errNoRecord = errors.New("no record of the form that was expected")

// unlike says that a file has no record of its form.
func (f *recordFile) unlike(form string) error {
	return fmt.Errorf("%s: %w: it is no %s", f.log.file, errNoRecord, form)
}
