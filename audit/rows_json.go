package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/lockchaos/lockchaos/history"
)

// jsonRows reads JSON objects, one a line or in one list. A column is the name of a member, or a path such as "lock.name".
type jsonRows struct {
	forms *forms
	named [fieldCount]string
	seen  [fieldCount]bool
	// used are the columns that were found by their names, line by line.
	used   [fieldCount]string
	places map[string]standing
}

// mostColumns is how many names of columns are remembered.
const mostColumns = 1 << 12

func (r *jsonRows) has(f field) bool { return r.seen[f] }

func (r *jsonRows) next() (row, error) {
	f, err := r.forms.next()
	if err != nil {
		return row{}, err
	}
	var m map[string]any
	if err := decodeJSON(r.forms, f, &m); err != nil {
		return row{}, err
	}
	if m == nil {
		return row{}, r.forms.wrong(f, "", errors.New("a line of a log is an object"))
	}
	out := row{line: f.line}
	for i := range fieldCount {
		name, v := r.member(m, i)
		if v == nil {
			continue
		}
		r.seen[i], r.used[i] = true, name
		switch v := v.(type) {
		case map[string]any, []any:
			return row{}, r.forms.wrong(f, quoted(name), fmt.Errorf("%s, for the field %q, is no single value", name, Fields[i]))
		default:
			out.text[i] = strings.TrimSpace(fmt.Sprint(v))
		}
		var where *history.SyntaxError
		if errors.As(r.forms.wrong(f, quoted(name), errTime), &where) && where.Line == out.line {
			out.columns[i] = where.Column
		}
	}
	return out, nil
}

// quoted is a member's name as it stands in a file.
func quoted(name string) string {
	b, _ := json.Marshal(name) // a string always marshals
	return string(b)
}

// member finds the member of a field.
func (r *jsonRows) member(m map[string]any, f field) (string, any) {
	if name := r.named[f]; name == noColumn {
		return "", nil
	} else if name != "" {
		if v, ok := m[name]; ok {
			return name, v
		}
		inner, last := m, name
		for {
			outer, rest, path := strings.Cut(last, ".")
			if !path {
				return last, inner[last]
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
		if p := r.place(name); p.field == f && p.rank >= 0 && (best == "" || p.rank < r.place(best).rank || p.rank == r.place(best).rank && name < best) {
			best = name
		}
	}
	return best, m[best]
}

// place is which field a member is by its name; its rank is -1 where it is none.
func (r *jsonRows) place(name string) standing {
	p, ok := r.places[name]
	if !ok {
		if p, ok = standingOf(name); !ok {
			p.rank = -1
		}
		if r.places == nil || len(r.places) > mostColumns { // a log may have names without end
			r.places = map[string]standing{}
		}
		r.places[name] = p
	}
	return p
}
