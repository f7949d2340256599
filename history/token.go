package history

import (
	"encoding/json"
	"fmt"
	"math"
)

// Token is what a grant came with: a fencing token, a version or an owner's number, as
// Claims.Token says. The zero value is none. A token's number may be 0, so a Token is no number:
// TokenOf makes one, and Number reads it. Tokens compare as their numbers do, and none is less than
// all from 0 on. Printed and as JSON a Token is its number.
type Token int64

// TokenOf returns the token with a number. The greatest int64 counts as the number before it.
func TokenOf(number int64) Token {
	if number < 0 || number == math.MaxInt64 {
		return Token(number)
	}
	return Token(number + 1)
}

// NonzeroToken returns the token with a number, where 0 stands for none.
func NonzeroToken(number int64) Token {
	if number == 0 {
		return 0
	}
	return TokenOf(number)
}

// Given reports whether there is a token.
func (t Token) Given() bool { return t != 0 }

// Number returns the token's number; of none, 0.
func (t Token) Number() int64 {
	if t > 0 {
		return int64(t) - 1
	}
	return int64(t)
}

// Format prints the number, whatever the verb.
func (t Token) Format(s fmt.State, verb rune) { fmt.Fprintf(s, fmt.FormatString(s, verb), t.Number()) }

// MarshalJSON writes the number.
func (t Token) MarshalJSON() ([]byte, error) { return appendInt(nil, t.Number()), nil }

// UnmarshalJSON reads a number, which may be 0.
func (t *Token) UnmarshalJSON(text []byte) error {
	var number int64
	if err := json.Unmarshal(text, &number); err != nil {
		return err
	}
	*t = TokenOf(number)
	return nil
}
