package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// wireHeader is the header line: the header with the names of the keys.
type wireHeader struct {
	Header
	Keys []string `json:"keys"`
}

// wireEvent is the one place that names the fields of an event's line.
// AppendEvent writes the same by hand, because the recorder writes a hundred
// thousand of them a second; a test holds the two together.
type wireEvent struct {
	Time     int64      `json:"t"`
	Type     string     `json:"type"`
	Kind     string     `json:"f,omitempty"`
	Op       int64      `json:"op,omitempty"`
	Grant    int64      `json:"grant,omitempty"`
	Client   int32      `json:"client,omitempty"`
	Process  int32      `json:"process,omitempty"`
	Key      *string    `json:"key,omitempty"`
	Mode     string     `json:"mode,omitempty"`
	Permits  uint8      `json:"permits,omitempty"`
	Set      int64      `json:"set,omitempty"`
	Start    int64      `json:"start,omitempty"`
	End      int64      `json:"end,omitempty"`
	Token    *int64     `json:"token,omitempty"`
	Attempt  int64      `json:"attempt,omitempty"`
	First    int64      `json:"first,omitempty"`
	Enqueued int64      `json:"enqueued,omitempty"`
	Ended    int64      `json:"ended,omitempty"`
	Sent     int64      `json:"sent,omitempty"`
	Came     int64      `json:"came,omitempty"`
	ValidFor *int64     `json:"valid_for,omitempty"`
	Version  int64      `json:"version,omitempty"`
	Replaced int64      `json:"replaced,omitempty"`
	Value    int64      `json:"value,omitempty"`
	Seq      int64      `json:"seq,omitempty"`
	Declined bool       `json:"declined,omitempty"`
	Refused  bool       `json:"refused,omitempty"`
	Conflict bool       `json:"conflict,omitempty"`
	Atomic   bool       `json:"atomic,omitempty"`
	NotHeld  bool       `json:"not_held,omitempty"`
	Busy     bool       `json:"busy,omitempty"`
	Text     string     `json:"text,omitempty"`
	Fault    *FaultInfo `json:"fault,omitempty"`
}

// keyed reports whether the event is about a key. KeyID has no value for "none",
// so the event's type decides.
func keyed(e *Event) bool {
	switch e.Type {
	case Invoke, OK, Fail, Info:
		return e.Kind != Close
	case Lost, Ledger:
		return true
	}
	return false
}

// AppendEvent appends the event's line, newline included, to buf.
func AppendEvent(buf []byte, keys []string, e *Event) ([]byte, error) {
	buf = append(buf, `{"t":`...)
	buf = appendInt(buf, e.Time)
	buf = append(append(append(buf, `,"type":"`...), e.Type.String()...), '"')
	if e.Kind != KindNone {
		buf = append(append(append(buf, `,"f":"`...), e.Kind.String()...), '"')
	}
	buf = appendNumber(buf, `,"op":`, e.Op)
	buf = appendNumber(buf, `,"grant":`, e.Grant)
	buf = appendNumber(buf, `,"client":`, int64(e.Client))
	buf = appendNumber(buf, `,"process":`, int64(e.Process))
	if keyed(e) {
		if int(e.Key) >= len(keys) || e.Key < 0 {
			return nil, fmt.Errorf("history: op %d is on key number %d, but the history has %d keys", e.Op, e.Key,
				len(keys))
		}
		buf = appendString(append(buf, `,"key":`...), keys[e.Key])
	}
	if e.Mode != ModeNone {
		buf = append(append(append(buf, `,"mode":"`...), e.Mode.String()...), '"')
	}
	buf = appendNumber(buf, `,"permits":`, int64(e.Permits))
	buf = appendNumber(buf, `,"set":`, e.Set)
	buf = appendNumber(buf, `,"start":`, e.Start)
	buf = appendNumber(buf, `,"end":`, e.End)
	if e.Token.Given() {
		buf = appendInt(append(buf, `,"token":`...), e.Token.Number())
	}
	buf = appendNumber(buf, `,"attempt":`, e.Attempt)
	buf = appendNumber(buf, `,"first":`, e.First)
	buf = appendNumber(buf, `,"enqueued":`, e.Enqueued)
	buf = appendNumber(buf, `,"ended":`, e.Ended)
	buf = appendNumber(buf, `,"sent":`, e.Sent)
	buf = appendNumber(buf, `,"came":`, e.Came)
	if e.HasValidFor {
		buf = appendInt(append(buf, `,"valid_for":`...), e.ValidFor)
	}
	buf = appendNumber(buf, `,"version":`, e.Version)
	buf = appendNumber(buf, `,"replaced":`, e.Replaced)
	buf = appendNumber(buf, `,"value":`, e.Value)
	buf = appendNumber(buf, `,"seq":`, e.Seq)
	buf = appendFlag(buf, `,"declined":true`, e.Declined)
	buf = appendFlag(buf, `,"refused":true`, e.Refused)
	buf = appendFlag(buf, `,"conflict":true`, e.Conflict)
	buf = appendFlag(buf, `,"atomic":true`, e.Atomic)
	buf = appendFlag(buf, `,"not_held":true`, e.NotHeld)
	buf = appendFlag(buf, `,"busy":true`, e.Busy)
	if e.Text != "" {
		buf = appendString(append(buf, `,"text":`...), e.Text)
	}
	if e.Fault != nil {
		fault, err := json.Marshal(e.Fault)
		if err != nil {
			return nil, fmt.Errorf("history: fault %d: %w", e.Fault.ID, err)
		}
		buf = append(append(buf, `,"fault":`...), fault...)
	}
	return append(buf, "}\n"...), nil
}

