package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// A log may have half lines: its writer was stopped within one, or two wrote at a time.

// BegunObject reports whether a text is the beginning of an object in JSON, and
// of nothing that is wrong.
func BegunObject(text []byte) bool {
	if len(text) == 0 || text[0] != '{' {
		return false
	}
	_, err := tokensOf(text)
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// tokensOf reads the tokens of an object up to its end or the first error, and
// returns how far it came.
func tokensOf(text []byte) (read int64, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	for depth := 0; ; {
		read = d.InputOffset()
		token, err := d.Token()
		if err != nil {
			return read, err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			if depth--; depth == 0 {
				return read, nil
			}
		}
	}
}

var (
	errHalf  = errors.New("half a line: it ends within an object in JSON")
	errZeros = errors.New("bytes of 0, as the crash of a machine leaves them")
)

// isTorn reports whether a line begins an object, and the next line does not go
// on with it. Where one is not known, it begins an object.
func isTorn(line, next []byte) bool {
	line, next = bytes.TrimSpace(line), bytes.TrimSpace(next)
	if !BegunObject(line) {
		return twoWriters(line)
	}
	if len(next) == 0 {
		next = []byte("{}")
	}
	read, err := tokensOf(append(append(bytes.Clone(line), '\n'), next...))
	return read <= int64(len(line)) && err != nil && !errors.Is(err, io.EOF)
}

// twoWriters reports whether a line is the beginning of an object and, behind it, a
// whole one: the line of another writer.
func twoWriters(line []byte) bool {
	if len(line) == 0 || line[0] != '{' || json.Valid(line) {
		return false
	}
	behind := bytes.LastIndex(line, []byte(`{"`))
	return behind > 0 && json.Valid(line[behind:])
}

// afterTornLine is what follows a half line that a file begins with; nil: it begins with none.
func afterTornLine(text []byte) []byte {
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	rest = bytes.TrimLeft(rest, " \t\r\n")
	if next, _, _ := bytes.Cut(rest, []byte("\n")); len(rest) > 0 && isTorn(line, next) {
		return rest
	}
	return nil
}
