package script

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// ran is a script's reply, and the error that ends the run.
func ran(t *testing.T, text string, keys, argv []string) (reply string, err error) {
	t.Helper()
	s, err := Compile(text)
	var exceeded *Exceeded
	if errors.As(err, &exceeded) {
		return "", err
	}
	var b bytes.Buffer
	p := server.NewPeer(bufio.NewWriter(&b))
	if err != nil {
		p.WriteError(Complaint(err))
		p.Flush()
		return b.String(), nil
	}
	m := serving(t)
	_, err = s.Run(Redis{Stop: func() error { return nil }, Refuses: func([]string) string { return "" },
		Call: func(args []string) (any, error) {
			var b bytes.Buffer
			p := server.NewPeer(bufio.NewWriter(&b))
			m.Server().Dispatch(p, args)
			p.Flush()
			return server.ParseReply(bufio.NewReader(&b))
		}}, p, keys, argv)
	p.Flush()
	return b.String(), err
}

func serving(t *testing.T) *miniredis.Miniredis {
	t.Helper()
	m := miniredis.NewMiniRedis()
	c, err := m.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return m
}

// TestSandboxScriptsAreBounded: what a script does without bound ends the run, with the bound.
func TestSandboxScriptsAreBounded(t *testing.T) {
	const steps, memory, long = "takes more than 1000000 steps", "makes strings and tables of more than 64 MB",
		"makes a string of more than 1024 KB"
	for _, c := range []struct{ script, want string }{
		{`while true do end`, steps},
		{`while true do pcall(function() while true do end end) end`, steps},
		{`local co = coroutine.create(function() while true do end end) coroutine.resume(co)`, steps},
		{`coroutine.wrap(function() while true do end end)()`, steps},
		{`loadstring("while true do end")()`, steps},
		{`local s = string.rep("a", 40) return string.find(s, string.rep("a?", 40) .. string.rep("a", 41))`, steps},
		{`return string.match(string.rep("a", 5000), ".-.-.-.-b")`, steps},
		{`local s = string.rep("a", 100000) while true do s:upper() end`, steps},
		{`local t = {} t[1000000] = 1 t[1000000] = nil while true do local n = #t end`, steps},
		{`local s = "x" while true do s = s .. s end`, long},
		{`return string.rep("x", 2^40)`, long},
		{`local t = {} for i = 1, 2000 do t[i] = string.rep("x", 1000) end return table.concat(t)`, long},
		{`return (string.gsub(string.rep("a", 2000), "a", string.rep("b", 2000)))`, long},
		{`return (string.gsub(string.rep("a", 2000), "", function() return string.rep("b", 2000) end))`, long},
		{`return (string.gsub(string.rep("a", 2000), ".*", string.rep("%0", 2000)))`, long},
		{`local s = string.rep("x", 300000) return string.format("%s%s%s%s", s, s, s, s)`, long},
		{`local t = {} for i = 1, 1000 do t[i] = string.rep("x", 100000 + i) end`, memory},
		{`local t = {} for i = 1, 100 do local u = {} u[1000000] = i t[i] = u end`, memory},
		{`local t = {} for i = 1, 1000 do t[i] = coroutine.create(function() end) end`, "makes more than 100 coroutines"},
		{`local t = {1} for i = 1, 900 do t = {t, t} end return t`, steps},
		// cjson refuses it
		{`local t = {1} for i = 1, 900 do t = {t, t} end return cjson.encode(t)`, ""},
		{"return " + strings.Repeat("x", 70_000), "is longer than 64 KB"},
		{`return loadstring("return " .. string.rep("x", 70000))`, "is longer than 64 KB"},
		{`for i = 1, 1e9 do redis.call("PING") end`, steps},
	} {
		reply, err := ran(t, c.script, nil, nil)
		var exceeded *Exceeded
		if c.want == "" && err == nil {
			continue
		}
		if !errors.As(err, &exceeded) || !strings.Contains(err.Error(), c.want) || c.want == "" {
			t.Errorf("%.90s\n%v (%.80q), want %q", c.script, err, reply, c.want)
		}
	}
}

