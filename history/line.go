package history

import "math"

// Reading a line by hand, many times as fast as encoding/json, and without a second
// definition of the format: parseLine reads exactly what AppendEvent writes, and gives
// up on everything else (another order of fields, space, escapes, faults, unknown
// names). A line that it gives up on is read by parseEvent, which decides whether it
// is right, and says what is wrong with it. A fuzz test holds the two to each other.
//
// Where a field ends is branched on rather than computed, wherever possible: a
// processor guesses branches, and so reads several fields at once.

var lineTypes, lineKinds = newWordTable(typeNames[:]), newWordTable(kindNames[:])

// keyNames finds keys by their names.
type keyNames struct {
	ids   map[string]KeyID
	short *wordTable // those whose names are words
}

func newKeyNames(names []string) keyNames {
	k := keyNames{ids: make(map[string]KeyID, len(names)), short: newWordTable(names)}
	for i, name := range names {
		k.ids[name] = KeyID(i)
	}
	return k
}

// parseLine reads the line that begins at b[p] into e, and returns where it ends: at its newline,
// or at the end of b. It returns -1 if the line is not one that it reads; e is then undefined.
func parseLine(b []byte, p int, keys *keyNames, e *Event) int {
	*e = Event{}
	if !has(b, p, `{"t":`) {
		return -1
	}
	if e.Time, p = digits(b, p+len(`{"t":`)); !has(b, p, `,"type":"`) {
		return -1
	}
	var id int32
	id, p = wordValue(b, p+len(`,"type":"`), lineTypes)
	if e.Type = Type(id); e.Type == TypeNone {
		e.Type, p = Watermark, longWord(b, p, typeNames[Watermark])
	}
	if has(b, p, `,"f":"`) {
		id, p = wordValue(b, p+len(`,"f":"`), lineKinds)
		e.Kind = Kind(id)
	}
	if has(b, p, `,"op":`) {
		e.Op, p = digits(b, p+len(`,"op":`))
	}
	if has(b, p, `,"grant":`) {
		e.Grant, p = digits(b, p+len(`,"grant":`))
	}
	if has(b, p, `,"client":`) {
		e.Client, p = smallDigits(b, p+len(`,"client":`))
	}
	if has(b, p, `,"process":`) {
		e.Process, p = smallDigits(b, p+len(`,"process":`))
	}
	hasKey := has(b, p, `,"key":"`)
	if hasKey {
		e.Key, p = keyValue(b, p+len(`,"key":"`), keys)
	}
	if has(b, p, `,"mode":"`) {
		e.Mode, p = modeValue(b, p+len(`,"mode":"`))
	}
	if has(b, p, `,"permits":`) {
		var n int32
		if n, p = smallDigits(b, p+len(`,"permits":`)); n > MaxPerAcquire {
			return -1
		}
		e.Permits = uint8(n)
	}
	if has(b, p, `,"set":`) {
		e.Set, p = digits(b, p+len(`,"set":`))
	}
	if p = parseParticulars(b, p, e); p >= len(b) || b[p] != '}' {
		return -1
	}
	p++
	if p < len(b) && b[p] != '\n' || check(e, hasKey) != nil {
		return -1
	}
	return p
}

// parseParticulars reads the fields behind the key: of an invocation, none.
func parseParticulars(b []byte, p int, e *Event) int {
	if p < len(b) && b[p] == '}' {
		return p
	}
	if has(b, p, `,"start":`) {
		e.Start, p = digits(b, p+len(`,"start":`))
	}
	if has(b, p, `,"end":`) {
		e.End, p = digits(b, p+len(`,"end":`))
	}
	if has(b, p, `,"token":`) {
		var number int64
		number, p = digits(b, p+len(`,"token":`))
		e.Token = TokenOf(number)
	}
	if has(b, p, `,"attempt":`) {
		e.Attempt, p = digits(b, p+len(`,"attempt":`))
	}
	if has(b, p, `,"first":`) {
		e.First, p = digits(b, p+len(`,"first":`))
	}
	if has(b, p, `,"enqueued":`) {
		e.Enqueued, p = digits(b, p+len(`,"enqueued":`))
	}
	if has(b, p, `,"ended":`) {
		e.Ended, p = digits(b, p+len(`,"ended":`))
	}
	if has(b, p, `,"sent":`) {
		e.Sent, p = digits(b, p+len(`,"sent":`))
	}
	if has(b, p, `,"came":`) {
		e.Came, p = digits(b, p+len(`,"came":`))
	}
	if has(b, p, `,"valid_for":`) {
		e.HasValidFor = true
		e.ValidFor, p = signed(b, p+len(`,"valid_for":`))
	}
	if has(b, p, `,"version":`) {
		e.Version, p = digits(b, p+len(`,"version":`))
	}
	if has(b, p, `,"replaced":`) {
		e.Replaced, p = digits(b, p+len(`,"replaced":`))
	}
	if has(b, p, `,"value":`) {
		e.Value, p = digits(b, p+len(`,"value":`))
	}
	if has(b, p, `,"seq":`) {
		e.Seq, p = digits(b, p+len(`,"seq":`))
	}
	if p < len(b) && b[p] == '}' {
		return p
	}
	p = parseFlags(b, p, e)
	if has(b, p, `,"text":"`) {
		e.Text, p = plainValue(b, p+len(`,"text":"`))
	}
	return p
}

