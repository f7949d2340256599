package script

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
)

// TestPlainScripts: a script that names no library comes to the same without the libraries, in as
// many steps, and one that names a library, or could find it, is not called plain.
func TestPlainScripts(t *testing.T) {
	for _, c := range []struct {
		text  string
		plain bool
	}{
		{`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`, true},
		{`return tonumber(ARGV[2]) + 1 .. tostring(KEYS[1]) .. type(ARGV)`, true},
		{`return ARGV[1]:upper()`, true},
		{`return {ARGV[1][ARGV[3]](ARGV[1]), ARGV[1].nothing, ("%s"):format(ARGV[1])}`, true},
		{`return ("x"):rep(2000000)`, true},
		{`return ARGV[1]()`, true},
		{`return ARGV[1] + 1`, true},
		{`return unknown`, true},
		{`made = 1`, true},
		{`return {pcall(error, "wrong")}`, true},
		{`local ok, what = pcall(function() return ARGV[1].x.y end) return what`, true},
		{`assert(false, "no")`, true},
		{`while true do end`, true},
		{`return tostring(redis) .. tostring(redis.call)`, true},
		{`return string.upper(ARGV[1])`, true},
		{`return {string.sub(ARGV[1], 1, 2), ARGV[1]:len(), string.nothing, tostring(string)}`, true},
		{`return string.rep("x", 2000000)`, true},
		{`string.upper = nil return ("x"):upper()`, true},
		{`local function f() return math.max(1, 2) end return f()`, false},
		{`return _G["string"].upper("x")`, false},
		{`return getmetatable("x").__index.upper("x")`, false},
		{`return loadstring("return math.max(1, 2)")()`, false},
	} {
		s, err := Compile(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if s.plain != c.plain {
			t.Errorf("%s: plain: %v", c.text, s.plain)
		}
		var replies [2]string
		var steps [2]int64
		for i, plain := range []bool{s.plain, false} {
			var b bytes.Buffer
			p := server.NewPeer(bufio.NewWriter(&b))
			one := *s
			one.plain = plain
			n, err := one.Run(Redis{Stop: func() error { return nil }, Refuses: func([]string) string { return "" },
				Call: func([]string) (any, error) { return "value", nil }}, p, []string{"key"}, []string{"value", "2", "upper"})
			p.Flush()
			replies[i], steps[i] = b.String(), n
			if err != nil {
				replies[i] += err.Error()
			}
		}
		if replies[0] != replies[1] || steps[0] != steps[1] {
			t.Errorf("%s: %q in %d steps, and with all libraries %q in %d", c.text, replies[0], steps[0], replies[1], steps[1])
		}
	}
}
