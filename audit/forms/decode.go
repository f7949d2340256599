package forms

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf16"
)

// Decoded reads a text as UTF-8. One in UTF-16, which PowerShell writes, is known by its first bytes.
func Decoded(in io.Reader) io.Reader { return &decoded{in: bufio.NewReader(in)} }

type decoded struct {
	in      *bufio.Reader
	begun   bool
	wide    bool // UTF-16,
	big     bool // of which the first byte of two is the greater one
	pending []byte
}

func (d *decoded) Read(p []byte) (int, error) {
	if !d.begun {
		d.begin()
	}
	if !d.wide {
		return d.in.Read(p)
	}
	for len(d.pending) == 0 {
		if err := d.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.pending)
	d.pending = d.pending[n:]
	return n, nil
}

// begin finds out what the text is.
func (d *decoded) begin() {
	d.begun = true
	head, _ := d.in.Peek(4)
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), len(head) == 4 && head[0] != 0 && head[1] == 0 && head[2] != 0 && head[3] == 0:
		d.wide = true
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}), len(head) == 4 && head[0] == 0 && head[1] != 0 && head[2] == 0 && head[3] != 0:
		d.wide, d.big = true, true
	}
}

// fill decodes some characters.
func (d *decoded) fill() error {
	first, err := d.unit()
	if err != nil {
		return err
	}
	text := []rune{rune(first)}
	if utf16.IsSurrogate(text[0]) {
		second, err := d.unit()
		if err != nil {
			return err
		}
		text[0] = utf16.DecodeRune(text[0], rune(second))
	}
	for d.in.Buffered() > 1 && len(text) < 4096 {
		next, err := d.unit()
		if err != nil {
			return err
		}
		if utf16.IsSurrogate(rune(next)) {
			second, err := d.unit()
			if err != nil {
				return err
			}
			text = append(text, utf16.DecodeRune(rune(next), rune(second)))
			continue
		}
		text = append(text, rune(next))
	}
	d.pending = []byte(string(text))
	return nil
}

// unit reads two bytes. One byte at the end is half a character.
func (d *decoded) unit() (uint16, error) {
	var two [2]byte
	if _, err := io.ReadFull(d.in, two[:]); err != nil {
		return 0, err
	}
	if d.big {
		return uint16(two[0])<<8 | uint16(two[1]), nil
	}
	return uint16(two[1])<<8 | uint16(two[0]), nil
}
