package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// jsonRows is JSON objects, one after the other or in one list. A column is the
// name of a member, or a path such as "lock.name".
type jsonRows struct {
	file string
	list bool // the objects are in a list
	Members
}

// Members finds the fields of objects in JSON.
type Members struct {
	Named  [words.FieldCount]string
	places map[string]words.FieldMatch
}

// mostColumns is how many names of columns are remembered.
const mostColumns = 1 << 12

// JSON is a log in JSON.
const JSON Format = "json"

func openJSON(f *File, _ *cutter, head []byte) (rows, error) {
	g := f.Lines.Columns
	if err := g.Choose(sampleJSON(head)); err != nil {
		return nil, &history.SyntaxError{File: f.Name, Line: 1, Err: err}
	}
	return &jsonRows{file: f.Name, Members: Members{Named: g.Chosen},
		list: beginsList().Match(bytes.TrimLeft(head, " \t\r\n\f"))}, nil
}

func (r *jsonRows) has(f words.Field, found *words.LineCounts) bool { return found.Used[f] != "" }

func (r *jsonRows) border(data []byte) int {
	if r.list {
		return 0
	}
	return lastObject(data)
}

// endless: whatever is too long shows itself when it is read on without borders.
func (r *jsonRows) endless(block) error { return nil }

func (r *jsonRows) splitter() splitter {
	return newSplitJSON(jsonRows{file: r.file, Members: Members{Named: r.Named}, list: r.list})
}

// severalValues is a member that is a list or an object.
type severalValues struct {
	member string
	field  words.Field
}

func (s *severalValues) Error() string {
	return fmt.Sprintf("%s, for the field %q, is no single value", s.member, s.field.Named())
}

// Texts are the members for the fields, and what they hold. Its error is a *severalValues.
func (r *Members) Texts(m map[string]any) (names, texts [words.FieldCount]string, err error) {
	for i := range words.FieldCount {
		name, v := r.member(m, i)
		if name == "" || v == nil {
			continue
		}
		switch v.(type) {
		case map[string]any, []any:
			if i == words.FieldError { // whatever it is, something went wrong
				names[i], texts[i] = name, "an error"
				continue
			}
			return names, texts, &severalValues{name, i}
		}
		names[i], texts[i] = name, strings.TrimSpace(fmt.Sprint(v))
	}
	return names, texts, nil
}

// quoted is a member's name as it stands in a file.
func quoted(name string) string {
	b, _ := json.Marshal(name) // a string always marshals
	return string(b)
}

// innermost is the name under which a member stands in its object: of a path,
// the last of its names.
func innermost(m map[string]any, name string) string {
	if _, ok := m[name]; ok {
		return name
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

// member finds the member of a field. Of one in an object in the object, the name is its path.
func (r *Members) member(m map[string]any, f words.Field) (string, any) {
	if name := r.Named[f]; name == words.NoColumn {
		return "", nil
	} else if name != "" {
		if v, ok := m[name]; ok {
			return name, v
		}
		inner, last := m, name
		for {
			outer, rest, path := strings.Cut(last, ".")
			if !path {
				return name, inner[last]
			}
			next, ok := inner[outer].(map[string]any)
			if !ok {
				return name, nil
			}
			inner, last = next, rest
		}
	}
	best := ""
	for name := range m {
		if p := r.place(name); p.Field == f && p.Rank >= 0 &&
			(best == "" || p.Rank < r.place(best).Rank || p.Rank == r.place(best).Rank && name < best) {
			best = name
		}
	}
	return best, m[best]
}

// place is which field a member is by its name; its rank is -1 where it is none.
func (r *Members) place(name string) words.FieldMatch {
	p, ok := r.places[name]
	if !ok {
		if p, ok = words.FieldMatchOf(name); !ok {
			p.Rank = -1
		}
		if r.places == nil || len(r.places) > mostColumns { // a log may have names without end
			r.places = map[string]words.FieldMatch{}
		}
		r.places[name] = p
	}
	return p
}

// decodeJSON decodes a value, with the place of an error.
func decodeJSON(fs *values, f value, into any) error {
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
