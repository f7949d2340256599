package words

import (
	"fmt"
	"strconv"
	"strings"
)

// Ambiguous says that a log's columns can be read in more than one way.
type Ambiguous struct {
	Field   string
	Columns []string // that could be the field's; empty: none is like it
	Values  []string // the first of what each column holds
	// Map is a mapping of every field that was found, and of this one to the
	// first of the columns: one of the ways.
	Map []string
}

// elseOf says when a log has no column of a field, for those fields that are asked for.
var elseOf = map[string]string{Fields[FieldKey]: "if all lines are about one lock",
	Fields[fieldResult]: "if it does not say whether a key was granted"}

func (a *Ambiguous) Error() string {
	if len(a.Columns) == 1 {
		return fmt.Sprintf("the column %s, with values such as %s, may be the field %q, and its name does not say so; %s, say %s=%s",
			strconv.QuoteToGraphic(a.Columns[0]), a.Values[0], a.Field, elseOf[a.Field], a.Field, NoColumn)
	}
	var parts []string
	for i, c := range a.Columns {
		parts = append(parts, fmt.Sprintf("%s (%s)", strconv.QuoteToGraphic(c), a.Values[i]))
	}
	return fmt.Sprintf("more than one column may be the field %q: %s", a.Field, strings.Join(parts, ", "))
}

// Missing says that a line lacks what every line needs.
type Missing struct {
	Field string
	Map   []string // what was found of the other fields, as Options.Map has it
}

func (m *Missing) Error() string {
	return fmt.Sprintf("no %[1]s: say which column it is with --map %[1]s=COLUMN", m.Field)
}
