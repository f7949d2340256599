package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestSandbox: what a program takes without bound ends its run, with the names of the program and
// of the bound.
func TestSandbox(t *testing.T) {
	for _, c := range []struct {
		name string
		l    Limits
		args []string
		want string
	}{
		{"a loop that allocates", Limits{Turns: 1_000_000}, []string{"allocate"},
			"the guest computed for more than 1000000 turns of loops within 10s of virtual time"},
		{"a loop", Limits{Turns: 1_000_000}, []string{"loop"},
			"the guest computed for more than 1000000 turns of loops within 10s of virtual time"},
		{"printing", Limits{}, []string{"print"}, "the guest printed more than 64 MB: a simulation does not allow it"},
		{"a line without end", Limits{}, []string{"line"}, "the guest printed a line of more than 1 MB"},
		{"answers that are not read", Limits{}, []string{"flood", "10.88.0.2:6379"},
			"the guest does not read what redis-1 answers: more than 64 MB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := play(t, 1, c.l, c.args...)
			if err := x.run(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v\n%.200q, want %s", err, x.out, c.want)
			}
		})
	}
}

// wired is a connection to a Redis whose client is this test.
type wired struct {
	*World
	s *socket
}

func wire(t *testing.T) *wired {
	t.Helper()
	w := New(1, Limits{})
	t.Cleanup(w.Close)
	server, client := w.AddHost("redis-1"), w.AddHost("client-1")
	node, err := server.Redis()
	if err != nil {
		t.Fatal(err)
	}
	in := &Instance{name: "the guest", w: w, host: client, sockets: map[int32]*socket{}}
	s := &socket{in: in, node: node, connected: true}
	s.back = pipe{link: w.Link(server, client), broken: s.reset, in: in}
	s.peer = node.server.accept(s)
	return &wired{w, s}
}

// ask sends a command, and returns the reply; "": none has come.
func (x *wired) ask(t *testing.T, args ...string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	x.s.node.receive(x.s, []byte(b.String()))
	_ = x.Run(func() bool { return len(x.s.received) > 0 || len(x.events) == 0 })
	reply := string(x.s.received)
	x.s.unread -= len(reply)
	x.s.drop()
	return reply
}

