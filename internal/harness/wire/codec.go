package wire

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/mailru/easyjson/jlexer"
)

// Commands and replies are written and read field by field: driving an op costs
// two of each, and encoding/json alone would take a third of the time that the
// harness spends on it. A test holds this file to the struct tags.

// fields appends members of a JSON object, those that are zero left out.
type fields struct {
	buf   []byte
	comma bool
}

func (f *fields) name(name string) {
	c := byte('{')
	if f.comma {
		c = ','
	}
	f.comma = true
	f.buf = append(append(append(f.buf, c, '"'), name...), '"', ':')
}

func (f *fields) number(name string, v int64) {
	if v != 0 {
		f.name(name)
		f.buf = strconv.AppendInt(f.buf, v, 10)
	}
}

func (f *fields) flag(name string, v bool) {
	if v {
		f.name(name)
		f.buf = append(f.buf, "true"...)
	}
}

func (f *fields) text(name, v string) {
	if v == "" {
		return
	}
	f.name(name)
	quoted, _ := json.Marshal(v) // a string always marshals
	f.buf = append(f.buf, quoted...)
}

func (f *fields) texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	f.name(name)
	quoted, _ := json.Marshal(list) // strings always marshal
	f.buf = append(f.buf, quoted...)
}

// word appends a string that is known to need no escape.
func (f *fields) word(name, v string) {
	if v != "" {
		f.name(name)
		f.buf = append(append(append(f.buf, '"'), v...), '"')
	}
}

func (f *fields) line() []byte {
	if !f.comma {
		f.buf = append(f.buf, '{')
	}
	return append(f.buf, '}', '\n')
}

// AppendLine appends the command as a line.
func (c *Command) AppendLine(buf []byte) ([]byte, error) {
	f := fields{buf: buf}
	f.number("id", c.ID)
	f.word("op", c.Op)
	f.text("key", c.Key)
	f.texts("keys", c.Keys)
	f.flag("read", c.Read)
	f.number("permits", int64(c.Permits))
	f.number("grant", c.Grant)
	f.number("timeout", c.Timeout)
	f.number("value", c.Value)
	if c.Open != nil {
		opening, err := json.Marshal(c.Open)
		if err != nil {
			return nil, fmt.Errorf("encode the opening: %w", err)
		}
		f.name("open")
		f.buf = append(f.buf, opening...)
	}
	return f.line(), nil
}

// AppendLine appends the reply as a line.
func (r *Reply) AppendLine(buf []byte) []byte {
	f := fields{buf: buf}
	f.number("id", r.ID)
	f.word("result", r.Result)
	f.text("error", r.Error)
	f.number("start", r.Start)
	f.number("end", r.End)
	f.number("token", r.Token)
	f.number("attempt", r.Attempt)
	f.number("first", r.First)
	f.number("enqueued", r.Enqueued)
	if r.ValidFor != nil {
		f.name("valid_for")
		f.buf = strconv.AppendInt(f.buf, *r.ValidFor, 10)
	}
	f.number("version", r.Version)
	f.number("replaced", r.Replaced)
	f.number("value", r.Value)
	f.number("seq", r.Seq)
	f.flag("declined", r.Declined)
	f.flag("refused", r.Refused)
	f.flag("not_held", r.NotHeld)
	f.flag("busy", r.Busy)
	f.flag("conflict", r.Conflict)
	f.flag("atomic", r.Atomic)
	f.flag("can_ask", r.CanAsk)
	f.flag("can_renew", r.CanRenew)
	if r.Declares != nil {
		said, _ := json.Marshal(r.Declares) // numbers, words and flags always marshal
		f.name("declares")
		f.buf = append(f.buf, said...)
	}
	f.flag("broken", r.Broken)
	f.word("event", r.Event)
	f.text("key", r.Key)
	f.number("grant", r.Grant)
	f.number("from", r.From)
	f.number("to", r.To)
	f.number("session", r.Session)
	f.word("password", r.Password)
	return f.line()
}

// members calls read for every member of the object in line; read takes the
// value. It returns the first error.
func members(line []byte, read func(l *jlexer.Lexer, name string)) error {
	l := jlexer.Lexer{Data: line}
	l.Delim('{')
	for !l.IsDelim('}') {
		name := l.UnsafeFieldName(false)
		l.WantColon()
		read(&l, name)
		l.WantComma()
	}
	l.Delim('}')
	l.Consumed()
	return l.Error()
}

func unknown(l *jlexer.Lexer, name string) {
	l.AddError(fmt.Errorf("unknown member %q", name))
}

func (c *Command) Parse(line []byte) error {
	return members(line, func(l *jlexer.Lexer, name string) {
		switch name {
		case "id":
			c.ID = l.Int64()
		case "op":
			c.Op = l.StringIntern()
		case "key":
			c.Key = l.StringIntern()
		case "keys":
			l.AddError(json.Unmarshal(l.Raw(), &c.Keys))
		case "read":
			c.Read = l.Bool()
		case "permits":
			c.Permits = l.Int()
		case "grant":
			c.Grant = l.Int64()
		case "timeout":
			c.Timeout = l.Int64()
		case "value":
			c.Value = l.Int64()
		case "open":
			c.Open = &Opening{}
			l.AddError(json.Unmarshal(l.Raw(), c.Open))
		default:
			unknown(l, name)
		}
	})
}

func (r *Reply) Parse(line []byte) error {
	return members(line, func(l *jlexer.Lexer, name string) {
		if p := r.numberOf(name); p != nil {
			*p = l.Int64()
			return
		}
		if p := r.flagOf(name); p != nil {
			*p = l.Bool()
			return
		}
		switch name {
		case "result":
			r.Result = l.StringIntern()
		case "error":
			r.Error = l.String()
		case "event":
			r.Event = l.StringIntern()
		case "key":
			r.Key = l.StringIntern()
		case "password":
			r.Password = l.String()
		case "valid_for":
			v := l.Int64()
			r.ValidFor = &v
		case "declares":
			r.Declares = &clients.Declaration{}
			l.AddError(json.Unmarshal(l.Raw(), r.Declares))
		default:
			unknown(l, name)
		}
	})
}

// numberOf finds the member that is a number.
func (r *Reply) numberOf(name string) *int64 {
	switch name {
	case "id":
		return &r.ID
	case "start":
		return &r.Start
	case "end":
		return &r.End
	case "token":
		return &r.Token
	case "attempt":
		return &r.Attempt
	case "first":
		return &r.First
	case "enqueued":
		return &r.Enqueued
	case "from":
		return &r.From
	case "to":
		return &r.To
	case "session":
		return &r.Session
	}
	return r.storeNumberOf(name)
}

// storeNumberOf is numberOf for the store's members.
func (r *Reply) storeNumberOf(name string) *int64 {
	switch name {
	case "version":
		return &r.Version
	case "replaced":
		return &r.Replaced
	case "value":
		return &r.Value
	case "seq":
		return &r.Seq
	case "grant":
		return &r.Grant
	}
	return nil
}

// flagOf finds the member that is true or false.
func (r *Reply) flagOf(name string) *bool {
	switch name {
	case "declined":
		return &r.Declined
	case "refused":
		return &r.Refused
	case "not_held":
		return &r.NotHeld
	case "busy":
		return &r.Busy
	case "conflict":
		return &r.Conflict
	case "atomic":
		return &r.Atomic
	case "can_ask":
		return &r.CanAsk
	case "can_renew":
		return &r.CanRenew
	case "broken":
		return &r.Broken
	}
	return nil
}