// TestSandboxScriptsReachNothing: scripts have no function that prints, reads a
// file, or goes deeper than a program's stack; they get an error of Lua.
func TestSandboxScriptsReachNothing(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{`print("out")`, "access nonexistent global variable 'print'"},
		{`dofile("/etc/passwd")`, "access nonexistent global variable 'dofile'"},
		{`loadfile("/etc/passwd")`, "access nonexistent global variable 'loadfile'"},
		{`require("x")`, "access nonexistent global variable 'require'"},
		{`module("x")`, "access nonexistent global variable 'module'"},
		{`package.loadlib("x")`, "access nonexistent global variable 'package'"},
		{`io.open("/etc/passwd")`, "access nonexistent global variable 'io'"},
		{`debug.getregistry()`, "access nonexistent global variable 'debug'"},
		{`_printregs()`, "access nonexistent global variable '_printregs'"},
		{`getfenv(pcall).print("out")`, "access nonexistent global variable 'print'"},
		{`os.execute("id")`, "attempt to call a non-function object"},
		{`x = 1`, "create global variable 'x'"},
		{`local t = {} t[1] = t return t`, "reached lua stack limit"},
		{`local t = {} for i = 1, 100000 do t = {t} end return t`, "reached lua stack limit"},
		{`local t = {} for i = 1, 100000 do t = {t} end return cjson.encode(t)`, "excessive depth"},
		{`return string.format("%999999999d", 1)`, "invalid option"},
		{`return string.format("%[1]s%[1]s", "x")`, "invalid option"},
		{`return string.format("%*d", 999999, 1)`, "invalid option"},
		{`local function f() return f() + 1 end return f()`, "stack overflow"},
		{`return unpack({}, 1, 1e9)`, "registry overflow"},
		{`return string.find("a", string.rep("(", 2000))`, "too many captures"},
		{`return string.find("a", "[a")`, "malformed pattern"},
		{`return ` + strings.Repeat("{", 60_000), "Error compiling script"},
		{`return ` + strings.Repeat("{", 30_000) + strings.Repeat("}", 30_000), ""},
		{`return ` + strings.Repeat("- ", 32_000) + "1", ""},
		{`return ` + strings.Repeat("not", 1) + strings.Repeat(" not", 16_000) + " 1", ""},
		{`local x = 1 return ` + strings.Repeat("(x..", 12_000) + "x" + strings.Repeat(")", 12_000), ""},
		{strings.Repeat("do ", 10_000) + strings.Repeat(" end", 8_000), ""},
	} {
		reply, err := ran(t, c.script, nil, nil)
		if err != nil || !strings.Contains(reply, c.want) {
			t.Errorf("%.90s\n%.200q, %v, want %q", c.script, reply, err, c.want)
		}
	}
}

