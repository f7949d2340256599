package audit

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/audit/spill"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// Explained is how a line of a log was understood.
type Explained struct {
	Line int
	Text string
}

// Explain says line by line how the beginning of a log is understood, up to so
// many lines that are not empty. The head is whole lines, one record each.
func Explain(name string, head []byte, format formats.Format, o Options, most int) (all []Explained, err error) {
	defer spill.Caught(&err)
	p, err := NewParser(name, head, format, o)
	if err != nil {
		return nil, err
	}
	number := 0
	for text := range bytes.Lines(head) {
		number++
		if len(all) == most {
			break
		}
		text = bytes.TrimSpace(text)
		switch {
		case len(text) == 0:
		case string(text) == strings.TrimSpace(p.lines.Heading):
			all = append(all, Explained{number, "the names of the columns: " +
				strings.Join(p.events.log.Lines.Columns.Mapping(), ", ")})
		default:
			all = append(all, Explained{number, p.explain(text, number)})
		}
	}
	return all, nil
}

// explain says how a line is understood.
func (p *Parser) explain(text []byte, number int) string {
	got := p.lines.Line(text, number)
	if wrong, ok := errors.AsType[*history.SyntaxError](got.Err); ok {
		return "not understood: " + wrong.Err.Error()
	}
	switch {
	case got.Found.Torn != nil:
		return "not understood: " + got.Found.Torn.Err.Error()
	case got.Err != nil:
		return "not understood: " + got.Err.Error()
	case got.Found.Telling.N > 0:
		return "left out, and it seems to tell of a lock"
	case got.Found.Skipped > 0:
		return "left out: no record of the log"
	case len(got.Events) == 0:
		return "left out: it says nothing about a lock"
	}
	e := &got.Events[0]
	p.events.clock.Follow(&e.Stamp, e.Line, &got.Seen)
	zone := p.lines.Worker().Stamps.Zone
	if zone == nil {
		zone = time.UTC
	}
	key, client := p.lines.Worker().Named(e)
	told := fmt.Sprintf("at %s, client %q: %s %q", time.Unix(0, e.At).In(zone).Format(time.RFC3339Nano), client,
		e.Means, key)
	if e.End > e.At {
		told += fmt.Sprintf(", until %s", time.Unix(0, e.End).In(zone).Format(time.RFC3339Nano))
	}
	if e.Token != 0 {
		told += fmt.Sprintf(", token %d", e.Token)
	}
	if e.Ending != words.EndedOK {
		told += ", " + e.Ending.String()
	}
	return told
}
