package audit

import (
	"io"

	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/audit/spill"
)

// Read reads a whole history of a format other than Native and Auto, and translates
// it. Name is for error messages; errors in the history are a *history.SyntaxError.
func Read(in io.Reader, name string, format formats.Format, o Options) (s *Source, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	l := newLog(name, o.room(), o.reading())
	defer func() {
		if err != nil {
			l.room.Close()
		}
	}()
	defer spill.Caught(&err)
	events := newGatherer(l, o)
	l.Take = events.take
	if err := l.File.Read(in, format); err != nil {
		return nil, err
	}
	l.miss(o.missing)
	if err := events.ops(); err != nil {
		return nil, err
	}
	return translate(l, o.completed(l.Released))
}