// appendNumber appends a field, unless it is zero.
func appendNumber(buf []byte, name string, v int64) []byte {
	if v == 0 {
		return buf
	}
	return appendInt(append(buf, name...), v)
}

func appendFlag(buf []byte, name string, v bool) []byte {
	if !v {
		return buf
	}
	return append(buf, name...)
}

// appendString appends s as a JSON string. What needs no escape is copied, the
// rest is left to encoding/json.
func appendString(buf []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string always marshals; invalid UTF-8 becomes U+FFFD
			return append(buf, quoted...)
		}
	}
	return append(append(append(buf, '"'), s...), '"')
}

// MarshalHeader returns the header line, newline included.
func MarshalHeader(h Header, keys []string) ([]byte, error) {
	line, err := json.Marshal(wireHeader{h, keys})
	if err != nil {
		return nil, fmt.Errorf("history: header: %w", err)
	}
	return append(line, '\n'), nil
}

func parseHeader(line []byte) (Header, []string, error) {
	var format struct {
		Format *int `json:"lockchaos"`
	}
	if err := json.Unmarshal(line, &format); err != nil {
		return Header{}, nil, err
	}
	if format.Format == nil {
		return Header{}, nil, fmt.Errorf(`no "lockchaos" field: not a lockchaos history`)
	}
	if *format.Format < 1 || *format.Format > FormatVersion {
		return Header{}, nil, fmt.Errorf("format version %d, this lockchaos reads versions 1 to %d", *format.Format,
			FormatVersion)
	}
	var w wireHeader
	if err := decodeStrict(line, &w); err != nil {
		return Header{}, nil, err
	}
	if w.Claims.Permits < 0 {
		return Header{}, nil, fmt.Errorf("claims.permits is %d; a lock has at least 1, or 0 if it claims no exclusion",
			w.Claims.Permits)
	}
	if w.Claims.ReadWrite && w.Claims.Permits != 1 {
		return Header{}, nil, fmt.Errorf("claims.permits is %d; a reader-writer lock (claims.read_write) has 1: its writers exclude everybody", w.Claims.Permits)
	}
	if err := w.Claims.check(); err != nil {
		return Header{}, nil, err
	}
	if err := w.checkEvery(); err != nil {
		return Header{}, nil, err
	}
	if err := w.checkNumbers(); err != nil {
		return Header{}, nil, err
	}
	return w.Header, w.Keys, nil
}

