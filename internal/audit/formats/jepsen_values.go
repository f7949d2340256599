package formats

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"

	"olympos.io/encoding/edn"

	"github.com/lockchaos/lockchaos/internal/audit/words"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// ednMap is a decoded map.
type ednMap = map[any]any

// jepsenJSON is how a history in JSON begins, as elle-cli and others keep them.
var jepsenJSON = lazyregexp.New(`^\s*\[?\s*\{\s*"`)

// ednOf is a value of JSON as EDN has it: names of members are keywords.
func ednOf(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := ednMap{}
		for name, inner := range v {
			m[edn.Keyword(name)] = ednOf(inner)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = ednOf(v[i])
		}
		return list
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		n, _ := v.Float64() // JSON has no other numbers
		return n
	}
	return v
}

// fields reads what an op says besides: its key, client, fence and error.
func (o *jepsenOp) fields(m ednMap) error {
	o.key = words.DefaultKey
	o.err = ednWord(m[edn.Keyword("error")])
	if list, ok := m[edn.Keyword("error")].([]any); ok && len(list) > 0 {
		o.err = ednWord(list[0])
	}
	value := m[edn.Keyword("value")]
	if tag, ok := value.(edn.Tag); ok {
		value = tag.Value
	}
	if pair, ok := value.([]any); ok {
		if len(pair) != 2 {
			return fmt.Errorf("a :value with %d parts: a pair is key and value", len(pair))
		}
		o.key, value = ednText(pair[0]), pair[1]
	}
	if debug, ok := m[edn.Keyword("debug")].(ednMap); ok {
		o.named(debug)
	}
	o.named(m)
	switch v := value.(type) {
	case ednMap:
		o.named(v)
		if n, ok := ednInt(first(v, "permits")); ok && n > 1 {
			return fmt.Errorf("an op for %d permits at once: only one at a time is judged", n)
		}
	case bool:
		o.truth = &v
	case int64:
		o.bare, o.hasInt, o.number = ednText(v), true, v
	default:
		o.bare = ednWord(v)
	}
	return nil
}

// named reads the fields that a map names.
func (o *jepsenOp) named(m ednMap) {
	if v := first(m, "client", "owner"); v != nil {
		o.client = ednText(v)
	}
	if v := first(m, "key", "lock", "resource"); v != nil {
		o.key = ednText(v)
	}
	if n, ok := ednInt(first(m, "fence", "token", "fencing-token")); ok {
		o.token = words.Positive(n)
	}
}

// first is the value of the first of the keywords that a map has.
func first(m ednMap, words ...string) any {
	for _, word := range words {
		if v := m[edn.Keyword(word)]; v != nil {
			return v
		}
	}
	return nil
}

// ednWord is a keyword, symbol or string as text; empty for anything else.
func ednWord(v any) string {
	switch v := v.(type) {
	case edn.Keyword:
		return string(v)
	case edn.Symbol:
		return string(v)
	case string:
		return v
	}
	return ""
}

// ednText is any value as text.
func ednText(v any) string {
	if word := ednWord(v); word != "" {
		return word
	}
	return fmt.Sprint(v)
}

// ednInt is a whole number.
func ednInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<62 {
			return int64(v), true
		}
	case big.Int:
		if v.IsInt64() {
			return v.Int64(), true
		}
	}
	return 0, false
}