// TestSandboxRedis: what a program has Redis do without bound ends the run.
func TestSandboxRedis(t *testing.T) {
	mega := strings.Repeat("x", 1<<20)
	const endless = "while true do end"
	for _, c := range []struct {
		name, want string
		ask        func(ask func(args ...string))
	}{
		{"a script", "the guest had redis-1 run a script that takes more than 1000000 steps: a simulation does not allow it", func(ask func(...string)) { ask("EVAL", endless, "0") }},
		{"a script in a transaction", "the guest had redis-1 run a script that takes more than 1000000 steps", func(ask func(...string)) {
			ask("MULTI")
			ask("EVAL", endless, "0")
			ask("EXEC")
		}},
		{"a long script", "the guest had redis-1 run a script that is longer than 64 KB",
			func(ask func(...string)) { ask("SCRIPT", "LOAD", "return "+mega) }},
		{"scripts", "the guest has redis-1 keep more than 1000 scripts", func(ask func(...string)) {
			for i := range 1001 {
				ask("EVAL", fmt.Sprintf("return %d", i), "0")
			}
		}},
		{"scripts that take long", "the guest made 2000000 host calls within", func(ask func(...string)) {
			for range 60 {
				ask("EVAL", "for i = 1, 900000 do end", "0")
			}
		}},
		{"channels", "the guest subscribes to more than 1000 channels of redis-1 on one connection", func(ask func(...string)) {
			names := []string{"SUBSCRIBE"}
			for i := range 90_000 {
				names = append(names, fmt.Sprint(i))
			}
			ask(names...)
		}},
		{"names of channels", "the guest is the last to write to connections that together hold more than 256 MB", func(ask func(...string)) {
			for i := range 40 {
				ask("SUBSCRIBE", fmt.Sprint(i)+strings.Repeat(mega, 7))
			}
		}},
		{"a long transaction", "the guest is the last to write to connections that together hold more than 256 MB", func(ask func(...string)) {
			ask("MULTI")
			for range 40 {
				ask("SET", "k", strings.Repeat(mega, 7))
			}
		}},
		{"a transaction of many small parts", "the guest is the last to write to connections that together hold more than 256 MB", func(ask func(...string)) {
			ask("MULTI")
			for range 40 {
				ask(slices.Repeat([]string{"DEL"}, 90_000)...)
			}
		}},
		{"a transaction that is not ended", "the guest is the last to write to connections that together hold more than 256 MB", func(ask func(...string)) {
			ask("MULTI")
			ask("EXEC", "x")
			ask("DISCARD", "x")
			ask("MULTI", "x")
			for range 40 {
				ask("SET", "k", strings.Repeat(mega, 7))
			}
		}},
		{"keys that are watched", "the guest is the last to write to connections that together hold more than 256 MB", func(ask func(...string)) {
			for i := range 40 {
				ask("WATCH", fmt.Sprint(i)+strings.Repeat(mega, 7))
			}
		}},
		{"SETRANGE in a transaction", "the guest has redis-1 store more than 32 MB", func(ask func(...string)) {
			ask("MULTI")
			for i := range 40 {
				ask("SETRANGE", fmt.Sprint(i), "8000000", "x")
			}
			ask("EXEC")
		}},
		{"channels in a transaction", "the guest sent SUBSCRIBE with 1 arguments after MULTI", func(ask func(...string)) {
			ask("MULTI")
			ask("SUBSCRIBE", "freed")
		}},
		{"SETRANGE", "the guest sends redis-1 a SETRANGE that makes a value of more than 8 MB",
			func(ask func(...string)) { ask("SETRANGE", "k", "500000000", "x") }},
		{"SETRANGE in a script", "the guest sends redis-1 a SETRANGE that makes a value of more than 8 MB", func(ask func(...string)) {
			ask("EVAL", "redis.call('SETRANGE', 'k', 500000000, 'x')", "0")
		}},
		{"SETRANGE in a transaction's script",
			"the guest sends redis-1 a SETRANGE that makes a value of more than 8 MB", func(ask func(...string)) {
				ask("MULTI")
				ask("EVAL", "redis.call('SETRANGE', 'k', 500000000, 'x')", "0")
				ask("EXEC")
			}},
		{"SETBIT", "the guest sends redis-1 a SETBIT that makes a value of more than 8 MB",
			func(ask func(...string)) { ask("SETBIT", "k", "4294967295", "1") }},
		{"databases", "the guest uses with SELECT more than 16 databases of redis-1", func(ask func(...string)) { ask("SELECT", "16") }},
		{"APPEND", "the guest has redis-1 store more than 32 MB", func(ask func(...string)) {
			for range 40 {
				ask("APPEND", "k", mega)
			}
		}},
		{"COPY", "the guest has redis-1 store more than 32 MB", func(ask func(...string)) {
			ask("SET", "k", mega)
			for i := range 40 {
				ask("COPY", "k", fmt.Sprint(i))
			}
		}},
		{"names of keys that are gone", "the guest is the last to write to redis-1 more than 256 MB", func(ask func(...string)) {
			for i := range 40 {
				name := fmt.Sprint(i) + strings.Repeat(mega, 7)
				ask("SET", name, "x")
				ask("DEL", name)
			}
		}},
		{"queued commands on much that is stored", "the guest made 2000000 host calls within", func(ask func(...string)) {
			for i := range 4 {
				ask("SET", fmt.Sprint(i), strings.Repeat(mega, 7))
			}
			ask("MULTI")
			for range 100 {
				ask("SUNION", "a", "b", "c")
			}
		}},
		{"commands on much that is stored", "the guest made 2000000 host calls within", func(ask func(...string)) {
			for i := range 4000 {
				ask("PFADD", fmt.Sprint(i), "x")
			}
		}},
		{"an answer", "the guest has redis-1 answer with more than 64 MB", func(ask func(...string)) {
			ask("SET", "k", mega)
			ask(append([]string{"MGET"}, many(100, "k")...)...)
		}},
		{"an answer in a script", "the guest has a script read more than 64 MB", func(ask func(...string)) {
			ask("SET", "k", mega)
			ask(append([]string{"EVAL", "return redis.call('MGET', unpack(ARGV))", "0"}, many(100, "k")...)...)
		}},
		{"a command", "redis-1 was sent by the guest what it does not understand: no Redis command", func(ask func(...string)) {
			ask("SET", "k", strings.Repeat(mega, 9))
		}},
		{"a command that waits", "the guest sent BZPOPMIN: the simulated Redis has no blocking commands",
			func(ask func(...string)) { ask("BZPOPMIN", "k", "0") }},
		{"one in a script", "the guest sent BLPOP: the simulated Redis has no blocking commands", func(ask func(...string)) {
			ask("EVAL", "redis.call('BLPOP', 'k', 0)", "0")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := wire(t)
			c.ask(func(args ...string) {
				if x.err == nil {
					x.ask(t, args...)
				}
			})
			if x.err == nil || !strings.HasPrefix(x.err.Error(), c.want) {
				t.Errorf("%v, want %s", x.err, c.want)
			}
		})
	}
}

func many(n int, text string) (all []string) {
	for range n {
		all = append(all, text)
	}
	return all
}