// asMiniredis are scripts to which miniredis answers the same.
var asMiniredis = []string{
	`return 1`, `return 1.9`, `return "x"`, `return true`, `return false`, `return nil`, ``, `return {1, {2, "x"}, false, 3}`,
	`return {ok = "fine"}`, `return {err = "ERR bad"}`, `return redis.error_reply("MY bad")`,
	`return redis.error_reply("bad")`, `return redis.status_reply("fine")`,
	`return KEYS[1] .. ARGV[1] .. #KEYS .. #ARGV`,
	`return redis.call("SET", KEYS[1], ARGV[1])`, `redis.call("SET", KEYS[1], 5) return redis.call("INCR", KEYS[1])`,
	`return redis.call("GET", "none")`,
	`return redis.call("NONE")`, `return redis.pcall("NONE")`, `return redis.call("INCR")`, `return redis.pcall("INCR").err`,
	`redis.call("RPUSH", "l", "a", "b", 3) return redis.call("LRANGE", "l", 0, -1)`,
	`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`,
	`if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", 1000) then return 1 end return 0`,
	`redis.call("HSET", "h", "f", 1) return redis.call("HGETALL", "h")`, `return redis.call("PTTL", KEYS[1])`,
	`return tonumber("12") + 1`, `return tostring(1.5)`, `return tostring(10 / 2)`, `return math.floor(3.7)`,
	`return string.format("%d %s %05.1f %x %q", 3, "x", 2.5, 255, "a")`, `return ("x"):rep(3)`,
	`return select("#", 1, 2, 3)`, `return {unpack({1, 2, 3})}`,
	`return cjson.encode({1, "x", {2}})`, `return cjson.decode('{"a": [1, 2]}').a[2]`, `return redis.sha1hex("x")`,
	`return {pcall(error, "x")}`, `local ok, e = pcall(function() error({code = 7}) end) return e.code`,
	`return table.concat({1, 2, 3}, ",")`, `local t = {3, 1, 2} table.sort(t) return t`,
	`local t = {1, 2} table.insert(t, 1, 0) table.remove(t) return t`,
	`local co = coroutine.wrap(function(a) local b = coroutine.yield(a + 1) return b * 2 end) return {co(1), co(5)}`,
	`return loadstring("return 4")()`, `return os.clock()`, `return type(redis.log) .. redis.LOG_WARNING`, `return server.call("PING")`,
	`return {("a.b"):find(".", 1, true)}`, `return {("hello"):find("l+")}`, `return {("k=v"):match("(%w+)=(%w+)")}`,
	`return (("a,b"):gsub(",", ";"))`,
	`local n = 0 for w in ("one two"):gmatch("%a+") do n = n + #w end return n`, `return {("x"):byte(1)}`, `return string.char(65, 66)`,
	`return redis.call("EXPIRE", KEYS[1], 10)`, `redis.call("SET", KEYS[1], "v", "PX", 1500) return redis.call("PTTL", KEYS[1])`,
}

// TestScriptsAreThoseOfMiniredis: replies are those of the Lua in miniredis.
func TestScriptsAreThoseOfMiniredis(t *testing.T) {
	for _, text := range asMiniredis {
		keys, argv := []string{"key"}, []string{"value", "2"}
		got, err := ran(t, text, keys, argv)
		var b bytes.Buffer
		p := server.NewPeer(bufio.NewWriter(&b))
		serving(t).Server().Dispatch(p, append([]string{"EVAL", text, "1", "key"}, argv...))
		p.Flush()
		if err != nil || got != b.String() {
			t.Errorf("%s\n%q, %v, and miniredis %q", text, got, err, b.String())
		}
	}
}

// TestScriptsAreSteady: nothing in a script follows addresses, the order of Go's maps or the
// process's random numbers.
func TestScriptsAreSteady(t *testing.T) {
	text := `local names = {math.random(), math.random(1000), tostring({}), tostring(print and 1 or redis.call), string.format("%s", {})}
		for _, t in ipairs({_G, redis, string, table, math, cjson, cjson.decode('{"b":1,"a":2,"d":3,"c":4,"e":5}')}) do
			for name, v in pairs(t) do names[#names + 1] = tostring(name) .. "=" .. tostring(v) end
		end
		return names`
	text = strings.Replace(text, "print and 1 or ", "", 1)
	first, err := ran(t, text, nil, nil)
	if err != nil || !strings.Contains(first, "string=table: 0x") || !strings.Contains(first, "a=2") {
		t.Fatalf("%q, %v", first, err)
	}
	for range 10 {
		if again, _ := ran(t, text, nil, nil); again != first {
			t.Fatalf("%q\n%q", first, again)
		}
	}
	if e1, _ := ran(t, `error({})`, nil, nil); strings.Contains(e1, "0xc0") {
		t.Error(e1)
	}
}

