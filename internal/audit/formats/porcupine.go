package formats

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/times"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// Porcupine (https://github.com/anishathalye/porcupine) checks two kinds of
// history, and encoding/json writes them so, in a list or one a line:
//
//	{"ClientId":1,"Input":{"op":"acquire","key":"k"},"Call":10,"Output":{"ok":true,"token":7},"Return":20}     an Operation
//	{"ClientId":1,"Kind":false,"Value":{"op":"acquire"},"Id":4}                                                an Event; Kind true is its return
//
// What is in Input and Output is the user's. A word or an object is understood:
// op (f, type), key, token (fence); ok, error. An op without Return, or with
// the greatest number there, was never answered.

// Porcupine is a history as users of Porcupine keep them.
const Porcupine Format = "porcupine"

// porcupineLine is one line of either kind.
type porcupineLine struct {
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
	file   *File
	in     *values
	open   map[string]int32 // the open event of each id
	order  int64
	events int
}

func readPorcupine(to *File, in *bufio.Reader) error {
	to.What, to.OneClock, to.Released = "Porcupine history", true, true
	r := &porcupineReader{file: to, in: newValues(in, to.Name, false), open: map[string]int32{}}
	for {
		f, err := r.in.next()
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
		to.Untimed = true
		to.Leave("Events have no times, so they are a microsecond apart, in the order of the file.")
	}
	return nil
}

func (r *porcupineReader) add(f value) error {
	var c porcupineLine
	if err := decodeJSON(r.in, f, &c); err != nil {
		return err
	}
	client := unquoted(c.Client)
	if c.ClientID != nil {
		client = c.ClientID.String()
	}
	if client == "" {
		return r.in.wrong(f, "", errors.New("an op needs its ClientId"))
	}
	owner := r.file.Owners.ID("client " + client)
	if len(c.Kind) > 0 {
		return r.event(f, &c, owner)
	}
	if r.events > 0 {
		return r.in.wrong(f, "", errors.New("an operation among events"))
	}
	return r.operation(f, &c, owner)
}

// operation reads a call with its return.
func (r *porcupineReader) operation(f value, c *porcupineLine, owner int32) error {
	o := Call{Owner: owner, Ret: times.Never, Line: int32(f.line), EndLine: int32(f.line)}
	if c.Call == nil {
		return r.in.wrong(f, "", errors.New("an operation needs its Call"))
	}
	var err error
	if o.Inv, err = instant(c.Call); err != nil {
		return r.in.wrong(f, `"Call"`, fmt.Errorf("a Call that is no time (ns): %w", err))
	}
	if c.Return != nil {
		if o.Ret, err = instant(c.Return); err != nil {
			return r.in.wrong(f, `"Return"`, fmt.Errorf("a Return that is no time (ns): %w", err))
		}
	}
	if o.Ret < o.Inv {
		return r.in.wrong(f, `"Return"`, fmt.Errorf("it returns at %d, before its call at %d", o.Ret, o.Inv))
	}
	if err := r.readInput(f, c.Input, `"Input"`, &o); err != nil {
		return err
	}
	if o.Ret != times.Never {
		if err := r.answered(f, c.Output, `"Output"`, &o); err != nil {
			return err
		}
	}
	_, err = r.file.Calls.Add(o)
	return err
}

// event reads a call or a return.
func (r *porcupineReader) event(f value, c *porcupineLine, owner int32) error {
	if r.events == 0 && r.file.Calls.Count() > 0 {
		return r.in.wrong(f, "", errors.New("an event among operations"))
	}
	r.events++
	if c.ID == nil {
		return r.in.wrong(f, "", errors.New("an event needs its Id"))
	}
	id := c.ID.String()
	r.order += 1000
	returns, err := kindOf(c.Kind)
	if err != nil {
		return r.in.wrong(f, `"Kind"`, err)
	}
	i, open := r.open[id]
	if !returns {
		if open {
			return r.in.wrong(f, `"Id"`, fmt.Errorf("event %s is called again while that of line %d is open", id,
				r.file.Calls.At(i).Line))
		}
		o := Call{Owner: owner, Inv: r.order, Ret: times.Never, Line: int32(f.line), EndLine: int32(f.line)}
		if err := r.readInput(f, c.Value, `"Value"`, &o); err != nil {
			return err
		}
		r.open[id], err = r.file.Calls.Add(o)
		return err
	}
	if !open {
		return r.in.wrong(f, `"Id"`, fmt.Errorf("event %s returns without a call", id))
	}
	delete(r.open, id)
	o := r.file.Calls.At(i)
	o.Ret, o.EndLine = r.order, int32(f.line)
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

// readInput reads an input.
func (r *porcupineReader) readInput(f value, raw json.RawMessage, where string, o *Call) error {
	p, err := payloadOf(raw)
	if err != nil {
		return r.in.wrong(f, where, err)
	}
	if o.Kind, err = words.OpOf(p.word); err != nil {
		return r.in.wrong(f, where, err)
	}
	if o.Kind == history.KindNone {
		return r.in.wrong(f, where, fmt.Errorf("unknown op %q: want acquire, release, renew, read or write, as a word or as {\"op\": …}", p.word))
	}
	if !p.hasKey {
		p.key = words.DefaultKey
	}
	o.Key, o.Token = r.file.Keys.ID(p.key), p.token
	return nil
}

// answered reads an output. Nothing at all is ok: many models have no output.
func (r *porcupineReader) answered(f value, raw json.RawMessage, where string, o *Call) error {
	p, err := payloadOf(raw)
	if err != nil {
		return r.in.wrong(f, where, err)
	}
	how := p.ending()
	if how == words.EndedSomehow {
		return r.in.wrong(f, where, fmt.Errorf("an answer %q that nobody knows: want true or false, ok, busy, unknown, or {\"ok\": …}", p.word))
	}
	if o.ended(how, words.DeniesHold(p.err) || words.DeniesHold(p.word)); o.Outcome == history.OK &&
		o.Kind == history.Acquire && p.token > 0 {
		o.Token = p.token
	}
	return nil
}
