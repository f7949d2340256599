package history

import (
	"encoding/binary"
	"math/bits"
)

// word is a short string in JSON, up to eight bytes and its closing quote, as
// one number: to look it up takes one comparison.
type word struct {
	bytes uint64 // little-endian, zero from n on
	n     int
}

// Eight bytes at once.
const (
	everyByte = 0x0101010101010101
	everyTop  = 0x8080808080808080
	quotes    = '"' * everyByte
)

// wordAt reads the word that begins at p, behind the opening quote. It is not
// ok if the string is longer than eight bytes. What is in the string is not
// looked at, since it will be compared with words that need no escape.
func wordAt(b []byte, p int) (w word, ok bool) {
	u := eightAt(b, p)
	x := u ^ quotes
	// of what it marks, the lowest byte is certainly a quote
	found := (x - everyByte) &^ x & everyTop
	if found == 0 {
		return word{u, 8}, p+8 < len(b) && b[p+8] == '"'
	}
	n := bits.TrailingZeros64(found) / 8
	return word{u & (1<<(8*n) - 1), n}, true
}

// eightAt loads eight bytes; those behind the end are 0.
func eightAt(b []byte, p int) uint64 {
	if p+8 <= len(b) {
		return binary.LittleEndian.Uint64(b[p:])
	}
	u := uint64(0)
	for i := len(b) - 1; i >= p; i-- {
		u = u<<8 | uint64(b[i])
	}
	return u
}

// wordTable maps words to small numbers: an open-addressed table, never more than a quarter full.
type wordTable struct {
	slots      []wordSlot
	multiplier uint64
	shift      uint
}

// wordSlot holds one word; n is -1 in one that is free.
type wordSlot struct {
	bytes uint64
	n, id int32
}

// newWordTable numbers the words among the strings by their place: those that are
// short, and the same in JSON as by themselves. Of equal strings the last one counts.
func newWordTable(strings []string) *wordTable {
	t := &wordTable{shift: 60}
	for ; 1<<(64-t.shift) < 4*len(strings); t.shift-- {
	}
	// A few dozen words can be laid out so that no two meet; then every look-up takes one step.
	for try := uint64(0); ; try++ {
		t.multiplier = 0x9E3779B97F4A7C15 + 0x7EB08EDA39C9CB72*try // always odd
		if met := t.fill(strings); met == 0 || try == 100 || len(strings) > 64 {
			return t
		}
	}
}

// fill lays out the words, and returns how often two met.
func (t *wordTable) fill(strings []string) (met int) {
	t.slots = make([]wordSlot, 1<<(64-t.shift))
	for i := range t.slots {
		t.slots[i].n = -1
	}
	for id, s := range strings {
		if len(s) > 8 || !plain(s) {
			continue
		}
		w, _ := wordAt([]byte(s+`"`), 0)
		i := t.home(w)
		for t.slots[i].n >= 0 && !t.slots[i].holds(w) {
			i = (i + 1) & (len(t.slots) - 1)
			met++
		}
		t.slots[i] = wordSlot{w.bytes, int32(w.n), int32(id)}
	}
	return met
}

func (s *wordSlot) holds(w word) bool { return s.bytes == w.bytes && s.n == int32(w.n) }

func (t *wordTable) home(w word) int {
	return int(w.bytes * t.multiplier >> t.shift)
}

// find returns the number of a word, -1 if it is not in the table.
func (t *wordTable) find(w word) int32 {
	mask := len(t.slots) - 1
	for i := t.home(w); ; i++ {
		s := &t.slots[i&mask]
		switch {
		case s.holds(w):
			return s.id
		case s.n < 0:
			return -1
		}
	}
}

// plain reports whether a string is the same in JSON as by itself, byte for byte.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if !plainByte(s[i]) {
			return false
		}
	}
	return true
}

func plainByte(c byte) bool { return c >= 0x20 && c <= 0x7e && c != '"' && c != '\\' }