// FuzzPattern compares with the patterns of gopher-lua, where those match as Lua's do.
func FuzzPattern(f *testing.F) {
	for _, p := range []string{"a", "(a)(b)", "a*b", "a-b", "a?b", "[a-c]+", "[^%s]", "%b()", "()a()", "^a", "a$",
		"%d+%.%d", "(%w+)=(%w*)", "%f[%w]%w+", "(a)%1", ".-x", "[]]", "[%]]", "%"} {
		f.Add("aab(b)=12.5 x", p)
	}
	f.Fuzz(func(t *testing.T, src, pat string) {
		m := &meter{stop: func() error { return nil }, strings: map[*byte]bool{}}
		func() {
			defer func() {
				if p := recover(); p != nil {
					if _, is := p.(malformed); !is {
						panic(p)
					}
				}
			}()
			x := &matcher{m: m, src: src, pat: pat}
			if start, end := x.search(0); end >= 0 && (start > end || end > len(src)) {
				t.Errorf("%d to %d of %d", start, end, len(src))
			} else if end >= 0 {
				x.all(start, end, true)
			}
		}()
	})
}

// TestPatternsAreThoseOfLua: what is found is what gopher-lua finds.
func TestPatternsAreThoseOfLua(t *testing.T) {
	l := lua.NewState()
	defer l.Close()
	m := &meter{stop: func() error { return nil }, strings: map[*byte]bool{}, arrays: map[*lua.LTable]int{}}
	for name, fn := range map[string]lua.LGFunction{"find2": m.find, "match2": m.match, "gsub2": m.gsub} {
		l.SetGlobal(name, l.NewFunction(fn))
	}
	l.SetGlobal("count2", l.NewFunction(m.gmatch))
	script := `
		local function all(...) local s = "" for i = 1, select("#", ...) do s = s .. tostring((select(i, ...))) .. "|" end return s end
		local function some(...) if select("#", ...) == 0 then return nil end return ... end -- gopher-lua's match returns nothing where Lua's returns nil
		local function each(f, s, p) local r = "" if p:sub(1, 1) == "^" then return "" end -- it means itself in gmatch
			 for a, b in f(s, p) do r = r .. tostring(a) .. "," .. tostring(b) .. ";" end return r end
		return function(s, p)
			local one = all(string.find(s, p)) .. all(some(string.match(s, p))) .. all(string.gsub(s, p, "<%0>")) .. all(string.gsub(s, p, string.upper, 2)) .. each(string.gmatch, s, p)
			local two = all(find2(s, p)) .. all(some(match2(s, p))) .. all(gsub2(s, p, "<%0>")) .. all(gsub2(s, p, string.upper, 2)) .. each(count2, s, p)
			return one, two
		end`
	if err := l.DoString(script); err != nil {
		t.Fatal(err)
	}
	compare := l.Get(-1)
	l.Pop(1)
	for _, pat := range []string{"a", "(a)(b)", "a*b", "a-b", "b?c", "[a-c]+", "[^%s]", "%b()", "^a", "b$", "%d+%.%d",
		"(%w+)=(%w*)", "(a)%1", ".-x", "[%a_][%w_]*", "%s+", "%S+", "%u%l", "%x+", "%p", ".", ".*", "[^,]+", "%-", "%$", "x*"} {
		for _, src := range []string{"", "aab(b)=12.5 x", "key=value, other=two", "AaBb", "a,b,,c", "aaa", "(a(b)c)(d",
			"x-y$z", "_id9 = 0xff"} {
			if err := l.CallByParam(lua.P{Fn: compare, NRet: 2, Protect: true}, lua.LString(src), lua.LString(pat)); err != nil {
				t.Errorf("%q in %q: %v", pat, src, err)
				continue
			}
			if one, two := l.Get(-2).String(), l.Get(-1).String(); one != two {
				t.Errorf("%q in %q: %s, gopher-lua: %s", pat, src, two, one)
			}
			l.Pop(2)
		}
	}
	if m.over != nil {
		t.Error(fmt.Sprint(m.over))
	}
}
