package strictyaml

import (
	"fmt"
	"strings"
	"testing"
)

// mapping is a mapping of n keys.
func mapping(n int, entry, end string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, entry, i)
	}
	return b.String() + end
}

// indented is a mapping in a mapping, n times.
func indented(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

// bomb is a file whose aliases stand for ten to the power of n values.
func bomb(n int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x]\n")
	for i := range n {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 10))
	}
	return b.String()
}

// TestHostileYAML: a file of some hundred kilobytes takes neither gigabytes nor
// minutes. It is refused with the place at which it goes too far.
func TestHostileYAML(t *testing.T) {
	const n = 20_000
	for name, c := range map[string]struct{ text, want string }{
		"sequences in a row":   {strings.Repeat("[", n), "x.yaml:1:61: nested more than 60 levels deep"},
		"mappings in a row":    {strings.Repeat("{a: ", n), "levels deep"},
		"entries in a row":     {strings.Repeat("- ", n) + "x", "x.yaml:1:121: nested more than 60 levels deep"},
		"keys in a row":        {strings.Repeat("? ", n) + "x", "levels deep"},
		"sequences closed":     {strings.Repeat("[", n) + strings.Repeat("]", n), "levels deep"},
		"indented":             {indented(200), "levels deep"},
		"many keys":            {mapping(n, "k%d: v\n", ""), "x.yaml:1001:6: a mapping with more than 1000 keys"},
		"many keys deep":       {"a:\n  - b:\n" + mapping(n, "      k%d: v\n", ""), "1000 keys"},
		"many keys in a row":   {"{" + mapping(n, "k%d: v, ", "}"), "1000 keys"},
		"many keys, no values": {"{" + mapping(n, "k%d, ", "}"), "1000 keys"},
		"anchors":              {"a: " + strings.Repeat("&a ", n) + "x", "1000 anchors"},
		"aliases":              {bomb(9), "stand for more than 500000 values"},
		"words":                {"a: [" + strings.Repeat("x, ", 300_000) + "]", "more than 500000 words"},
	} {
		var into any
		_, err := Read([]byte(c.text), "x.yaml", &into)
		if err == nil || !strings.HasPrefix(err.Error(), "x.yaml:") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.200v", name, err)
		}
	}
	for name, text := range map[string]string{
		"a long list":       "a:\n" + strings.Repeat("- {b: c, d: e}\n", 5_000),
		"mappings in turns": strings.Repeat("- a: b\n  c:\n    d: e\n", 5_000),
		"aliases":           bomb(3),
		"deep":              indented(25) + strings.Repeat(" ", 40) + strings.Repeat("[", 20) + strings.Repeat("]", 20),
	} {
		var into any
		if _, err := Read([]byte(text), "x.yaml", &into); err != nil {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}
