package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/times"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// payload is what is understood of an input or output.
type payload struct {
	word    string
	key     string
	hasKey  bool
	token   history.Token
	ok      *bool
	unknown bool
	err     string
	none    bool // null, or nothing
}

// payloadOf reads an input or output: a word, true or false, a number (a token), or an object.
func payloadOf(raw json.RawMessage) (payload, error) {
	var p payload
	var v any
	if len(raw) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return p, err
		}
	}
	switch v := v.(type) {
	case nil:
		p.none = true
	case string:
		p.word = v
	case bool:
		p.ok = &v
	case json.Number:
		n, err := v.Int64()
		p.token, p.word = words.Positive(n), "ok"
		return p, err
	case map[string]any:
		return p.object(v)
	default:
		return p, errors.New("a list where an op or an answer belongs")
	}
	return p, nil
}

// object reads the members that are understood; others are the user's own.
func (p payload) object(m map[string]any) (payload, error) {
	// in order, so that the first error is always the same
	for _, name := range slices.Sorted(maps.Keys(m)) {
		v := m[name]
		text := fmt.Sprint(v)
		switch words.Plain(name) {
		case "op", "f", "type", "kind", "method":
			p.word = text
		case "key", "lock", "resource":
			p.key, p.hasKey = text, true
		case "token", "fence", "fencingtoken":
			n, err := json.Number(text).Int64()
			if err != nil {
				return p, fmt.Errorf("a token that is no whole number: %q", text)
			}
			p.token = words.Positive(n)
		case "permits":
			if text != "1" {
				return p, fmt.Errorf("an op for %s permits at once: only one at a time is judged", text)
			}
		case "ok", "success", "granted", "acquired":
			b, is := v.(bool)
			if !is {
				return p, fmt.Errorf("%q is not true or false", name)
			}
			p.ok = &b
		case "error", "err":
			if v != nil && text != "" {
				p.err = text
			}
		case "unknown", "timeout":
			p.unknown = v == true
		}
	}
	return p, nil
}

// instant is a time in ns; the greatest number is never.
func instant(n *json.Number) (int64, error) {
	t, err := n.Int64()
	if err != nil {
		return 0, err
	}
	if t == math.MaxInt64 {
		return times.Never, nil
	}
	if t < 0 || t > math.MaxInt64/2 {
		return 0, fmt.Errorf("%d", t)
	}
	return t, nil
}

// unquoted is a JSON value as text.
func unquoted(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// ending is how an op ended, by its output.
func (p *payload) ending() words.Ending {
	switch {
	case p.unknown:
		return words.EndedUnknown
	case p.none || p.ok != nil && *p.ok:
		return words.EndedOK
	case p.ok != nil:
		return words.EndedFail
	case p.err == "":
		return words.EndingOf(p.word)
	}
	end := words.EndingOf(p.err)
	if end != words.EndedFail && !words.DeniesHold(p.err) {
		return words.EndedUnknown // an error that is not known to be definite
	}
	return end
}