func parseFlags(b []byte, p int, e *Event) int {
	if e.Declined = has(b, p, `,"declined":true`); e.Declined {
		p += len(`,"declined":true`)
	}
	if e.Refused = has(b, p, `,"refused":true`); e.Refused {
		p += len(`,"refused":true`)
	}
	if e.Conflict = has(b, p, `,"conflict":true`); e.Conflict {
		p += len(`,"conflict":true`)
	}
	if e.Atomic = has(b, p, `,"atomic":true`); e.Atomic {
		p += len(`,"atomic":true`)
	}
	if e.NotHeld = has(b, p, `,"not_held":true`); e.NotHeld {
		p += len(`,"not_held":true`)
	}
	if e.Busy = has(b, p, `,"busy":true`); e.Busy {
		p += len(`,"busy":true`)
	}
	return p
}

// has reports whether b goes on with what at p.
func has(b []byte, p int, what string) bool {
	return len(b)-p >= len(what) && string(b[p:p+len(what)]) == what
}

// What follows reads one value that begins at p, and returns where the next
// field begins: len(b), where nothing can, if the value is not right.

// digits reads an integer of at most 18 digits without a sign.
func digits(b []byte, p int) (int64, int) {
	v, begin := int64(0), p
	// each byte is now the value of its digit
	if u := eightAt(b, p) ^ '0'*everyByte; (u+0x76*everyByte|u)&everyTop == 0 {
		v = eightDigits(u)
		p += 8
	}
	for ; p < len(b); p++ {
		d := b[p] - '0'
		if d > 9 {
			break
		}
		v = v*10 + int64(d)
	}
	if n := p - begin; n == 0 || n > 18 || n > 1 && b[begin] == '0' {
		return 0, len(b)
	}
	return v, p
}

// eightDigits is the number of eight digits, the first one in the lowest byte:
// neighbours are added up to pairs, pairs to fours, those to eight.
func eightDigits(u uint64) int64 {
	u = u*10 + u>>8
	u = (u&0x000000FF000000FF*(100+1_000_000<<32) + u>>16&0x000000FF000000FF*(1+10_000<<32)) >> 32
	return int64(uint32(u))
}

// smallDigits reads an integer of 32 bits.
func smallDigits(b []byte, p int) (int32, int) {
	v, p := digits(b, p)
	if v > math.MaxInt32 {
		return 0, len(b)
	}
	return int32(v), p
}

// signed reads an integer that may be negative.
func signed(b []byte, p int) (int64, int) {
	if p < len(b) && b[p] == '-' {
		v, p := digits(b, p+1)
		return -v, p
	}
	return digits(b, p)
}

// wordValue reads a word and its closing quote, and returns its number. What is
// no word, or is unknown, has number 0, and is not passed.
func wordValue(b []byte, p int, known *wordTable) (int32, int) {
	w, ok := wordAt(b, p)
	if !ok {
		return 0, p
	}
	id := known.find(w)
	if id <= 0 {
		return 0, p
	}
	return id, p + w.n + 1
}

// longWord passes what and its closing quote.
func longWord(b []byte, p int, what string) int {
	if has(b, p, what) && has(b, p+len(what), `"`) {
		return p + len(what) + 1
	}
	return len(b)
}

// keyValue reads the name of a key.
func keyValue(b []byte, p int, keys *keyNames) (KeyID, int) {
	if w, ok := wordAt(b, p); ok {
		if id := keys.short.find(w); id >= 0 {
			return KeyID(id), p + w.n + 1
		}
		return 0, len(b)
	}
	end := plainEnd(b, p)
	id, ok := keys.ids[string(b[p:end])]
	if !ok || end == len(b) {
		return 0, len(b)
	}
	return id, end + 1
}

// modeValue reads the name of a mode.
func modeValue(b []byte, p int) (Mode, int) {
	for m := ModeRead; m <= ModeWrite; m++ {
		if name := modeNames[m]; has(b, p, name) && has(b, p+len(name), `"`) {
			return m, p + len(name) + 1
		}
	}
	return ModeNone, len(b)
}

// plainValue reads a string that needs no escape.
func plainValue(b []byte, p int) (string, int) {
	end := plainEnd(b, p)
	if end == len(b) {
		return "", len(b)
	}
	return string(b[p:end]), end + 1
}

// plainEnd returns the closing quote of a string that needs no escape; len(b)
// if it needs one, or has no end.
func plainEnd(b []byte, p int) int {
	for ; p < len(b); p++ {
		if !plainByte(b[p]) {
			if b[p] == '"' {
				return p
			}
			break
		}
	}
	return len(b)
}
