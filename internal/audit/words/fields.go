package words

import (
	"fmt"
	"slices"
	"strings"
)

// Field is what a column of a log is to lockchaos.
type Field uint8

// The fields.
const (
	FieldTime Field = iota
	FieldEnd
	FieldClient
	FieldEvent
	FieldKey
	FieldToken
	fieldResult
	fieldMode  // of a reader-writer lock
	FieldError // what went wrong, or nothing
	FieldPart  // the second column of the client
	FieldScope // the second column of the key
	FieldCount
)

// Fields are the names of the fields that Options.Map gives columns to, in the
// order of their numbers.
var Fields = []string{"time", "end", "client", "event", "key", "token", "result", "mode", "error"}

// Row is one line of a log.
type Row struct {
	Line    int
	Text    [FieldCount]string
	Columns [FieldCount]int // where each field stands; 0: the line only
	// Messages are its texts in columns that are no field's (IsMessage); nil: none.
	Messages func() []string
}

// wholeHold is the field of the time at which a record's hold begins, where each
// record is a whole hold: it ends at the field end, whatever came of the work.
const wholeHold = "begin"

// FileColumn is the file that a line stands in, where the files of one log are judged together.
const FileColumn = "@file"

// NoColumn is what the user maps a field to that the log does not have.
const NoColumn = "-"

// seconds are the fields of the second column of a client, such as client=pod+thread, and of a key.
var seconds = map[Field]Field{FieldClient: FieldPart, FieldKey: FieldScope}

// explicit is the mapping that the user gave.
func explicit(m map[string]string) (named [FieldCount]string, err error) {
	for name, column := range m {
		if name == wholeHold {
			name = Fields[FieldTime]
		}
		i := slices.Index(Fields, name)
		switch {
		case i >= 0 && named[i] != "":
			return named, fmt.Errorf("%q and %q name the same field: give one of them", wholeHold, Fields[FieldTime])
		case i < 0:
			return named, fmt.Errorf("a column can't be mapped to %q; the fields are %s", name,
				strings.Join(Fields, ", "))
		case column == "":
			return named, fmt.Errorf("the field %q needs the name of its column", name)
		}
		named[i] = column
	}
	for f, second := range seconds {
		if a, b, joined := strings.Cut(named[f], "+"); joined && a != "" && b != "" {
			named[f], named[second] = a, b
		}
	}
	return named, nil
}

// Named is how people call a field.
func (f Field) Named() string {
	switch f {
	case FieldPart:
		f = FieldClient
	case FieldScope:
		f = FieldKey
	}
	return Fields[f]
}

// joined is the name of a client or a key of which two columns tell.
func joined(to, first, second []byte) []byte {
	return append(append(append(to, first...), '/'), second...)
}
