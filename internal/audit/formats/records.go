package formats

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// Some files tell of locks and are no logs in lines: traces, and samples of who holds a lock.

// recordReader understands the records of a file.
type recordReader interface {
	// some understands as many records as a block may have; io.EOF ends the file.
	some(*words.Worker) error
	// tell says what was taken for granted, and what was left out.
	tell()
}

// inRecords reads a file by what understands its records.
func inRecords(open func(*File, io.Reader) (recordReader, error)) func(*File, *bufio.Reader) error {
	return func(f *File, in *bufio.Reader) error {
		if err := f.understand(); err != nil {
			return err
		}
		reader, err := open(f, in)
		if err != nil {
			return err
		}
		w := words.NewWorker(*f.Lines, f.Name)
		for known := (&words.Numbering{}); ; {
			said := w.Gather(func() error { return reader.some(w) })
			known.Take(&said, &f.Keys, &f.Owners)
			if err := f.Take(&said); err != nil {
				return err
			}
			if errors.Is(said.Err, io.EOF) {
				break
			}
			if said.Err != nil {
				return said.Err
			}
		}
		reader.tell()
		return nil
	}
}

var errNoRecord = errors.New("no record of the form that was expected")

// unlike says that a file has no record of its form.
func (f *File) unlike(form string) error {
	return fmt.Errorf("%s: %w: it is no %s", f.Name, errNoRecord, form)
}
