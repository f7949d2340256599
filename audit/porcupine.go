package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/lockchaos/lockchaos/audit/words"
	"github.com/lockchaos/lockchaos/history"
)

// Porcupine (https://github.com/anishathalye/porcupine) checks two kinds of history, and encoding/json writes them so, in a list or one a line:
//
//	{"ClientId":1,"Input":{"op":"acquire","key":"k"},"Call":10,"Output":{"ok":true,"token":7},"Return":20}     an Operation
//	{"ClientId":1,"Kind":false,"Value":{"op":"acquire"},"Id":4}                                                an Event; Kind true is its return
//
// What is in Input and Output is the user's. A word or an object is understood: op (f, type), key, token (fence); ok, error. An op without
// Return, or with the greatest number there, was never answered.

// call is one line of either kind.
type call struct {
	ClientID *json.Number    `json:"ClientId"`
	Client   json.RawMessage `json:"client"`
	Input    json.RawMessage `json:"Input"`
	Output   json.RawMessage `json:"Output"`
	Call     *json.Number    `json:"Call"`
	Return   *json.Number    `json:"Return"`
	Kind     json.RawMessage `json:"Kind"`
	Value    json.RawMessage `json:"Value"`
	ID       *json.Number    `json:"Id"`
}

type porcupineReader struct {
	log    *log
	forms  *forms
	open   map[string]int32 // the open event of each id
	order  int64
	events int
}

func readPorcupine(l *log, in *bufio.Reader) error {
	l.what, l.oneClock = "Porcupine history", true
	r := &porcupineReader{log: l, forms: newForms(in, l.file, false), open: map[string]int32{}}
	for {
		f, err := r.forms.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = r.add(f)
		}
		if err != nil {
			return err
		}
	}
	if r.events > 0 {
		l.timed = false
		l.Leave("Events have no times, so they are a microsecond apart, in the order of the file.")
	}
	return nil
}

// decodeJSON decodes a form, with the place of an error.
func decodeJSON(fs *forms, f form, into any) error {
	d := json.NewDecoder(bytes.NewReader(f.text))
	d.UseNumber()
	err := d.Decode(into)
	if err == nil {
		return nil
	}
	at := int64(1)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = syntax.Offset
	} else if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at = kind.Offset
	}
	return fs.wrongAt(f, int(at)-1, err)
}

func (r *porcupineReader) add(f form) error {
	var c call
	if err := decodeJSON(r.forms, f, &c); err != nil {
		return err
	}
	client := unquoted(c.Client)
	if c.ClientID != nil {
		client = c.ClientID.String()
	}
	if client == "" {
		return r.forms.wrong(f, "", errors.New("an op needs its ClientId"))
	}
	owner := r.log.owners.ID("client " + client)
	if len(c.Kind) > 0 {
		return r.event(f, &c, owner)
	}
	if r.events > 0 {
		return r.forms.wrong(f, "", errors.New("an operation among events"))
	}
	return r.operation(f, &c, owner)
}

// operation reads a call with its return.
func (r *porcupineReader) operation(f form, c *call, owner int32) error {
	o := op{owner: owner, ret: never, line: int32(f.line), endLine: int32(f.line)}
	if c.Call == nil {
		return r.forms.wrong(f, "", errors.New("an operation needs its Call"))
	}
	var err error
	if o.inv, err = instant(c.Call); err != nil {
		return r.forms.wrong(f, `"Call"`, fmt.Errorf("a Call that is no time (ns): %w", err))
	}
	if c.Return != nil {
		if o.ret, err = instant(c.Return); err != nil {
			return r.forms.wrong(f, `"Return"`, fmt.Errorf("a Return that is no time (ns): %w", err))
		}
	}
	if o.ret < o.inv {
		return r.forms.wrong(f, `"Return"`, fmt.Errorf("it returns at %d, before its call at %d", o.ret, o.inv))
	}
	if err := r.asked(f, c.Input, `"Input"`, &o); err != nil {
		return err
	}
	if o.ret != never {
		if err := r.answered(f, c.Output, `"Output"`, &o); err != nil {
			return err
		}
	}
	_, err = r.log.add(o)
	return err
}

// event reads a call or a return.
func (r *porcupineReader) event(f form, c *call, owner int32) error {
	if r.events == 0 && r.log.ops.Length > 0 {
		return r.forms.wrong(f, "", errors.New("an event among operations"))
	}
	r.events++
	if c.ID == nil {
		return r.forms.wrong(f, "", errors.New("an event needs its Id"))
	}
	id := c.ID.String()
	r.order += 1000
	returns, err := kindOf(c.Kind)
	if err != nil {
		return r.forms.wrong(f, `"Kind"`, err)
	}
	i, open := r.open[id]
	if !returns {
		if open {
			return r.forms.wrong(f, `"Id"`, fmt.Errorf("event %s is called again while that of line %d is open", id, r.log.ops.At(i).line))
		}
		o := op{owner: owner, inv: r.order, ret: never, line: int32(f.line), endLine: int32(f.line)}
		if err := r.asked(f, c.Value, `"Value"`, &o); err != nil {
			return err
		}
		r.open[id], err = r.log.add(o)
		return err
	}
	if !open {
		return r.forms.wrong(f, `"Id"`, fmt.Errorf("event %s returns without a call", id))
	}
	delete(r.open, id)
	o := r.log.ops.At(i)
	o.ret, o.endLine = r.order, int32(f.line)
	return r.answered(f, c.Value, `"Value"`, o)
}

// kindOf tells a return from a call.
func kindOf(raw json.RawMessage) (returns bool, err error) {
	switch words.Plain(string(raw)) {
	case "false", "call", "0", "invoke":
		return false, nil
	case "true", "return", "1", "ok":
		return true, nil
	}
	return false, errors.New("an event's Kind is false (a call) or true (a return)")
}

// asked reads an input.
func (r *porcupineReader) asked(f form, raw json.RawMessage, where string, o *op) error {
	p, err := payloadOf(raw)
	if err != nil {
		return r.forms.wrong(f, where, err)
	}
	if o.kind, err = words.OpOf(p.word); err != nil {
		return r.forms.wrong(f, where, err)
	}
	if o.kind == history.KindNone {
		return r.forms.wrong(f, where, fmt.Errorf("unknown op %q: want acquire, release, renew, read or write, as a word or as {\"op\": …}", p.word))
	}
	if !p.hasKey {
		p.key = words.DefaultKey
	}
	o.key, o.token = r.log.keys.ID(p.key), p.token
	return nil
}

// answered reads an output. Nothing at all is ok: many models have no output.
func (r *porcupineReader) answered(f form, raw json.RawMessage, where string, o *op) error {
	p, err := payloadOf(raw)
	if err != nil {
		return r.forms.wrong(f, where, err)
	}
	how := p.ending()
	if how == words.EndedSomehow {
		return r.forms.wrong(f, where, fmt.Errorf("an answer %q that nobody knows: want true or false, ok, busy, unknown, or {\"ok\": …}", p.word))
	}
	if o.ended(how, words.DeniesHold(p.err) || words.DeniesHold(p.word)); o.outcome == history.OK && o.kind == history.Acquire && p.token > 0 {
		o.token = p.token
	}
	return nil
}
