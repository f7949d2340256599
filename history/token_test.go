package history

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestToken: none is no number, tokens are in the order of their numbers, and a token is printed
// and written as its number.
func TestToken(t *testing.T) {
	var none Token
	numbers := []int64{0, 1, 2, 1 << 40, math.MaxInt64 - 1}
	tokens := []Token{none}
	for _, n := range numbers {
		token := TokenOf(n)
		text, err := json.Marshal(struct {
			T Token `json:"t,omitempty"`
		}{token})
		if want := fmt.Sprintf(`{"t":%d}`, n); err != nil || string(text) != want {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
		var back struct{ T Token }
		if err := json.Unmarshal(text, &back); err != nil || back.T != token {
			t.Errorf("%s was read as %v, %v", text, back.T, err)
		}
		if got, want := fmt.Sprintf("%d %5d %v %+v", token, token, token, struct{ T Token }{token}),
			fmt.Sprintf("%d %5d %v %+v", n, n, n, struct{ T int64 }{n}); got != want {
			t.Errorf("printed as %q, want %q", got, want)
		}
		if !token.Given() || token.Number() != n {
			t.Errorf("%d became %d", n, token.Number())
		}
		tokens = append(tokens, token)
	}
	if !slices.IsSorted(tokens) || none.Given() || NonzeroToken(0) != none || NonzeroToken(7) != TokenOf(7) || TokenOf(-1) >= none {
		t.Errorf("%v", tokens)
	}
	if text, err := json.Marshal(struct {
		T Token `json:"t,omitempty"`
	}{}); err != nil || string(text) != "{}" {
		t.Errorf("none was written as %s, %v", text, err)
	}
	line := fmt.Appendf(nil, `{"t":1,"type":"ok","f":"acquire","op":1,"key":"k","token":%d}`, int64(math.MaxInt64))
	if _, err := parseEvent(line, map[string]KeyID{"k": 0}); err == nil {
		t.Error("a token that has no place in the order was read")
	}
}
