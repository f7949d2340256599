package audit

import (
	"errors"
	"io"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/spill"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// Source is a foreign history, translated. It is read like a history.Reader, and to be closed.
type Source struct {
	Header history.Header
	Keys   []string
	// Assumed says in full sentences what was taken for granted, Left what was left out.
	Assumed, Left []string
	// Open has lines that leave it open who held a lock, so that the answer is
	// no pass: of each kind the first.
	Open []remarks.Open
	// Doubt says why a violation may have been missed, for all that the history
	// tells, those lines included; empty: there is none.
	Doubt string

	log *log
	out *emitter
	// number is Options.number.
	number func(line int) int
}

// Read fills in the next event; io.EOF at the end.
func (s *Source) Read(e *history.Event) (err error) {
	defer spill.Caught(&err)
	return s.out.next(e)
}

// Each reads the rest of the history and calls do with its events, in order, many
// at a time. They are good until do returns. The next ones are read meanwhile, so
// do must not call the source. The first error, of do or of the history, ends it.
func (s *Source) Each(do func([]history.Event) error) error {
	var end error
	some := func(events []history.Event) []history.Event {
		for events = events[:0]; len(events) < 512 && end == nil; {
			events = append(events, history.Event{})
			if end = s.Read(&events[len(events)-1]); end != nil {
				events = events[:len(events)-1]
			}
		}
		return events
	}
	next := []history.Event{}
	for events := some(nil); len(events) > 0; events, next = next, events {
		read := spill.Aside(func() { next = some(next) })
		err := func() error {
			defer spill.Join(read)
			return do(events)
		}()
		if err != nil {
			return err
		}
	}
	if errors.Is(end, io.EOF) {
		return nil
	}
	return end
}

// Close removes what of the history lies in temporary files. After it nothing more can be asked.
func (s *Source) Close() { s.log.room.Close() }

// op is an op that stands in the file; nil for one that was added for what is
// known all the same, and where a temporary file can't be read.
func (s *Source) op(id int64) (o *op) {
	var unread error
	defer spill.Caught(&unread)
	if id < 1 || id > int64(min(s.log.read, s.log.ops.Length)) {
		return nil
	}
	one := s.log.ops.Copy(int32(id - 1))
	return &one
}

// Lasting reports whether some line tells how long an op of a kind took.
func (s *Source) Lasting(kind history.Kind) bool { return s.log.lasting[kind] }

// Lines returns the lines of the file on which an op of the translated history
// stands: its first and its last; 0 where it does not.
func (s *Source) Lines(id int64) (first, last int) {
	o := s.op(id)
	if o == nil {
		return 0, 0
	}
	return s.number(int(o.Line)), s.number(int(o.EndLine))
}

// Columns says how the columns of a log were read: what was guessed and the
// whole mapping, each as field=column, and the columns that were not read.
func (s *Source) Columns() (guessed, mapping, unread []string) {
	g := s.log.Columns
	if g == nil {
		return nil, nil, nil
	}
	for f, name := range words.Fields {
		if column := g.Column(words.Field(f)); column != "" && column != words.NoColumn && g.Named[f] == "" {
			guessed = append(guessed, name+"="+column)
		}
	}
	return guessed, g.Mapping(), g.Unread
}

// Client returns the name that a client has in the file. Clients are numbered on each key from 1.
func (s *Source) Client(key string, client int32) string {
	k, ok := s.log.Keys.Find(key)
	if !ok || client < 1 || int(client) > len(s.log.clients[k]) {
		return ""
	}
	return s.log.clients[k][client-1]
}