// TestSandboxAsAKernel: what a kernel refuses is refused with its error, and the program goes on.
func TestSandboxAsAKernel(t *testing.T) {
	const redis = "10.88.0.2:6379"
	for _, c := range []struct {
		name, want string
		args       []string
		fault      func(x *played)
	}{
		{"vectors", "0 1048576, 28 0", []string{"vectors"}, nil}, // a part, and EINVAL
		{"random", "0 28", []string{"random"}, nil},
		{"sockets", "1024 dial tcp 10.88.0.2:6379: connect: Too many open files", []string{"dials", redis}, nil},
		{"a node that stands still", "1 true", []string{"send", redis}, func(x *played) { x.server.Freeze() }},
		{"a segment that is held", "1 true", []string{"send", redis}, func(x *played) {
			x.Link(x.client, x.server).Trap = func(s *Segment) Verdict {
				if len(s.Bytes) > 0 {
					return Hold
				}
				return Pass
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := play(t, 1, Limits{}, c.args...)
			if c.fault != nil {
				c.fault(x)
			}
			if err := x.run(); err != nil || strings.Join(x.out, ", ") != c.want {
				t.Errorf("%q, %v, want %s", x.out, err, c.want)
			}
			if x.held > 8<<20 {
				t.Errorf("%d bytes are held", x.held)
			}
		})
	}
}

// TestSandboxScripts: scripts do in transactions, and in the database of their
// connection, what those of Redis do.
func TestSandboxScripts(t *testing.T) {
	x := wire(t)
	for _, c := range []struct{ command, want string }{
		{"EVAL|return 1|0", ":1\r\n"},
		{"SELECT|3", "+OK\r\n"},
		{"SET|k|three", "+OK\r\n"},
		{"EVAL|return redis.call('GET', KEYS[1])|1|k", "$5\r\nthree\r\n"},
		{"SCRIPT|LOAD|return ARGV[1]", "$40\r\n098e0f0d1448c0a81dafe820f66d460eb09263da\r\n"},
		{"EVALSHA|098e0f0d1448c0a81dafe820f66d460eb09263da|0|x", "$1\r\nx\r\n"},
		{"SCRIPT|EXISTS|098e0f0d1448c0a81dafe820f66d460eb09263da|x", "*2\r\n:1\r\n:0\r\n"},
		{"EVALSHA|x|0", "-NOSCRIPT No matching script. Please use EVAL.\r\n"},
		{"EVAL|redis.call('SELECT', 0) return redis.call('SET', 'z', 1)|0", "+OK\r\n"},
		{"GET|k", "$5\r\nthree\r\n"},
		{"EVAL|return redis.call('GET', 'k')|0", "$5\r\nthree\r\n"},
		{"EVAL_RO|return redis.pcall('SET', 'k', 'x')|0", "-Write commands are not allowed in read-only scripts\r\n"},
		{"EVAL|return redis.pcall('EVAL', 'return 1', 0).err|0", "$"},
		{"EVAL|return redis.pcall('MULTI').err|0", "$"},
		{"EVAL|return 1|x", "-ERR value is not an integer or out of range\r\n"},
		{"EVAL|return 1|-1", "-ERR Number of keys can't be negative\r\n"},
		{"EVAL|return 1|1", "-ERR Number of keys can't be greater than number of args\r\n"},
		{"EVAL|return 1", "-ERR wrong number of arguments for 'eval' command\r\n"},
		{"EVAL|return (|0", "-ERR Error compiling script (new function): <string>"},
		{"EVAL|print('x')|0", "-ERR Error compiling script (new function):"},
		{"MULTI", "+OK\r\n"},
		{"EVAL|return {redis.call('GET', KEYS[1]), ARGV[1], 7, false}|1|k|a b", "+QUEUED\r\n"},
		{"EVALSHA|098e0f0d1448c0a81dafe820f66d460eb09263da|0|y", "+QUEUED\r\n"},
		{"EVALSHA|x|0", "+QUEUED\r\n"},
		{"EXEC", "*3\r\n*4\r\n$5\r\nthree\r\n$3\r\na b\r\n:7\r\n$-1\r\n$1\r\ny\r\n-NOSCRIPT No matching script. Please use EVAL.\r\n"},
		{"EVAL|return redis.call('GET', 'k')|0", "$5\r\nthree\r\n"},
		{"SCRIPT|FLUSH", "+OK\r\n"},
		{"SCRIPT|EXISTS|098e0f0d1448c0a81dafe820f66d460eb09263da", "*1\r\n:0\r\n"},
	} {
		if got := x.ask(t, strings.Split(c.command, "|")...); !strings.HasPrefix(got, c.want) || x.err != nil {
			t.Fatalf("%s\n%q, %v, want %q", c.command, got, x.err, c.want)
		}
	}
}