// parseEvent reads one line, whatever JSON it is. Key names are looked up in ids.
func parseEvent(line []byte, ids map[string]KeyID) (Event, error) {
	var w wireEvent
	if err := decodeStrict(line, &w); err != nil {
		return Event{}, err
	}
	t := slices.Index(typeNames[:], w.Type)
	if t <= 0 {
		return Event{}, fmt.Errorf("unknown type %q", w.Type)
	}
	k := slices.Index(kindNames[:], w.Kind)
	if k < 0 {
		return Event{}, fmt.Errorf("unknown op %q", w.Kind)
	}
	m := slices.Index(modeNames[:], w.Mode)
	if m < 0 {
		return Event{}, fmt.Errorf("unknown mode %q: want read or write", w.Mode)
	}
	e := Event{
		Mode: Mode(m), Permits: w.Permits, Set: w.Set, Time: w.Time, Type: Type(t), Kind: Kind(k), Op: w.Op,
		Grant: w.Grant, Client: w.Client, Process: w.Process,
		Start: w.Start, End: w.End, Attempt: w.Attempt, First: w.First, Enqueued: w.Enqueued, Ended: w.Ended,
		Sent: w.Sent, Came: w.Came,
		Version: w.Version, Replaced: w.Replaced, Value: w.Value, Seq: w.Seq, Declined: w.Declined, Refused: w.Refused,
		Conflict: w.Conflict, Atomic: w.Atomic, NotHeld: w.NotHeld, Busy: w.Busy, Text: w.Text, Fault: w.Fault,
	}
	if w.Token != nil {
		e.Token = TokenOf(*w.Token)
	}
	if w.ValidFor != nil {
		e.ValidFor, e.HasValidFor = *w.ValidFor, true
	}
	if w.Key != nil {
		id, ok := ids[*w.Key]
		if !ok {
			return Event{}, fmt.Errorf("key %q is not among the keys of the header", *w.Key)
		}
		e.Key = id
	}
	return e, check(&e, w.Key != nil)
}

// check refuses lines that no judge could make sense of.
func check(e *Event, hasKey bool) error {
	asked := e.Type >= Invoke && e.Type <= Info
	switch {
	case keyed(e) && !hasKey:
		return fmt.Errorf("%q needs a key", e.Type.String())
	case (asked || e.Type == Ledger) && e.Op <= 0:
		return fmt.Errorf("%q needs the number of its op (op)", e.Type.String())
	case asked && e.Kind == KindNone:
		return fmt.Errorf("%q needs the name of its op (f)", e.Type.String())
	case e.Type == Ledger && e.Kind != Read && e.Kind != Write:
		return fmt.Errorf("a ledger event is a read or a write, not %q", e.Kind)
	}
	return checkParticulars(e)
}

// checkParticulars is check of the fields that few events have.
func checkParticulars(e *Event) error {
	switch {
	case e.Conflict && (e.Kind != Write || e.Type != Fail && e.Type != Ledger):
		return fmt.Errorf("only a failed write or a ledger event can have met a conflict, not %q of %q", e.Type, e.Kind)
	case e.Conflict && e.Refused:
		return fmt.Errorf("a write was refused or met a conflict, not both")
	case e.Atomic && e.Kind != Write:
		return fmt.Errorf("only a write is atomic, not %q", e.Kind)
	case e.ValidFor > MaxValidFor || e.ValidFor < -MaxValidFor:
		return fmt.Errorf("valid_for is %d ns: no grant is good for more than a hundred years", e.ValidFor)
	case e.Token == math.MaxInt64:
		return fmt.Errorf("token is %d: the greatest is one less", int64(math.MaxInt64))
	case e.Type == Count && e.Text == "":
		return fmt.Errorf("a count event needs the name of what was counted (text)")
	case e.Type == Fault && e.Fault == nil:
		return fmt.Errorf("a fault event needs its particulars (fault)")
	}
	return checkStamps(e)
}

func decodeStrict(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err == io.EOF {
		return errors.New("an empty line") // not io.EOF: that is the end of the history
	} else if err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("more than one value on the line")
	}
	return nil
}
