package formats

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// documents are whole values of JSON, one after the other, also those that were
// written in another form.
type documents struct {
	file *File
	read func() error // the next one; io.EOF: there is none
	line int          // of the last one
	raw  []byte
}

// newDocuments reads JSON. A last value that is cut is left open.
func newDocuments(f *File, in io.Reader) *documents {
	walk := newWalkJSON(in, f.Name)
	d := &documents{file: f}
	walk.take[""] = func(raw []byte, line int) error {
		d.raw, d.line = raw, line
		return nil
	}
	d.read = func() error {
		err := walk.document()
		if errors.Is(err, io.ErrUnexpectedEOF) {
			line, _ := walk.in.place(walk.in.read)
			f.cutShort(line)
			return io.EOF
		}
		return err
	}
	return d
}

// next decodes the next one; io.EOF: there is none.
func (d *documents) next(into any) error {
	if err := d.read(); err != nil {
		return err
	}
	if err := json.Unmarshal(d.raw, into); err != nil {
		return wrongRecord(d.file.Name, d.line, d.raw, err)
	}
	return nil
}

// sampleDocuments reads samples from documents of JSON. One is a document, or several of them.
type sampleDocuments struct {
	*documents
	*holderSamples
	one func(w *words.Worker) error
}

func (s *sampleDocuments) some(w *words.Worker) error {
	for !w.Full() {
		err := s.one(w)
		if errors.Is(err, io.EOF) {
			if len(s.last) == 0 {
				return s.file.unlike("sample of who holds a lock")
			}
			s.finish(w, s.file.Options.Polled)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *sampleDocuments) tell() { s.holderSamples.tell(&s.file.Remarks, s.file.Options.Polled) }
