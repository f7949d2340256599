package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// Line is one line of an application's audit log, understood: an op with its
// beginning and its end, or news.
type Line struct {
	// Began and Ended are ns since 1970; equal for news (request, busy, lost),
	// and for a grant that a request came before.
	Began, Ended int64
	Client, Key  string
	// Means is one of Meanings, but for "acquire" and "ignore": whatever says
	// granted is "grant", whatever asks "request".
	Means  string
	Token  int64  // 0: none
	Result string // how it ended: "ok", "failed", "refused", "unknown"
}

// Lines reads the audit log of one application while it grows, a line at a
// time: JSON objects, among whatever else the application prints.
//
// It is stricter than a reader of last week's log. A fault may stop the application
// between an op and the line that tells of it, and such a line, taken for the instant
// of its op, would accuse the application of what it did not do. So every op must say
// when it began and when it ended, and a judge takes each for what lies between.
type Lines struct {
	words.Reader
	file   string
	client string
	row    formats.Members
	number int
	asked  map[[2]string]bool // client, key → it has asked and not been answered
	met    map[string]bool    // clients of which a line has been read
	// Other counts the lines that are none of the audit log; Unasked the grants
	// whose requests came before the first line.
	Other, Unasked int
}

// NewLines returns a reader of a log that begins with the next line. Client is who speaks: lines
// that name a client are of "client/name", unless it is that name. File is for error messages.
func NewLines(file, client string, o Options) (*Lines, error) {
	lines, err := words.NewReader(o.reading().Options)
	if err != nil {
		return nil, err
	}
	named := lines.Columns.Named
	for _, second := range [...]words.Field{words.FieldPart, words.FieldScope} {
		named[second] = cmp.Or(named[second], words.NoColumn)
	}
	return &Lines{Reader: lines, file: file, client: client, row: formats.Members{Named: named},
		asked: map[[2]string]bool{}, met: map[string]bool{}}, nil
}

// Read understands the next line; ok is false where it is none of the audit log:
// no JSON object, or one without an event. Errors are a *history.SyntaxError.
func (r *Lines) Read(text []byte) (l Line, ok bool, err error) {
	r.number++
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '{' {
		r.Other++
		return l, false, nil
	}
	wrong := func(err error) (Line, bool, error) {
		return l, false, &history.SyntaxError{File: r.file, Line: r.number, Column: 1,
			Near: remarks.Excerpt(string(text)), Err: err}
	}
	got, err := r.fields(text)
	if err != nil {
		return wrong(err)
	}
	if got[words.FieldEvent] == "" {
		r.Other++
		return l, false, nil
	}
	e, f, err := r.Understand(&got)
	var strange *words.UnknownWord
	switch {
	case e.Means == words.Ignore, e.Ending == words.EndedNotYet: // another line says how it ended
		return l, false, nil
	case errors.As(err, &strange):
		return wrong(fmt.Errorf("nobody knows what the event %q means: say so under events, such as acquire: [%[1]s], or ignore: [%[1]s]", got[words.FieldEvent]))
	case got[words.FieldTime] == "" && !errors.Is(err, words.ErrShared):
		return wrong(errors.New("no time: say which member it is with map: {time: NAME}"))
	case err != nil:
		return wrong(fmt.Errorf("%s %q: %w", words.Fields[f], got[f], err))
	}
	l = Line{Began: e.At, Ended: e.End, Token: e.Token.Number(), Result: e.Ending.String(), Client: r.client,
		Key: cmp.Or(got[words.FieldKey], words.DefaultKey)}
	l.Means = e.Means.String()
	if got[words.FieldScope] != "" {
		l.Key += "/" + got[words.FieldScope]
	}
	if got[words.FieldPart] != "" {
		got[words.FieldClient] += "/" + got[words.FieldPart]
	}
	if c := got[words.FieldClient]; c != "" && c != r.client {
		l.Client += "/" + c
	}
	ok, err = r.spans(&l, got[words.FieldEnd] != "")
	if err != nil {
		return wrong(err)
	}
	return l, ok, nil
}

// fields are the texts of a line's members.
func (r *Lines) fields(text []byte) (got [words.FieldCount]string, err error) {
	var members map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&members); err != nil {
		return got, fmt.Errorf("no JSON object: %w", err)
	}
	_, got, err = r.row.Texts(members)
	return got, err
}

// spans sees to it that the line says when its op began and when it ended; ok is false
// for a grant of which that can't be known, since it was asked for before the first line.
func (r *Lines) spans(l *Line, ended bool) (ok bool, err error) {
	place := [2]string{l.Client, l.Key}
	first := !r.met[l.Client]
	r.met[l.Client] = true
	switch {
	case l.Means == "acquire" && ended:
		l.Means = "grant"
	case l.Means == "acquire":
		l.Means = "request"
	}
	switch l.Means {
	case "request":
		r.asked[place] = true
	case "lost":
	case "busy":
		delete(r.asked, place)
	case "grant":
		asked := r.asked[place]
		delete(r.asked, place)
		if asked || ended {
			return true, nil
		}
		if first {
			r.Unasked++
			return false, nil
		}
		fallthrough
	default:
		if !ended {
			return false, fmt.Errorf("this %s says when it was logged, and not when it began and when it ended: a fault may lie between. Log time and end, taken before and after the call%s",
				l.Means, map[bool]string{true: ", or a request before it"}[l.Means == "grant"])
		}
	}
	return true, nil
}

// asks reports whether the line says that its client asked for the key, whatever became of it.
func (l *Line) asks() bool { return l.Means == "request" || l.Means == "grant" || l.Means == "busy" }

// Granted reports whether the line says that its client was granted the key; Over
// that it does not hold it any more, as far as it knows.
func (l *Line) Granted() bool { return l.Means == "grant" && l.Result == "ok" }

// Over: see Granted.
func (l *Line) Over() bool { return l.Means == "release" || l.Means == "not-held" || l.Means == "lost" }

// Append writes the line as one of an audit log in JSON, whose words and columns need no mapping.
func (l *Line) Append(to []byte) ([]byte, error) {
	stamp := func(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
	text, err := json.Marshal(struct {
		Time   string `json:"time"`
		End    string `json:"end"`
		Client string `json:"client"`
		Event  string `json:"event"`
		Key    string `json:"key"`
		Token  int64  `json:"token,omitempty"`
		Result string `json:"result"`
	}{stamp(l.Began), stamp(l.Ended), l.Client, l.Means, l.Key, l.Token, l.Result})
	if err != nil {
		return to, fmt.Errorf("write a line of the audit log: %w", err)
	}
	return append(append(to, text...), '\n'), nil
}
